#include "model/task.h"

#include "model/moves.h"

namespace reeve::model {

namespace {

using enum TaskStatus;
constexpr auto moves = std::to_array<Move<TaskStatus>>({
    {slung, hooked},
    {slung, failed},
    {slung, cancelled},
    {hooked, slung},
    {hooked, done},
    {hooked, failed},
    {hooked, cancelled},
});

}  // namespace

bool can_move(TaskStatus from, TaskStatus to) noexcept { return allows(moves, from, to); }
bool is_final(TaskStatus status) noexcept { return ends_in(moves, status); }

}  // namespace reeve::model
