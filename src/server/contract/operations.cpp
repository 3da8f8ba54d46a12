#include "server/contract/operations.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reeve::server {

using base::ErrorCode;
using base::Value;

namespace {

Value integer_schema(std::int64_t least, std::int64_t most) {
  Value schema = Value::object();
  schema.set("type", Value::string("integer"));
  schema.set("minimum", Value::integer(least));
  if (most != std::numeric_limits<std::int64_t>::max()) schema.set("maximum", Value::integer(most));
  return schema;
}

}  // namespace

std::vector<ErrorCode> error_codes(const Operation& operation) {
  std::vector<ErrorCode> codes = {ErrorCode::api_bad_request, ErrorCode::api_forbidden, ErrorCode::api_other_project,
                                  ErrorCode::store_busy, ErrorCode::store_unavailable};
  if (operation.method != "GET") {
    codes.push_back(ErrorCode::api_unsupported_media_type);
    codes.push_back(ErrorCode::store_unknown_outcome);
    codes.push_back(ErrorCode::store_files_removed);
  }
  if (operation.inside != InRunAccess::anyone) {
    // Reported attempts have their own code.
    if (operation.inside != InRunAccess::reported) codes.push_back(ErrorCode::api_inside_run);
    codes.push_back(ErrorCode::api_peer_gone);
    codes.push_back(ErrorCode::api_peer_hidden);
  }
  if (operation.idempotency != IdempotencyMode::none) {
    codes.push_back(ErrorCode::api_key_reused);
    codes.push_back(ErrorCode::api_key_in_progress);
    codes.push_back(ErrorCode::api_precondition_failed);
  }
  for (const ErrorCode code : operation.errors) {
    if (std::ranges::find(codes, code) == codes.end()) codes.push_back(code);
  }
  return codes;
}

Parameter limit_parameter() {
  Parameter made = integer_parameter("limit", 1, max_listed, "maximum number of items per page");
  made.schema.set("default", Value::integer(listed_by_default));
  return made;
}

Parameter cursor_parameter() { return text_parameter("cursor", "`next_cursor` of the previous page"); }

Parameter project_parameter() {
  return text_parameter(
      "project",
      "absolute path of a project folder; default: the project of the token or of the daemon, if it has one");
}

Parameter project_filter() { return text_parameter("project", "only records of the project with this absolute path"); }

Parameter flag_parameter(std::string_view name, std::string_view about) {
  return {name, json::word_schema({"0", "1", "false", "true"}), about};
}

Parameter text_parameter(std::string_view name, std::string_view about) { return {name, json::string_schema(), about}; }

Parameter integer_parameter(std::string_view name, std::int64_t least, std::int64_t most, std::string_view about) {
  return {name, integer_schema(least, most), about};
}

Parameter duration_parameter(std::string_view name, std::string_view about) {
  return {name, json::string_schema("^[0-9]+(ms|s|m|h|d)?$"), about};
}

Parameter words_parameter(std::string_view name, const std::vector<std::string>& words, std::string_view about) {
  const std::string one = fmt::format("({})", fmt::join(words, "|"));
  return {name, json::string_schema(fmt::format("^({0}(,{0})*)?$", one)), about};
}

Value page_of(json::Schemas& schemas, std::string_view name, Value item) {
  return schemas.add(name, json::object_schema({{"next_cursor", json::nullable_schema(json::string_schema())},
                                                {"items", json::array_schema(std::move(item))}},
                                               {"next_cursor", "items"}));
}

Value optional_members(Value::Object properties) {
  for (base::Member& member : properties) member.value = json::nullable_schema(std::move(member.value));
  return json::object_schema(std::move(properties), {});
}

}  // namespace reeve::server
