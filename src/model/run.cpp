#include "model/run.h"

#include <algorithm>

#include "model/moves.h"

namespace reeve::model {

namespace {

using enum RunStatus;
constexpr auto moves = std::to_array<Move<RunStatus>>({
    {queued, running},
    {queued, failed},
    {queued, cancelled},
    {running, queued},
    {running, stalled},
    {running, waiting_approval},
    {running, completed},
    {running, failed},
    {running, failed_timeout},
    {running, cancelled},
    {stalled, running},
    {stalled, waiting_approval},
    {stalled, completed},
    {stalled, failed},
    {stalled, failed_timeout},
    {stalled, cancelled},
    {waiting_approval, running},
    {waiting_approval, completed},
    {waiting_approval, failed},
    {waiting_approval, failed_timeout},
    {waiting_approval, cancelled},
});

}  // namespace

std::span<const base::EnumName<Stream>> enum_names(Stream) noexcept {
  static constexpr std::array<base::EnumName<Stream>, 2> names = {{{Stream::out, "stdout"}, {Stream::err, "stderr"}}};
  return names;
}

void add_usage(std::optional<Usage>& total, const Usage& more) {
  constexpr std::int64_t max_tokens = 1'000'000'000'000'000;
  constexpr double max_cost = 1e12;
  Usage sum = total.value_or(Usage{});
  sum.input_tokens = std::min(sum.input_tokens + more.input_tokens, max_tokens);
  sum.output_tokens = std::min(sum.output_tokens + more.output_tokens, max_tokens);
  if (more.cost_usd) sum.cost_usd = std::min(sum.cost_usd.value_or(0) + *more.cost_usd, max_cost);
  total = sum;
}

bool can_move(RunStatus from, RunStatus to) noexcept { return allows(moves, from, to); }
bool is_final(RunStatus status) noexcept { return ends_in(moves, status); }

}  // namespace reeve::model
