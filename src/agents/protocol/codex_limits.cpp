#include "agents/protocol/codex_limits.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "agents/protocol/json_members.h"
#include "base/quantity.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_windows = 16;
// A token that has expired is refused once, and then renewed.
constexpr int max_unauthorized = 2;
constexpr std::int64_t max_window_minutes = 366LL * 24 * 60;

std::optional<double> find_percent(const Value& window) {
  const Value& used = member_of(window, "usedPercent");
  if (const std::int64_t* whole = used.as_integer()) return static_cast<double>(*whole);
  const double* number = used.as_number();
  return number != nullptr && std::isfinite(*number) ? std::optional(*number) : std::nullopt;
}

// "5h"; for a limit that is not the usual one "gpt-x 5h".
std::string name_window(const std::string& limit, const std::string& slot, const Value& window) {
  const auto minutes = json::integer_of(window, "windowDurationMins");
  const bool has_length = minutes && *minutes > 0 && *minutes <= max_window_minutes;
  const std::string length = has_length ? base::format_duration(std::chrono::minutes(*minutes)) : slot;
  return limit.empty() || limit == "codex" ? length : fmt::format("{} {}", limit, length);
}

// The HTTP status of the model's service, which comes inside of the name of the failure.
std::optional<std::int64_t> find_status(const Value& info) {
  for (const base::Member& member : members_of(info)) {
    if (const auto status = json::integer_of(member.value, "httpStatusCode")) return status;
  }
  return std::nullopt;
}

enum class CodexFailure { limit_reached, login_missing, other };

CodexFailure classify(const Value& error) {
  const Value& info = member_of(error, "codexErrorInfo");
  if (const std::string* word = info.as_string()) {
    if (*word == "usageLimitExceeded" || *word == "rateLimitExceeded") return CodexFailure::limit_reached;
    return *word == "unauthorized" ? CodexFailure::login_missing : CodexFailure::other;
  }
  const auto status = find_status(info);
  if (status == 429) return CodexFailure::limit_reached;
  return status == 401 ? CodexFailure::login_missing : CodexFailure::other;
}

}  // namespace

std::vector<LimitWindow> CodexLimits::update(const Value& rate_limits) {
  std::vector<LimitWindow> updated;
  const std::string limit = id_text_of(rate_limits, "limitId");
  for (const std::string slot : {"primary", "secondary"}) {
    const Value& window = member_of(rate_limits, slot);
    // An update is sparse: what it leaves out stays as it was.
    if (window.as_object() == nullptr) continue;
    const std::string key = fmt::format("{}/{}", limit, slot);
    if (!windows_.contains(key) && windows_.size() >= max_windows) continue;
    LimitWindow& known = windows_[key];
    known = {.name = name_window(limit, slot, window),
             .used_percent = find_percent(window),
             .resets_at = time_of_seconds(json::integer_of(window, "resetsAt"))};
    updated.push_back(known);
  }
  return updated;
}

std::optional<base::WallTime> CodexLimits::find_reset() const {
  std::optional<base::WallTime> latest;
  for (const auto& [key, window] : windows_) {
    if (window.used_percent.value_or(0) < 100) continue;
    if (!window.resets_at) return std::nullopt;
    latest = std::max(latest.value_or(*window.resets_at), *window.resets_at);
  }
  return latest;
}

std::optional<UsageTotals> find_codex_usage(const Value& usage) {
  const Value& total = member_of(usage, "total");
  if (total.as_object() == nullptr) return std::nullopt;
  return UsageTotals{.input_tokens = count_of(total, "inputTokens"),
                     .output_tokens = count_of(total, "outputTokens"),
                     .cached_tokens = count_of(total, "cachedInputTokens"),
                     .tokens_are_of_session = true,
                     .context_used = json::integer_of(member_of(usage, "last"), "totalTokens"),
                     .context_size = json::integer_of(usage, "modelContextWindow")};
}

std::string codex_error_text(const Value& error) {
  const std::string message = json::text_of(error, "message");
  const std::string details = json::text_of(error, "additionalDetails");
  if (message.empty() && details.empty()) return "Codex gave no reason";
  const bool has_both = !message.empty() && !details.empty();
  return event_text(fmt::format("{}{}{}", message, has_both ? ": " : "", details));
}

void CodexFailures::on_error(const Value& params, const CodexLimits& limits, Events& events) {
  const Value& error = member_of(params, "error");
  const bool* will_retry = member_of(params, "willRetry").as_bool();
  if (will_retry == nullptr || !*will_retry) return on_failed_turn(error, limits, events);
  events.emplace_back(RetryNoted{.attempt = ++retries_, .text = codex_error_text(error)});
  // Codex repeats the request of somebody who is not logged in for most of a minute.
  const bool is_refused = classify(error) == CodexFailure::login_missing;
  if (is_refused && ++unauthorized_ >= max_unauthorized) tell_login(error, events);
}

void CodexFailures::on_failed_turn(const Value& error, const CodexLimits& limits, Events& events) {
  const CodexFailure failure = classify(error);
  if (failure == CodexFailure::login_missing) return tell_login(error, events);
  if (failure != CodexFailure::limit_reached || std::exchange(has_told_limit_, true)) return;
  events.emplace_back(LimitReached{.text = codex_error_text(error), .resets_at = limits.find_reset()});
}

void CodexFailures::on_progress() {
  retries_ = 0;
  unauthorized_ = 0;
}

void CodexFailures::tell_login(const Value& error, Events& events) {
  if (!std::exchange(has_told_login_, true)) events.emplace_back(LoginMissing{codex_error_text(error)});
}

}  // namespace reeve::agents
