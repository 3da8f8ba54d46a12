#include "model/approval.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "model/moves.h"

namespace reeve::model {

namespace {

constexpr auto status_moves = std::to_array<Move<ApprovalStatus>>({
    {ApprovalStatus::pending, ApprovalStatus::approved},
    {ApprovalStatus::pending, ApprovalStatus::rejected},
    {ApprovalStatus::pending, ApprovalStatus::expired},
});

constexpr auto use_moves = std::to_array<Move<ApprovalUse>>({
    {ApprovalUse::unused, ApprovalUse::used},
    {ApprovalUse::unused, ApprovalUse::void_},
});

constexpr std::array<std::string_view, 6> rejecting = {"reject", "deny", "no", "n", "abort", "cancel"};

}  // namespace

bool can_move(ApprovalStatus from, ApprovalStatus to) noexcept { return allows(status_moves, from, to); }
bool is_final(ApprovalStatus status) noexcept { return ends_in(status_moves, status); }
bool can_move(ApprovalUse from, ApprovalUse to) noexcept { return allows(use_moves, from, to); }
bool is_final(ApprovalUse use) noexcept { return ends_in(use_moves, use); }

bool approves(const ApprovalOption& option) {
  if (option.approves) return *option.approves;
  return std::ranges::find(rejecting, base::to_ascii_lower(option.value)) == rejecting.end();
}

bool takes_text(const Approval& approval) {
  const base::Value* kind = approval.arguments ? approval.arguments->find("prompt") : nullptr;
  const std::string* word = kind != nullptr ? kind->as_string() : nullptr;
  return approval.delivery == Delivery::terminal && word != nullptr && *word == "text";
}

std::vector<ApprovalOption> unique_options(std::vector<ApprovalOption> options) {
  std::set<std::string> seen;
  std::erase_if(options, [&](const ApprovalOption& option) { return !seen.insert(option.value).second; });
  return options;
}

std::vector<ApprovalOption> default_options() {
  return {{.value = "approve", .label = "Approve", .approves = true},
          {.value = "reject", .label = "Reject", .approves = false}};
}

}  // namespace reeve::model
