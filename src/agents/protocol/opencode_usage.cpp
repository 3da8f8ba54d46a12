#include "agents/protocol/opencode_usage.h"

#include <algorithm>

#include "agents/protocol/agent_message.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr double max_cost = 1'000'000;
constexpr std::int64_t max_sum = 1'000'000'000'000'000;

double cost_of(const Value& message) {
  const Value& cost = member_of(message, "cost");
  const double* number = cost.as_number();
  const std::int64_t* whole = cost.as_integer();
  const double value = number != nullptr ? *number : whole != nullptr ? static_cast<double>(*whole) : 0;
  return value > 0 ? std::min(value, max_cost) : 0;
}

}  // namespace

OpencodeUsage::Spent OpencodeUsage::read(const Value& message) {
  const Value& tokens = member_of(message, "tokens");
  const Value& cache = member_of(tokens, "cache");
  return {.input = count_of(tokens, "input") + count_of(cache, "write"),
          .output = count_of(tokens, "output") + count_of(tokens, "reasoning"),
          .cached = count_of(cache, "read"),
          .cost = cost_of(message)};
}

void OpencodeUsage::add(Spent& sum, const Spent& more) {
  sum.input = std::min(sum.input + more.input, max_sum);
  sum.output = std::min(sum.output + more.output, max_sum);
  sum.cached = std::min(sum.cached + more.cached, max_sum);
  sum.cost += more.cost;
}

std::optional<UsageTotals> OpencodeUsage::on_message(const Value& message, bool is_main) {
  const auto id = name_of(message, "id");
  if (!id) return std::nullopt;
  const Spent spent = read(message);
  const Spent* known = messages_.find(*id);
  // A message begins with zeros.
  if (spent == (known != nullptr ? *known : Spent())) return std::nullopt;
  if (const auto forgotten = messages_.put(*id, spent)) add(older_, *forgotten);
  if (is_main) context_ = spent.input + spent.output + spent.cached;
  Spent sum = older_;
  for (const auto& [key, one] : messages_.entries()) add(sum, one);
  UsageTotals totals;
  totals.input_tokens = sum.input;
  totals.output_tokens = sum.output;
  totals.cached_tokens = sum.cached;
  // opencode says 0 for a model whose price it does not know.
  if (sum.cost > 0) totals.cost_usd = sum.cost;
  totals.context_used = context_;
  return totals;
}

}  // namespace reeve::agents
