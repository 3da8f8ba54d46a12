#include "cli/live/flow_changes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "client/executions.h"
#include "client/patches.h"
#include "view/approval_text.h"
#include "view/patch_text.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

using model::Patch;
using model::PatchState;

std::string reason_of(const Patch& patch) {
  return patch.history.empty() ? std::string() : patch.history.back().reason.value_or("");
}

// Whether it is on the branch of its execution, but not in the checkout.
bool waits_on_branch(const Patch& patch) {
  const bool is_open = patch.state == PatchState::validated || patch.state == PatchState::queued ||
                       patch.state == PatchState::apply_failed || patch.state == PatchState::conflicted;
  return is_open && patch.branch_commit;
}

// The command that applies the patches on the branch; empty if there are none.
std::string way_out(const std::vector<Patch>& patches, const model::Execution& execution) {
  constexpr std::size_t max_named = 5;
  std::vector<std::string> ids;
  const Patch* last = nullptr;
  bool is_dirty = false;
  bool is_conflicted = false;
  for (const Patch& patch : patches) {
    if (!waits_on_branch(patch)) continue;
    last = &patch;
    ids.push_back(patch.patch_id.text());
    is_conflicted = is_conflicted || patch.state == PatchState::conflicted;
    is_dirty = is_dirty ||
               (patch.state == PatchState::apply_failed && reason_of(patch).starts_with("your checkout is not clean"));
  }
  if (last == nullptr) return {};
  const std::string branch = "reeve/" + last->root_id.text();
  const bool is_whole = execution.status == model::ExecutionStatus::completed && !execution.parent;
  std::string text = fmt::format("{}; it is on branch {}: {}",
                                 is_whole ? "completed, not in your checkout" : "not applied to your checkout", branch,
                                 is_dirty ? "commit or stash, then " : "");
  if (is_whole && !is_conflicted) {
    const std::string id = execution.execution_id.text();
    return text + fmt::format("reeve flow apply {} (reeve flow diff {} shows it), or git merge {}", id, id, branch);
  }
  // Conflicts need a manual merge, and a long list of ids is not worth typing.
  const bool can_apply = !is_conflicted && ids.size() <= max_named;
  if (can_apply) text += fmt::format("reeve patch apply {}, or ", base::join(ids, " "));
  return text + "git merge " + branch;
}

}  // namespace

void print_changes(client::Daemon& daemon, base::ExecutionId id, const std::vector<model::Approval>& questions) {
  constexpr std::size_t most = 1'000;
  std::vector<Patch> patches;
  for (client::PatchRecord& record : client::list_patches(daemon, {.execution = id}, most)) {
    patches.push_back(std::move(record.patch));
  }
  std::ranges::reverse(patches);
  std::vector<model::PatchFile> applied;
  for (const Patch& patch : patches) {
    if (patch.state == PatchState::committed) {
      applied.insert(applied.end(), patch.files.begin(), patch.files.end());
      continue;
    }
    const std::string why = reason_of(patch);
    print_aside("{} of {} is {}{}\n", patch.patch_id.text(), base::visible(patch.node_id), base::spell(patch.state),
                why.empty() ? "" : ": " + base::visible(why));
  }
  if (!applied.empty()) print_aside("applied to your checkout: {}\n", view::size_text(applied));
  // With a pending question, its answer applies the patches.
  const bool may_wait = questions.empty() && std::ranges::any_of(patches, waits_on_branch);
  if (!may_wait) return;
  const model::Execution execution = client::get_execution(daemon, id, client::NodeText::brief).execution;
  print_aside("{}\n", way_out(patches, execution));
}

std::vector<model::Approval> find_questions(client::Daemon& daemon, base::ExecutionId id) {
  auto questions = client::get_history(daemon, id).approvals;
  std::erase_if(questions, [](const model::Approval& approval) {
    return approval.status != model::ApprovalStatus::pending || approval.delivery != model::Delivery::apply;
  });
  return questions;
}

void print_questions(const Call& call, const std::vector<model::Approval>& questions) {
  const view::Look look = view::look_of(model::ApprovalStatus::pending);
  for (const model::Approval& approval : questions) {
    print_aside("{} {} asks: {}\n", call.err.paint(look.tint, call.err.pick(look.sign, look.ascii)),
                approval.approval_id.text(), call.err.words(view::question_line(approval)));
  }
  if (!questions.empty()) print_next(call, fmt::format("reeve show {}", questions.front().approval_id.text()));
}

}  // namespace reeve::cli
