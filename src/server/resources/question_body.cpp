#include "server/resources/question_body.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "json/schema.h"
#include "server/resources/own_project.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

constexpr std::size_t longest_question = 16UZ * 1024;
constexpr std::size_t max_options = 20;
constexpr std::size_t longest_option = 200;
constexpr std::size_t longest_path = 4'096;
// Ten years, the longest duration that the config allows.
constexpr std::int64_t longest_expiry = std::int64_t{3'650} * 24 * 3'600;

Error bad(std::string message) { return {ErrorCode::api_bad_request, std::move(message)}; }

bool is_given(const Value* value) { return value != nullptr && !value->is_null(); }

std::optional<std::string> find_filled(const Value& body, std::string_view name, std::size_t longest) {
  auto text = find_text(body, name, longest);
  if (text && text->empty()) throw bad(fmt::format("`{}` is empty", name));
  return text;
}

std::string get_filled(const Value& body, std::string_view name, std::size_t longest) {
  auto text = find_filled(body, name, longest);
  if (!text) throw bad(fmt::format("`{}` is missing", name));
  return std::move(*text);
}

model::ApprovalOption parse_option(const Value& value) {
  if (value.as_object() == nullptr) throw bad("an option is an object with a `value`");
  model::ApprovalOption option{.value = get_filled(value, "value", longest_option), .label = {}, .approves = {}};
  option.label = find_filled(value, "label", longest_option).value_or(option.value);
  const Value* approves = value.find("approves");
  if (!is_given(approves)) return option;
  if (approves->as_bool() == nullptr) throw bad("`approves` must be true or false");
  option.approves = *approves->as_bool();
  return option;
}

std::vector<model::ApprovalOption> parse_options(const Value& body) {
  const Value* found = body.find("options");
  if (!is_given(found)) return {};
  const Value::Array* list = found->as_array();
  const bool is_valid = list != nullptr && !list->empty() && list->size() <= max_options;
  if (!is_valid) throw bad(fmt::format("`options` must be a list of 1 to {} options", max_options));
  std::vector<model::ApprovalOption> options;
  for (const Value& one : *list) options.push_back(parse_option(one));
  return model::unique_options(std::move(options));
}

std::optional<base::Milliseconds> parse_expiry(const Exchange& exchange, const Value& body,
                                               const std::filesystem::path& folder) {
  const Value* found = body.find("expires_in_seconds");
  if (!is_given(found)) return load_config_around(exchange, folder).supervision.approval_expiry.question.after;
  const std::int64_t* seconds = found->as_integer();
  if (seconds == nullptr || *seconds < 1 || *seconds > longest_expiry) {
    throw bad(fmt::format("`expires_in_seconds` must be a whole number from 1 to {}", longest_expiry));
  }
  return std::chrono::seconds(*seconds);
}

Value text_schema(std::size_t longest) {
  return json::extended(json::string_schema(), "maxLength", Value::integer(static_cast<std::int64_t>(longest)));
}

}  // namespace

ledger::CallerQuestion parse_question(const Exchange& exchange, const Value& body) {
  ledger::CallerQuestion question{.asked_by = exchange.actor(),
                                  .reference = find_filled(body, "reference", longest_name),
                                  .question = get_filled(body, "question", longest_question),
                                  .options = parse_options(body),
                                  .default_value = find_filled(body, "default", longest_option)};
  const auto options = question.options.empty() ? model::default_options() : question.options;
  const bool has_default = !question.default_value || std::ranges::find(options, *question.default_value,
                                                                        &model::ApprovalOption::value) != options.end();
  if (!has_default) throw bad("`default` is not the value of an option");
  // A token that is limited to a project asks only for this one (server/access/project_policy.h).
  auto named = find_text(body, "project", longest_path);
  if (!named) named = exchange.request.caller.project;
  std::filesystem::path folder = named_project(exchange, named);
  if (folder.empty()) folder = own_project(exchange.daemon);
  if (!folder.empty()) question.project = name_project(folder);
  question.expires_after = parse_expiry(exchange, body, folder);
  return question;
}

Value question_schema() {
  const Value option = json::object_schema(
      {{"value", text_schema(longest_option)},
       {"label", json::nullable_schema(text_schema(longest_option))},
       {"approves", json::nullable_schema(json::extended(Value::object(), "type", Value::string("boolean")))}},
      {"value"});
  Value options = json::array_schema(option);
  options.set("minItems", Value::integer(1));
  options.set("maxItems", Value::integer(static_cast<std::int64_t>(max_options)));
  Value seconds = json::extended(Value::object(), "type", Value::string("integer"));
  seconds.set("minimum", Value::integer(1));
  seconds.set("maximum", Value::integer(longest_expiry));
  return json::object_schema({{"question", text_schema(longest_question)},
                              {"options", json::nullable_schema(std::move(options))},
                              {"default", json::nullable_schema(text_schema(longest_option))},
                              {"project", json::nullable_schema(json::string_schema())},
                              {"expires_in_seconds", json::nullable_schema(std::move(seconds))},
                              {"reference", json::nullable_schema(text_schema(longest_name))}},
                             {"question"});
}

}  // namespace reeve::server
