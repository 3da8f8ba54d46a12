#include "model/patch.h"

#include "model/moves.h"

namespace reeve::model {

namespace {

using enum PatchState;
constexpr auto moves = std::to_array<Move<PatchState>>({
    {created, validated},     {created, rejected},     {created, quarantined},  {created, conflicted},
    {created, dropped},       {validated, queued},     {validated, rejected},   {validated, quarantined},
    {validated, conflicted},  {validated, dropped},    {queued, applied},       {queued, apply_failed},
    {queued, conflicted},     {queued, rejected},      {queued, dropped},       {applied, verified},
    {applied, rolled_back},   {verified, committed},   {verified, rolled_back}, {committed, rolled_back},
    {apply_failed, queued},   {apply_failed, dropped}, {conflicted, queued},    {conflicted, dropped},
    {quarantined, validated}, {quarantined, dropped},  {rejected, dropped},
});

}  // namespace

bool can_move(PatchState from, PatchState to) noexcept { return allows(moves, from, to); }
bool is_final(PatchState state) noexcept { return ends_in(moves, state); }

}  // namespace reeve::model
