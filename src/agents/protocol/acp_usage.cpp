#include "agents/protocol/acp_usage.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "agents/protocol/json_members.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::int64_t authentication_required = -32000;
constexpr std::int64_t too_many_requests = 429;
constexpr double max_cost = 1e9;

std::optional<double> find_amount(const Value& cost) {
  if (json::text_of(cost, "currency") != "USD") return std::nullopt;
  const Value& amount = member_of(cost, "amount");
  const double* number = amount.as_number();
  const std::int64_t* whole = amount.as_integer();
  if (number == nullptr && whole == nullptr) return std::nullopt;
  const double value = number != nullptr ? *number : static_cast<double>(*whole);
  return std::isfinite(value) && value >= 0 && value <= max_cost ? std::optional(value) : std::nullopt;
}

void add(std::int64_t& total, std::int64_t count) {
  total += std::min(count, std::numeric_limits<std::int64_t>::max() - total);
}

}  // namespace

void AcpUsage::on_update(const Value& update) {
  if (auto used = json::integer_of(update, "used")) totals_.context_used = used;
  if (auto size = json::integer_of(update, "size")) totals_.context_size = size;
  if (auto amount = find_amount(member_of(update, "cost"))) {
    totals_.cost_usd = amount;
    totals_.cost_is_of_session = true;
  }
}

bool AcpUsage::on_turn_over(const Value& result) {
  const Value& usage = member_of(result, "usage");
  if (usage.as_object() != nullptr) {
    add(totals_.input_tokens, count_of(usage, "inputTokens"));
    add(totals_.output_tokens, count_of(usage, "outputTokens"));
    add(totals_.cached_tokens, count_of(usage, "cachedReadTokens"));
    return true;
  }
  // Gemini has it in an extension (measured).
  const Value& quota = member_of(member_of(member_of(result, "_meta"), "quota"), "token_count");
  if (quota.as_object() == nullptr) return false;
  add(totals_.input_tokens, count_of(quota, "input_tokens"));
  add(totals_.output_tokens, count_of(quota, "output_tokens"));
  return true;
}

bool is_login_error(const RpcError& error) { return error.code == authentication_required; }

bool is_limit_error(const RpcError& error) { return error.code == too_many_requests; }

}  // namespace reeve::agents
