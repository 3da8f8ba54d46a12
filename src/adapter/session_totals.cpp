#include "adapter/session_totals.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace reeve::adapter {

namespace {

// Far more than any session uses; the sum of two of them does not overflow.
constexpr std::int64_t max_tokens = std::int64_t{1} << 60U;
constexpr double max_cost_usd = 1e12;

std::int64_t add(std::int64_t before, std::int64_t reported, bool is_of_session, std::int64_t now) {
  const std::int64_t total = std::clamp(reported, std::int64_t{0}, max_tokens);
  return std::max(now, is_of_session ? total : std::min(before + total, max_tokens));
}

std::optional<std::int64_t> bounded(const std::optional<std::int64_t>& count) {
  return count ? std::optional(std::clamp(*count, std::int64_t{0}, max_tokens)) : std::nullopt;
}

}  // namespace

bool SessionTotals::update(const agents::UsageTotals& reported) {
  const wire::SessionUsage last = now_;
  const bool is_of_session = reported.tokens_are_of_session;
  now_.input_tokens = add(before_.input_tokens, reported.input_tokens, is_of_session, now_.input_tokens);
  now_.output_tokens = add(before_.output_tokens, reported.output_tokens, is_of_session, now_.output_tokens);
  now_.cached_tokens = add(before_.cached_tokens, reported.cached_tokens, is_of_session, now_.cached_tokens);
  if (reported.cost_usd && std::isfinite(*reported.cost_usd)) {
    const double cost = std::clamp(*reported.cost_usd, 0.0, max_cost_usd);
    const double total = reported.cost_is_of_session ? cost : before_.cost_usd.value_or(0) + cost;
    now_.cost_usd = std::max(now_.cost_usd.value_or(0), total);
  }
  if (reported.context_used) now_.context_used = bounded(reported.context_used);
  if (reported.context_size) now_.context_size = bounded(reported.context_size);
  return now_ != last;
}

}  // namespace reeve::adapter
