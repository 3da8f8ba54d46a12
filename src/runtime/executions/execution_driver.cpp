#include "runtime/executions/execution_driver.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "ledger/units.h"
#include "model/gate_sandbox.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_files.h"
#include "runtime/settings/gate_results.h"
#include "spec/pipeline_graph.h"
#include "store/executions.h"

namespace reeve::runtime {

namespace {

using base::Error;
using ledger::StepResult;
using ledger::Transaction;

constexpr auto store_pause = std::chrono::seconds(1);

// A task without a run: its inputs are its output.
bool is_noop(const ledger::StartWork& work) {
  const model::Node& node = work.workflow->workflow.nodes[work.claim.node];
  return node.task_config && node.task_config->role == noop_role && node.task_config->gates.empty() && !node.apply;
}

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
  throw Error("execution.is_part", fmt::format("{} is part of {} and is retried with it", id.text(), root.text()),
              fmt::format("reeve flow retry {}", root.text()));
}

// For an execution that failed as a whole: no node failed, and it keeps its original config.
std::optional<Error> explain_no_retry(Transaction& transaction, base::ExecutionId id) {
  const auto found = store::find_execution(transaction.session(), id, store::NodeDetail::none);
  if (!found || found->status != model::ExecutionStatus::failed) return std::nullopt;
  const std::string why = found->reason && !found->reason->empty() ? fmt::format(" ({})", *found->reason) : "";
  return Error("execution.not_failed",
               fmt::format("{} failed without a failed node{}: there is nothing to retry", id.text(), why),
               spec::is_pipeline(found->workflow_id)
                   ? "start a new one: reeve pipeline start"
                   : fmt::format("start a new one: reeve flow run {}", found->workflow_id));
}

}  // namespace

ExecutionDriver::ExecutionDriver(NodeExecutor::Helpers helpers)
    : helpers_(helpers), context_(helpers.context), gates_(helpers) {
  helpers_.isolation.set_gates(
      {.ask = [this](Isolation::GateCheck check,
                     ApplyGates::Answer answer) { gates_.ask(std::move(check), std::move(answer)); },
       .cancel = [this](const std::string& name) { gates_.cancel(name); }});
}

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
  helpers_.isolation.survey(shared->settings.project, remote, [this, shared, answer](auto survey) {
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
    } else if (stored || stored.error().code() != "store.unknown_outcome") {
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
          const Place place = settings_cache_.put(id, {settings_cache_.share(std::move(start->settings)), id});
          note_open(id);
          perform(stored->step);
          const bool is_shared = place.settings->base_commit && place.settings->worktree.remote;
          if (is_shared) helpers_.isolation.share(make_isolation_settings(*place.settings), id);
        }
        answer(std::move(stored->started));
      });
}

void ExecutionDriver::step(base::ExecutionId execution, engine::ExecutionEvent event, Error refusal,
                           Answer<base::ExecutionId> answer) {
  const bool is_retry = std::holds_alternative<engine::RetryRequested>(event);
  const auto decide = [execution, event = std::move(event), is_retry, refusal, worker = capacity(0),
                       &ledger = context_.ledger](Transaction& transaction) {
    StepResult result;
    if (is_retry) refuse_part(transaction, execution);
    ledger.executions().step(transaction, execution, event, worker, result);
    if (result.is_stale) throw is_retry ? explain_no_retry(transaction, execution).value_or(refusal) : refusal;
    return result;
  };
  // Opened first: if the daemon dies in between, the execution is merely cleaned up once more.
  auto is_reopened = std::make_shared<bool>(false);
  const auto open = [is_retry, is_reopened, execution, folder = context_.folder] {
    if (is_retry) *is_reopened = reopen_settings(folder, execution);
  };
  const auto close = [is_reopened, execution,
                      folder = context_.folder](const std::expected<StepResult, Error>& result) {
    const bool is_refused = !result && result.error().code() != "store.unknown_outcome";
    if (is_refused && *is_reopened) close_settings(folder, execution);
  };
  ask_store(context_.ledger, context_.loop, StoreSteps{.before = open, .work = decide, .after = close},
            [this, execution, is_retry, answer](std::expected<StepResult, Error> result) {
              if (!result) {
                rethrow_unknown_commit(result.error());
                return answer(std::unexpected(result.error()));
              }
              if (is_retry) note_open(execution);
              perform(*result);
              answer(execution);
            });
}

void ExecutionDriver::cancel(base::ExecutionId execution, std::string reason, Answer<base::ExecutionId> answer) {
  step(execution, engine::CancelRequested{std::move(reason)},
       Error("execution.over", fmt::format("{} has already ended. Nothing changed.", execution.text())),
       std::move(answer));
}

void ExecutionDriver::retry(base::ExecutionId execution, Answer<base::ExecutionId> answer) {
  if (finishing_.contains(execution)) {
    // Its worktrees are being removed: work started now would lose them.
    after_finish_[execution].push_back([this, execution, answer] { retry(execution, answer); });
    return;
  }
  step(execution, engine::RetryRequested{},
       Error("execution.not_failed", fmt::format("{} has no failed node to retry", execution.text()),
             "only a failed execution can be retried; `reeve flow run` starts a new one"),
       std::move(answer));
}

void ExecutionDriver::perform(const StepResult& result) {
  for (const ledger::Work& work : result.work) {
    if (const auto* start = std::get_if<ledger::StartWork>(&work)) {
      begin_work(*start);
    } else if (const auto* offer = std::get_if<ledger::OfferWork>(&work)) {
      if (offer->not_before) {
        wait_until(*offer->not_before);
      } else if (room() > 0) {
        offer_room();
      } else {
        was_full_ = true;
      }
      if (!offer->not_before) wake_others();
    } else if (const auto* cancel = std::get_if<ledger::CancelWork>(&work)) {
      drop(*cancel);
    }
  }
  for (const base::ExecutionId execution : result.wants_apply) apply(execution);
  for (const StepResult::Ended& ended : result.ended) finish(ended.execution, ended.status);
}

void ExecutionDriver::on_steps_committed(const StepsCommitted& steps) {
  rethrow_unknown_commit(steps.error);
  perform(steps.result);
}

void ExecutionDriver::begin_work(const ledger::StartWork& work) {
  if (is_noop(work)) {
    const base::Value& inputs = work.inputs;
    return conclude_now(work.claim,
                        engine::NodeFinished{work.claim.node, inputs.is_null() ? base::Value::object() : inputs});
  }
  if (room() == 0) {
    waiting_.push_back(work);
    return note_room();
  }
  hold(work, [](NodeExecutor& node) { node.begin(); });
}

void ExecutionDriver::hold(const ledger::StartWork& work, std::function<void(NodeExecutor&)> go) {
  // It uses a slot from now on.
  busy_.insert_or_assign(key_of(work.claim), work.claim);
  note_room();
  if (const Place* found = settings_cache_.find(work.claim.execution)) return add(work, Place(*found), go);
  with_place(work.claim.execution, [this, work, go](std::expected<Place, Error> place) {
    if (place) return add(work, *place, go);
    // Nothing has begun or failed. It may have been cancelled meanwhile.
    if (is_of_store(place.error())) {
      return later([this, work, go] {
        const auto busy = busy_.find(key_of(work.claim));
        if (busy != busy_.end() && busy->second == work.claim) hold(work, go);
      });
    }
    const engine::NodeFailed failed{work.claim.node, model::RetryOn::failed, place.error().message(), true};
    conclude({work.claim, [failed](Transaction&) { return failed; }});
  });
}

void ExecutionDriver::with_place(base::ExecutionId execution, Answer<Place> then) {
  struct Read {
    base::ExecutionId root{0};
    std::optional<base::Value> config;
    std::optional<ExecutionSettings> settings;
    Origin origin = Origin::here;
  };
  const auto find = [execution](Transaction& transaction) {
    ledger::Root root = ledger::find_root(transaction, execution);
    return Read{.root = root.execution, .config = std::move(root.config)};
  };
  const auto read_files = [folder = context_.folder](std::expected<Read, Error>& read) {
    if (!read) return;
    read->settings = read_settings(folder, read->root);
    if (read->settings || !read->config) return;
    read->settings = decode_public(*read->config);
    read->origin = Origin::elsewhere;
    // Work done here must be cleaned up when the execution ends.
    const bool came_by_remote = read->settings && read->settings->base_commit && read->settings->worktree.remote;
    if (!came_by_remote) return;
    try {
      open_remote_copy(folder, read->root);
    } catch (const Error& error) {
      read = std::unexpected(error);
    }
  };
  ask_store(
      context_.ledger, context_.loop, StoreSteps{.before = [] {}, .work = find, .after = read_files},
      [this, execution, then](std::expected<Read, Error> read) {
        if (!read) return then(std::unexpected(read.error()));
        if (!read->settings) {
          return then(std::unexpected(Error("execution.no_config", "the config it was started with is lost",
                                            "start a new one with `reeve flow run`")));
        }
        adapt(*read->settings, read->origin);
        then(Place(settings_cache_.put(execution, {settings_cache_.share(std::move(*read->settings)), read->root})));
      });
}

// For executions started elsewhere: uses this host's environment and folders instead of the starter's.
void ExecutionDriver::adapt(ExecutionSettings& settings, Origin origin) const {
  if (settings.environment.empty()) settings.environment = context_.environment;
  std::error_code error;
  const std::filesystem::path own = context_.folder.root.parent_path();
  const bool is_there = std::filesystem::is_directory(settings.project, error);
  // An execution from a remote works in this daemon's own clone.
  const bool came_by_remote = origin == Origin::elsewhere && settings.base_commit && settings.worktree.remote;
  const bool wants_own = !is_there || came_by_remote;
  if (wants_own && own.filename() == ".reeve") settings.project = own.parent_path().string();
}

void ExecutionDriver::add(const ledger::StartWork& work, const Place& place,
                          const std::function<void(NodeExecutor&)>& go) {
  const Key key = key_of(work.claim);
  // It was cancelled while its settings were read; the node may belong to another claim by now.
  const auto busy = busy_.find(key);
  if (busy == busy_.end() || busy->second != work.claim) return;
  const auto node = std::make_shared<NodeExecutor>(helpers_, NodeExecutor::Start{work, place.settings, place.root});
  held_.insert_or_assign(key, node);
  go(*node);
}

void ExecutionDriver::forget(const ledger::Claim& claim) {
  const Key key = key_of(claim);
  const auto found = held_.find(key);
  if (found != held_.end() && found->second->claim() == claim) {
    std::erase_if(by_run_, [&](const auto& entry) { return entry.second == key; });
    held_.erase(found);
    preparing_.erase(key);
  }
  std::erase_if(placed_, [&](const WorktreeReady& placed) { return placed.claim == claim; });
  free_room(claim);
  use_room();
}

std::shared_ptr<NodeExecutor> ExecutionDriver::find_held(const ledger::Claim& claim) const {
  const auto found = held_.find(key_of(claim));
  return found != held_.end() && found->second->claim() == claim ? found->second : nullptr;
}

void ExecutionDriver::on_run_changed(const model::Run& run) {
  const auto found = by_run_.find(run.tool_run_id);
  if (found == by_run_.end()) return;
  const auto work = held_.find(found->second);
  if (work == held_.end()) return;
  if (is_final(run.status)) by_run_.erase(found);
  const std::shared_ptr<NodeExecutor> kept = work->second;
  kept->on_run_changed(run);
}

void ExecutionDriver::on_work_ended(const NodeWorkEnded& ended) { conclude(ended); }

void ExecutionDriver::conclude_now(const ledger::Claim& claim, engine::ExecutionEvent event) {
  auto shared = std::make_shared<engine::ExecutionEvent>(std::move(event));
  const NodeWorkEnded ended{claim, [shared](Transaction&) { return *shared; }};
  auto unit = ledger::make_conclude(
      context_.ledger.executions(), capacity(0), claim, *shared,
      [this, ended](const std::optional<Error>& error, StepResult& result) {
        context_.loop.post([this, ended, error, result = std::move(result)] { on_concluded(ended, error, result); });
      });
  if (context_.ledger.submit(std::move(unit))) return;
  on_concluded(ended, Error("store.busy", "the store is busy"), {});
}

void ExecutionDriver::conclude(const NodeWorkEnded& ended) {
  context_.crash_point("node.before_conclude");
  ask_store(
      context_.ledger, context_.loop,
      [ended, worker = capacity(1), &ledger = context_.ledger](Transaction& transaction) {
        StepResult result;
        const engine::ExecutionEvent made = ended.make_event(transaction);
        ledger.executions().conclude(transaction, ended.claim, made, worker, result);
        return result;
      },
      [this, ended](std::expected<StepResult, Error> result) {
        context_.crash_point("node.after_conclude");
        on_concluded(ended, result ? std::nullopt : std::optional(result.error()), result ? *result : StepResult());
      });
}

// Retries after a pause, because the store is unreachable.
void ExecutionDriver::later(std::function<void()> again) {
  context_.loop.after(store_pause, [alive = std::weak_ptr(alive_), again = std::move(again)] {
    if (!alive.expired()) again();
  });
}

void ExecutionDriver::on_concluded(const NodeWorkEnded& ended, const std::optional<Error>& error,
                                   const StepResult& result) {
  const ledger::Claim& claim = ended.claim;
  rethrow_unknown_commit(error);
  // The store refused, so nothing happened: retry until it succeeds.
  if (error && error->code() != "execution.not_found") {
    context_.log_warning(
        fmt::format("cannot store the result of a node of {}: {}", claim.execution.text(), error->message()));
    return later([this, ended] { conclude(ended); });
  }
  // Releases its slot before subsequent work asks for one.
  if (find_held(claim)) {
    held_.erase(key_of(claim));
    std::erase_if(by_run_, [&](const auto& entry) { return entry.second == key_of(claim); });
    preparing_.erase(key_of(claim));
  }
  free_room(claim);
  perform(result);
  use_room();
}

void ExecutionDriver::drop(const ledger::CancelWork& cancel) {
  const Key key = key_of(cancel.claim);
  std::erase_if(waiting_, [&](const ledger::StartWork& work) { return work.claim == cancel.claim; });
  const auto found = held_.find(key);
  if (found != held_.end() && found->second->claim() == cancel.claim) {
    const std::shared_ptr<NodeExecutor> work = found->second;
    ++ending_[work->root()];
    work->cancel("its node was cancelled", [this, root = work->root()] { on_node_gone(root); });
  } else if (found == held_.end()) {
    // Another daemon may hold the work.
    wake_others();
  }
  forget(cancel.claim);
}

}  // namespace reeve::runtime
