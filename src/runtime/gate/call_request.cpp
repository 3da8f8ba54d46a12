#include "runtime/gate/call_request.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>

#include <climits>
#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "json/encode.h"
#include "runtime/output/tool_line.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::size_t max_id_bytes = 256;

[[noreturn]] void refuse(const std::string& message, std::string fix = {}) {
  throw Error(ErrorCode::call_bad_request, message, std::move(fix));
}

// Names and ids are shown to people and compared: nothing in them may be invisible.
bool is_plain(std::string_view text) {
  if (base::find_invalid_utf8(text)) return false;
  for (std::string_view rest = text; !rest.empty();) {
    const base::Character character = base::first_character(rest);
    if (base::is_harmful(character.value)) return false;
    rest.remove_prefix(character.length);
  }
  return true;
}

void check_word(std::string_view name, std::string_view value, std::size_t most) {
  if (value.empty()) refuse(fmt::format("`{}` is empty", name));
  if (value.size() > most) refuse(fmt::format("`{}` has {} bytes; at most {} are possible", name, value.size(), most));
  if (!is_plain(value)) refuse(fmt::format("`{}` contains control characters or is not UTF-8", name));
}

std::string normal_folder(const std::string& folder) {
  std::string normal = std::filesystem::path(folder).lexically_normal().string();
  while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  return normal;
}

void check_usage(const wire::SessionUsage& usage) {
  const bool is_counted = usage.input_tokens >= 0 && usage.output_tokens >= 0 && usage.cached_tokens >= 0 &&
                          usage.context_used.value_or(0) >= 0 && usage.context_size.value_or(0) >= 0;
  const double cost = usage.cost_usd.value_or(0);
  if (!is_counted || !std::isfinite(cost) || cost < 0) refuse("`usage` has a number that is negative or not finite");
}

}  // namespace

void check_call(const wire::CallRequest& request) {
  check_word("call", request.call, max_id_bytes);
  check_word("tool", request.tool, base::limits::name_bytes);
  if (request.session) check_word("session", *request.session, max_id_bytes);
  if (request.parent) check_word("parent", *request.parent, max_id_bytes);
  if (request.arguments.as_object() == nullptr) refuse("`arguments` must be an object");
  if (request.cwd) {
    if (!request.cwd->starts_with('/')) refuse("`cwd` must be an absolute path");
    if (request.cwd->size() >= PATH_MAX) refuse("`cwd` is too long");
    if (request.cwd->contains('\0')) refuse("`cwd` contains a NUL byte");
  }
  if (!engine::is_dialect(request.dialect.value_or(""))) {
    refuse(fmt::format("nobody speaks the dialect {}", base::quoted(*request.dialect)),
           "claude, codex, gemini, qwen, opencode, acp, or none");
  }
  if (request.execute && request.dialect.value_or("") != "") {
    refuse("`execute` takes Reeve's own tool names: leave out `dialect`", "GET /api/tools lists them");
  }
}

void check_session(const wire::SessionReport& report) {
  check_word("session_id", report.session_id, max_id_bytes);
  check_word("agent", report.agent, base::limits::name_bytes);
  if (report.version) check_word("version", *report.version, base::limits::name_bytes);
  if (report.model) check_word("model", *report.model, base::limits::name_bytes);
  if (report.usage) check_usage(*report.usage);
}

wire::SessionUsage bound_usage(const wire::SessionUsage& usage) {
  const auto bound = [](std::int64_t tokens) { return std::min(tokens, limits::tokens); };
  wire::SessionUsage bounded = usage;
  bounded.input_tokens = bound(usage.input_tokens);
  bounded.output_tokens = bound(usage.output_tokens);
  bounded.cached_tokens = bound(usage.cached_tokens);
  if (usage.cost_usd) bounded.cost_usd = std::min(*usage.cost_usd, limits::cost_usd);
  if (usage.context_used) bounded.context_used = bound(*usage.context_used);
  if (usage.context_size) bounded.context_size = bound(*usage.context_size);
  return bounded;
}

engine::NamedCall name_request(const wire::CallRequest& request, const std::string& cwd) {
  return engine::name_call(request.dialect.value_or(""), request.tool, request.arguments, cwd);
}

std::string find_call_folder(const wire::CallRequest& request, const std::string& run_folder) {
  return normal_folder(request.cwd.value_or(run_folder));
}

std::string find_confinement(const std::string& run_folder, const std::string& project, bool is_node) {
  const std::string folder = normal_folder(run_folder);
  if (is_node || project.empty()) return folder;
  const std::string around = normal_folder(project);
  return folder == around || folder.starts_with(around + "/") ? around : folder;
}

}  // namespace reeve::runtime
