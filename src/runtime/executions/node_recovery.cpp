#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "ledger/claims.h"
#include "runtime/executions/node_executor.h"
#include "runtime/loop/store_task.h"
#include "runtime/settings/gate_results.h"
#include "store/patches.h"

// How a node continues what an earlier attempt, an earlier daemon or another host began.
namespace reeve::runtime {

namespace {

using base::Error;
using model::Run;
using model::RunStatus;

}  // namespace

NodeAttemptId place_of(const Run& run, base::ExecutionId root) {
  const auto number = [&](const char* key, int fallback) {
    const std::string word = find_word(run, key);
    return word.empty() ? fallback : std::atoi(word.c_str());
  };
  return {.root = root,
          .execution = run.execution_id.value_or(root),
          .node = run.node_id.value_or(""),
          .iteration = number(iteration_key, 0),
          .attempt = number(attempt_key, 1),
          .worktree_id = {}};
}

// Continues from the last run after a crash. Gates that have given a result since are not run again.
void NodeExecutor::resume(const std::vector<Run>& runs) {
  const auto find = [](const Run& run, const char* key, std::string fallback) {
    const auto found = run.metadata.find(key);
    return found != run.metadata.end() ? found->second : fallback;
  };
  past_gates_.clear();
  is_preparing_ = false;
  const Run* last_task = nullptr;
  for (const Run& run : runs) {
    const bool is_ours = find(run, iteration_key, "0") == std::to_string(claim().iteration) &&
                         find(run, attempt_key, "1") == std::to_string(claim().attempt);
    if (!is_ours) continue;
    if (run.metadata.contains(gate_key)) {
      past_gates_.insert_or_assign(find(run, gate_key, ""), run);
    } else {
      last_task = &run;
      past_gates_.clear();
    }
  }
  if (last_task == nullptr) return begin();
  round_ = std::atoi(find(*last_task, round_key, "0").c_str());
  folder_ = moved_folder_.value_or(last_task->cwd);
  if (is_final(last_task->status)) return on_task_end(*last_task);
  run_ = last_task->tool_run_id;
  is_waiting_ = uses_no_slot(*last_task);
  report_change();
}

// The changes may already be in the branch, with only the user's checkout not ready for them; the task is not repeated
// then.
void NodeExecutor::begin_where_it_failed() {
  struct Before {
    bool is_accepted = false;
    std::vector<Run> runs;
  };
  const store::PatchPlace before{start_.root, claim().execution, node().id, claim().iteration, claim().attempt - 1};
  ask_store(
      parts_.context.ledger, parts_.context.loop,
      [before](ledger::Transaction& transaction) {
        const auto patch = store::find_patch(transaction.session(), before);
        return Before{patch && patch->patch.branch_commit,
                      ledger::find_runs(transaction, before.execution, before.node_id)};
      },
      guarded<Before>([](NodeExecutor& self, const Before& found) {
        const auto is_task = [](const Run& run) { return !run.metadata.contains(gate_key); };
        const auto last = std::find_if(found.runs.rbegin(), found.runs.rend(), is_task);
        if (!found.is_accepted || last == found.runs.rend()) return self.prepare();
        self.task_run_ = *last;
        self.apply();
      }));
}

void NodeExecutor::take_over(const Run& last, std::function<void(NodeExecutor&)> done) {
  if (is_isolated()) return take_over_isolated(last, std::move(done));
  if (is_final(last.status)) return done(*this);
  const auto gate = last.metadata.find(gate_key);
  auto plan = gate != last.metadata.end()
                  ? plan_gate(*start_.settings, gate->second, start_.settings->project)
                  : plan_task(*start_.settings, node(), start_.work.inputs, {.folder = start_.settings->project});
  if (!plan) return fail(plan.error());
  take_over_run(last, std::move(*plan), std::move(done));
}

void NodeExecutor::take_over_run(const Run& last, RunPlan plan, std::function<void(NodeExecutor&)> done) {
  plan.execution = claim().execution;
  parts_.supervisor.take_over(last, std::move(plan), [weak = weak_from_this(), done = std::move(done)] {
    const auto self = weak.lock();
    if (self && !self->is_over_) done(*self);
  });
}

// Its changes were lost with the host, unless they were already in the branch (ISO-1).
void NodeExecutor::take_over_isolated(const Run& last, std::function<void(NodeExecutor&)> done) {
  const bool is_own_run = task() != nullptr && !last.metadata.contains(gate_key);
  const bool is_done = is_final(last.status);
  // Work without changes lost nothing, and a finished gate keeps its result.
  const bool changes_nothing = task() == nullptr || task()->role == noop_role;
  if (!start_.settings->worktree.remote || changes_nothing) {
    if (is_done) return done(*this);
    return fail(Failure{.error = fmt::format("{} began on another host; that host is gone, and its worktree with it",
                                             last.tool_run_id.text()),
                        .is_final = true});
  }
  if (is_own_run && !is_done) {
    return parts_.isolation.prepare(isolation_settings(), place(),
                                    guarded<std::string>([last, done](NodeExecutor& self, const std::string& folder) {
                                      auto plan = plan_task(*self.start_.settings, self.node(), self.start_.work.inputs,
                                                            {.folder = folder});
                                      if (!plan) return self.fail(plan.error());
                                      self.moved_folder_ = folder;
                                      self.take_over_run(last, std::move(*plan), done);
                                    }));
  }
  const store::PatchPlace place{start_.root, claim().execution, node().id, claim().iteration, claim().attempt};
  ask_store(
      parts_.context.ledger, parts_.context.loop,
      [place](ledger::Transaction& transaction) {
        const auto patch = store::find_patch(transaction.session(), place);
        return patch && patch->patch.branch_commit;
      },
      guarded<bool>([last, done](NodeExecutor& self, bool is_accepted) {
        if (is_accepted) return done(self);
        self.fail(
            Failure{.error = fmt::format("{} ended on another host, which is gone, before its changes were merged into "
                                         "the branch",
                                         last.tool_run_id.text())});
      }));
}

void NodeExecutor::begin_later(const Error& error) {
  parts_.context.log_warning(fmt::format("cannot continue {} of {} yet: {}", base::quoted(node().id),
                                         claim().execution.text(), error.message()));
  Loop& loop = parts_.context.loop;
  pause_ = loop.at(loop.now() + store_pause, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->is_over_) return;
    ask_store(
        self->parts_.context.ledger, self->parts_.context.loop,
        [execution = self->claim().execution, node = self->node().id](ledger::Transaction& transaction) {
          return ledger::find_runs(transaction, execution, node);
        },
        self->guarded<std::vector<Run>>([](NodeExecutor& work, const std::vector<Run>& runs) { work.resume(runs); }));
  });
}

}  // namespace reeve::runtime
