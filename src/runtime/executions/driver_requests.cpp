#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/gate_sandbox.h"
#include "runtime/executions/execution_driver.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_files.h"
#include "spec/pipeline_graph.h"
#include "store/executions.h"

// What people ask of executions: start, cancel, retry.
namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using ledger::StepResult;
using ledger::Transaction;

// Whether no node applies changes to the user's checkout midway, which must happen on that host (ISO-3).
bool may_migrate(const ledger::NewExecution& execution) {
  const auto stays = [](const model::Workflow& workflow) {
    return std::ranges::any_of(workflow.nodes, &model::Node::apply);
  };
  return !stays(execution.workflow) &&
         std::ranges::none_of(execution.subgraphs, [&](const auto& entry) { return stays(entry.second.workflow); });
}

// ISO-2: covers the execution and its subgraphs, which share one branch.
model::Sandbox choose_gate_sandbox(const ExecutionDriver::Start& start) {
  const auto is_guarded = [&](const model::Workflow& workflow) {
    return model::find_gate_sandbox(start.settings.tools, start.settings.roles, workflow) == model::Sandbox::guard;
  };
  const bool is_any = is_guarded(start.execution.workflow) ||
                      std::ranges::any_of(start.execution.subgraphs,
                                          [&](const auto& entry) { return is_guarded(entry.second.workflow); });
  return is_any ? model::Sandbox::guard : model::Sandbox::none;
}

// GRF-11: a child execution is retried through its parent node, which failed with it.
void refuse_part(Transaction& transaction, base::ExecutionId id) {
  const base::ExecutionId root = ledger::find_root(transaction, id).execution;
  if (root == id) return;
  throw Error(ErrorCode::execution_is_part,
              fmt::format("{} is part of {} and is retried with it", id.text(), root.text()),
              fmt::format("reeve flow retry {}", root.text()));
}

// For an execution that failed as a whole: no node failed, and it keeps its original config.
std::optional<Error> explain_no_retry(Transaction& transaction, base::ExecutionId id) {
  const auto found = store::find_execution(transaction.session(), id, store::NodeDetail::none);
  if (!found || found->status != model::ExecutionStatus::failed) return std::nullopt;
  const std::string why = found->reason && !found->reason->empty() ? fmt::format(" ({})", *found->reason) : "";
  return Error(ErrorCode::execution_not_failed,
               fmt::format("{} failed without a failed node{}: there is nothing to retry", id.text(), why),
               spec::is_pipeline(found->workflow_id)
                   ? "start a new one: reeve pipeline start"
                   : fmt::format("start a new one: reeve flow run {}", found->workflow_id));
}

// The corrected workflow may use only the roles, tools and gates frozen at the start.
std::optional<Error> check_correction(const ExecutionSettings& settings, const ledger::WorkflowCorrection& correction) {
  if (!correction.workflow) return std::nullopt;
  std::vector<const model::Workflow*> workflows = {&*correction.workflow};
  for (const auto& [_, subgraph] : correction.subgraphs) workflows.push_back(&subgraph.workflow);
  const auto refuse = [](std::string why) {
    return Error(ErrorCode::execution_not_correctable, std::move(why) + ". Nothing changed.",
                 "start a new execution: reeve flow run");
  };
  for (const model::Workflow* workflow : workflows) {
    if (auto error = check_plans(settings, *workflow)) return error;
    const auto sandbox = model::find_gate_sandbox(settings.tools, settings.roles, *workflow);
    if (sandbox == model::Sandbox::guard && settings.gate_sandbox != model::Sandbox::guard) {
      return refuse(
          "the corrected workflow uses a sandboxed tool, but the gates of this execution run without a sandbox");
    }
    if (settings.worktree.remote && std::ranges::any_of(workflow->nodes, &model::Node::apply)) {
      return refuse("the execution may move between machines, so no node can have `apply: true`");
    }
  }
  return std::nullopt;
}

}  // namespace

void ExecutionDriver::start(Start start, Answer<Started> answer) {
  if (auto error = check_plans(start.settings, start.execution.workflow)) return answer(std::unexpected(*error));
  for (const auto& [_, subgraph] : start.execution.subgraphs) {
    if (auto error = check_plans(start.settings, subgraph.workflow)) return answer(std::unexpected(*error));
  }
  start.settings.apply = start.execution.workflow.config.apply;
  start.settings.gate_sandbox = choose_gate_sandbox(start);
  if (!may_migrate(start.execution)) start.settings.worktree.remote.reset();
  // Without a shared store, no other host would fetch the branch, and execution ids are not unique across stores.
  if (!context_.lease) start.settings.worktree.remote.reset();
  auto shared = std::make_shared<Start>(std::move(start));
  if (shared->execution.workflow.config.isolation == model::Isolation::none) return store_start(shared, {}, answer);
  std::optional<RemoteOptions> remote;
  if (shared->settings.worktree.remote) {
    const auto agent = shared->settings.environment.find("SSH_AUTH_SOCK");
    const bool has_agent = agent != shared->settings.environment.end();
    remote = RemoteOptions{.name = *shared->settings.worktree.remote, .ssh_agent = has_agent ? agent->second : ""};
  }
  parts_.isolation.survey(shared->settings.project, remote, [this, shared, answer](auto survey) {
    if (!survey) return answer(std::unexpected(survey.error()));
    shared->settings.base_commit = survey->base_commit;
    store_start(shared, survey->dirty, answer);
  });
}

void ExecutionDriver::store_start(std::shared_ptr<Start> start, std::vector<std::string> dirty,
                                  Answer<Started> answer) {
  struct Stored {
    Started started;
    StepResult step;
  };
  const std::string nonce = make_nonce();
  start->execution.project = start->settings.recorded_project.value_or(start->settings.project);
  start->execution.config = encode_public(start->settings);
  // Locates the settings file if this daemon dies before renaming it after the execution.
  start->execution.config->set(start_key, base::Value::string(nonce));
  // Its branch and worktrees are on this host (ISO-1).
  if (start->settings.base_commit) start->execution.home = context_.host;
  const auto store = [start, worker = capacity(0), &ledger = context_.ledger](Transaction& transaction) {
    Stored stored;
    const auto answered = find_answer(transaction, start->idempotency);
    if (const auto before = answered ? base::ExecutionId::parse(*answered) : std::nullopt) {
      stored.started = {.execution = *before, .is_repeated = true};
      return stored;
    }
    stored.started.execution = ledger.executions().start(transaction, start->execution, worker, stored.step);
    remember_answer(transaction, start->idempotency, stored.started.execution.text());
    return stored;
  };
  const auto settle = [folder = context_.folder, nonce](const std::expected<Stored, Error>& stored) {
    if (stored && !stored->started.is_repeated) {
      name_settings(folder, nonce, stored->started.execution);
    } else if (stored || !stored.error().is(ErrorCode::store_unknown_outcome)) {
      drop_settings_draft(folder, nonce);
    }
  };
  ask_store(
      context_.ledger, context_.loop,
      StoreSteps{.before = [folder = context_.folder, nonce, start] { draft_settings(folder, nonce, start->settings); },
                 .work = store,
                 .after = settle},
      [this, start, dirty = std::move(dirty), answer](std::expected<Stored, Error> stored) {
        if (!stored) {
          rethrow_unknown_commit(stored.error());
          return answer(std::unexpected(stored.error()));
        }
        stored->started.dirty = dirty;
        if (!stored->started.is_repeated) {
          context_.crash_point("execution.after_start");
          const base::ExecutionId id = stored->started.execution;
          const StoredSettings::Place place = settings_.put(id, std::move(start->settings));
          cleanup_.add_open(id);
          perform(stored->step);
          const bool is_shared = place.settings->base_commit && place.settings->worktree.remote;
          if (is_shared) parts_.isolation.share(make_isolation_settings(*place.settings), id);
        }
        answer(std::move(stored->started));
      });
}

void ExecutionDriver::step(base::ExecutionId execution, RequestedStep requested, Answer<base::ExecutionId> answer) {
  const bool is_retry = requested.is_retry;
  const auto decide = [execution, requested = std::move(requested), worker = capacity(0),
                       &ledger = context_.ledger](Transaction& transaction) {
    StepResult result;
    if (requested.is_retry) refuse_part(transaction, execution);
    ledger.executions().step(transaction, execution, requested.make(transaction), worker, result);
    if (!result.is_stale) return result;
    throw requested.is_retry ? explain_no_retry(transaction, execution).value_or(requested.refusal) : requested.refusal;
  };
  // Opened first: if the daemon dies in between, the execution is merely cleaned up once more.
  auto is_reopened = std::make_shared<bool>(false);
  const auto open = [is_retry, is_reopened, execution, folder = context_.folder] {
    if (is_retry) *is_reopened = reopen_settings(folder, execution);
  };
  const auto close = [is_reopened, execution,
                      folder = context_.folder](const std::expected<StepResult, Error>& result) {
    const bool is_refused = !result && !result.error().is(ErrorCode::store_unknown_outcome);
    if (is_refused && *is_reopened) close_settings(folder, execution);
  };
  ask_store(context_.ledger, context_.loop, StoreSteps{.before = open, .work = decide, .after = close},
            [this, execution, is_retry, answer](std::expected<StepResult, Error> result) {
              if (!result) {
                rethrow_unknown_commit(result.error());
                return answer(std::unexpected(result.error()));
              }
              if (is_retry) cleanup_.add_open(execution);
              perform(*result);
              answer(execution);
            });
}

void ExecutionDriver::cancel(base::ExecutionId execution, std::string reason, Answer<base::ExecutionId> answer) {
  step(execution,
       {.make = [reason = std::move(reason)](Transaction&) { return engine::CancelRequested{reason}; },
        .refusal =
            Error(ErrorCode::execution_over, fmt::format("{} has already ended. Nothing changed.", execution.text()))},
       std::move(answer));
}

void ExecutionDriver::retry(base::ExecutionId execution, Answer<base::ExecutionId> answer) {
  retry_with(execution, nullptr, std::move(answer));
}

void ExecutionDriver::retry(base::ExecutionId execution, ledger::WorkflowCorrection correction,
                            Answer<base::ExecutionId> answer) {
  const auto shared = std::make_shared<const ledger::WorkflowCorrection>(std::move(correction));
  settings_.read(execution,
                 [this, execution, shared, answer](const std::expected<StoredSettings::Place, Error>& place) {
                   if (!place) return answer(std::unexpected(place.error()));
                   if (auto error = check_correction(*place->settings, *shared)) return answer(std::unexpected(*error));
                   retry_with(execution, shared, answer);
                 });
}

void ExecutionDriver::retry_with(base::ExecutionId execution,
                                 const std::shared_ptr<const ledger::WorkflowCorrection>& correction,
                                 Answer<base::ExecutionId> answer) {
  if (cleanup_.is_running(execution)) {
    // Its worktrees are being removed: work started now would lose them.
    return cleanup_.when_over(execution,
                              [this, execution, correction, answer] { retry_with(execution, correction, answer); });
  }
  const auto make = [execution, correction, &ledger = context_.ledger](Transaction& transaction) {
    return correction ? ledger.executions().correct(transaction, execution, *correction) : engine::RetryRequested{};
  };
  step(execution,
       {.is_retry = true,
        .make = make,
        .refusal =
            Error(ErrorCode::execution_not_failed, fmt::format("{} has no failed node to retry", execution.text()),
                  "only a failed execution can be retried; `reeve flow run` starts a new one")},
       std::move(answer));
}

}  // namespace reeve::runtime
