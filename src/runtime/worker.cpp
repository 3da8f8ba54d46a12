#include "runtime/worker.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "ledger/units.h"
#include "model/gate_sandbox.h"
#include "runtime/gate_results.h"
#include "runtime/run_files.h"
#include "runtime/store_task.h"
#include "spec/pipeline_graph.h"
#include "store/executions.h"

namespace reeve::runtime {

namespace {

using base::Error;
using ledger::StepResult;
using ledger::Transaction;

constexpr auto store_pause = std::chrono::seconds(1);

// A task that nothing has to be started for: its inputs are its output.
bool is_noop(const ledger::StartWork& work) {
  const model::Node& node = work.workflow->workflow.nodes[work.claim.node];
  return node.task_config && node.task_config->role == noop_role && node.task_config->gates.empty() && !node.apply;
}

// What goes into the person's checkout on the way does so where that is (ISO-3).
bool may_go_abroad(const ledger::NewExecution& execution) {
  const auto stays = [](const model::Workflow& workflow) {
    return std::ranges::any_of(workflow.nodes, &model::Node::apply);
  };
  return !stays(execution.workflow) &&
         std::ranges::none_of(execution.subgraphs, [&](const auto& entry) { return stays(entry.second.workflow); });
}

// ISO-2: of the execution and its subgraphs, which work on one branch.
model::Sandbox choose_gate_sandbox(const Worker::Start& start) {
  const auto is_guarded = [&](const model::Workflow& workflow) {
    return model::find_gate_sandbox(start.ground.tools, start.ground.roles, workflow) == model::Sandbox::guard;
  };
  const bool is_any = is_guarded(start.execution.workflow) ||
                      std::ranges::any_of(start.execution.subgraphs,
                                          [&](const auto& entry) { return is_guarded(entry.second.workflow); });
  return is_any ? model::Sandbox::guard : model::Sandbox::none;
}

// GRF-11: a child has its node to answer to, which has failed with it.
void refuse_part(Transaction& transaction, base::ExecutionId id) {
  const base::ExecutionId root = ledger::find_root(transaction, id).execution;
  if (root == id) return;
  throw Error("execution.is_part", fmt::format("{} is a part of {}: it goes on with the whole", id.text(), root.text()),
              fmt::format("reeve flow retry {}", root.text()));
}

// Of one that failed as a whole: what it failed at is no node's, and it keeps the config it began with.
std::optional<Error> explain_no_retry(Transaction& transaction, base::ExecutionId id) {
  const auto found = store::find_execution(transaction.session(), id, store::NodeDetail::none);
  if (!found || found->status != model::ExecutionStatus::failed) return std::nullopt;
  const std::string why = found->reason && !found->reason->empty() ? fmt::format(" ({})", *found->reason) : "";
  return Error("execution.not_failed",
               fmt::format("{} failed without a failed node{}: nothing in it can be tried again", id.text(), why),
               spec::is_pipeline(found->workflow_id)
                   ? "start it anew: reeve pipeline start"
                   : fmt::format("start it anew: reeve flow run {}", found->workflow_id));
}

}  // namespace

Worker::Worker(NodeWork::Helpers helpers) : helpers_(helpers), around_(helpers.around), gates_(helpers) {
  helpers_.isolation.set_gates(
      {.ask = [this](Isolation::GateCheck check,
                     ApplyGates::Answer answer) { gates_.ask(std::move(check), std::move(answer)); },
       .cancel = [this](const std::string& name) { gates_.cancel(name); }});
}

void Worker::start(Start start, Answer<Started> answer) {
  if (auto error = check_plans(start.ground, start.execution.workflow)) return answer(std::unexpected(*error));
  for (const auto& [_, subgraph] : start.execution.subgraphs) {
    if (auto error = check_plans(start.ground, subgraph.workflow)) return answer(std::unexpected(*error));
  }
  start.ground.apply = start.execution.workflow.config.apply;
  start.ground.gate_sandbox = choose_gate_sandbox(start);
  if (!may_go_abroad(start.execution)) start.ground.worktree.remote.reset();
  // Where nobody shares the store, nobody would fetch it, and ids are others' too.
  if (!around_.lease) start.ground.worktree.remote.reset();
  auto shared = std::make_shared<Start>(std::move(start));
  if (shared->execution.workflow.config.isolation == model::Isolation::none) return store_start(shared, {}, answer);
  std::optional<RemoteWish> remote;
  if (shared->ground.worktree.remote) {
    const auto agent = shared->ground.environment.find("SSH_AUTH_SOCK");
    const bool has_agent = agent != shared->ground.environment.end();
    remote = RemoteWish{.name = *shared->ground.worktree.remote, .ssh_agent = has_agent ? agent->second : ""};
  }
  helpers_.isolation.survey(shared->ground.project, remote, [this, shared, answer](auto survey) {
    if (!survey) return answer(std::unexpected(survey.error()));
    shared->ground.base_commit = survey->base_commit;
    store_start(shared, survey->dirty, answer);
  });
}

void Worker::store_start(std::shared_ptr<Start> start, std::vector<std::string> dirty, Answer<Started> answer) {
  struct Stored {
    Started started;
    StepResult step;
  };
  const std::string nonce = make_nonce();
  start->execution.config = encode_public(start->ground);
  // Where the whole of it lies if this daemon dies before it can be named after the execution.
  start->execution.config->set(start_key, base::Value::string(nonce));
  // Its branch and worktrees are here (ISO-1).
  if (start->ground.base_commit) start->execution.home = around_.host;
  const auto store = [start, worker = hands(0), &ledger = around_.ledger](Transaction& transaction) {
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
  const auto settle = [folder = around_.folder, nonce](const std::expected<Stored, Error>& stored) {
    if (stored && !stored->started.is_repeated) {
      name_ground(folder, nonce, stored->started.execution);
    } else if (stored || stored.error().code() != "store.unknown_outcome") {
      drop_ground_draft(folder, nonce);
    }
  };
  ask_store(
      around_.ledger, around_.loop,
      StoreSteps{.before = [folder = around_.folder, nonce, start] { draft_ground(folder, nonce, start->ground); },
                 .work = store,
                 .after = settle},
      [this, start, dirty = std::move(dirty), answer](std::expected<Stored, Error> stored) {
        if (!stored) {
          die_of_doubt(stored.error());
          return answer(std::unexpected(stored.error()));
        }
        stored->started.dirty = dirty;
        if (!stored->started.is_repeated) {
          around_.crash_point("execution.after_start");
          const base::ExecutionId id = stored->started.execution;
          const Place place = grounds_.put(id, {grounds_.share(std::move(start->ground)), id});
          note_open(id);
          take(stored->step);
          const bool is_shared = place.ground->base_commit && place.ground->worktree.remote;
          if (is_shared) helpers_.isolation.share(make_isolation_ground(*place.ground), id);
        }
        answer(std::move(stored->started));
      });
}

void Worker::step(base::ExecutionId execution, engine::ExecutionEvent event, Error refusal,
                  Answer<base::ExecutionId> answer) {
  const bool is_retry = std::holds_alternative<engine::RetryRequested>(event);
  const auto decide = [execution, event = std::move(event), is_retry, refusal, worker = hands(0),
                       &ledger = around_.ledger](Transaction& transaction) {
    StepResult result;
    if (is_retry) refuse_part(transaction, execution);
    ledger.executions().step(transaction, execution, event, worker, result);
    if (result.is_stale) throw is_retry ? explain_no_retry(transaction, execution).value_or(refusal) : refusal;
    return result;
  };
  // Open first: a daemon that dies in between leaves one to be tidied up once more.
  auto is_reopened = std::make_shared<bool>(false);
  const auto open = [is_retry, is_reopened, execution, folder = around_.folder] {
    if (is_retry) *is_reopened = reopen_ground(folder, execution);
  };
  const auto close = [is_reopened, execution, folder = around_.folder](const std::expected<StepResult, Error>& result) {
    const bool is_refused = !result && result.error().code() != "store.unknown_outcome";
    if (is_refused && *is_reopened) close_ground(folder, execution);
  };
  ask_store(around_.ledger, around_.loop, StoreSteps{.before = open, .work = decide, .after = close},
            [this, execution, is_retry, answer](std::expected<StepResult, Error> result) {
              if (!result) {
                die_of_doubt(result.error());
                return answer(std::unexpected(result.error()));
              }
              if (is_retry) note_open(execution);
              take(*result);
              answer(execution);
            });
}

void Worker::cancel(base::ExecutionId execution, std::string reason, Answer<base::ExecutionId> answer) {
  step(execution, engine::CancelRequested{std::move(reason)},
       Error("execution.over", fmt::format("{} is over already. Nothing changed.", execution.text())),
       std::move(answer));
}

void Worker::retry(base::ExecutionId execution, Answer<base::ExecutionId> answer) {
  if (finishing_.contains(execution)) {
    // Its worktrees are being tidied up: what is begun now would lose them.
    after_finish_[execution].push_back([this, execution, answer] { retry(execution, answer); });
    return;
  }
  step(execution, engine::RetryRequested{},
       Error("execution.not_failed", fmt::format("{} has no failed node to go on from", execution.text()),
             "only a failed execution can be tried again; `reeve flow run` starts a new one"),
       std::move(answer));
}

void Worker::take(const StepResult& result) {
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
      if (!offer->not_before) tell_others();
    } else if (const auto* cancel = std::get_if<ledger::CancelWork>(&work)) {
      drop(*cancel);
    }
  }
  for (const base::ExecutionId execution : result.wants_apply) apply(execution);
  for (const StepResult::Ended& ended : result.ended) finish(ended.execution, ended.status);
}

void Worker::take_followed(const std::optional<Error>& error, const StepResult& result) {
  die_of_doubt(error);
  take(result);
}

void Worker::begin_work(const ledger::StartWork& work) {
  if (is_noop(work)) {
    const base::Value& inputs = work.inputs;
    return conclude_now(work.claim,
                        engine::NodeFinished{work.claim.node, inputs.is_null() ? base::Value::object() : inputs});
  }
  if (room() == 0) {
    waiting_.push_back(work);
    return note_room();
  }
  hold(work, [](NodeWork& node) { node.begin(); });
}

void Worker::hold(const ledger::StartWork& work, std::function<void(NodeWork&)> go) {
  // Its room is taken from now on.
  busy_.insert_or_assign(key_of(work.claim), work.claim);
  note_room();
  if (const Place* found = grounds_.find(work.claim.execution)) return add(work, Place(*found), go);
  with_place(work.claim.execution, [this, work, go](std::expected<Place, Error> place) {
    if (place) return add(work, *place, go);
    // Nothing has begun, and nothing has failed. It may have been cancelled meanwhile.
    if (is_of_store(place.error())) {
      return later([this, work, go] {
        const auto busy = busy_.find(key_of(work.claim));
        if (busy != busy_.end() && busy->second == work.claim) hold(work, go);
      });
    }
    const engine::NodeFailed failed{work.claim.node, model::RetryOn::failed, place.error().message(), true};
    conclude(work.claim, [failed](Transaction&) { return failed; });
  });
}

void Worker::with_place(base::ExecutionId execution, Answer<Place> then) {
  struct Read {
    base::ExecutionId root{0};
    std::optional<base::Value> config;
    std::optional<ExecutionGround> ground;
    Origin origin = Origin::here;
  };
  const auto find = [execution](Transaction& transaction) {
    ledger::Root root = ledger::find_root(transaction, execution);
    return Read{.root = root.execution, .config = std::move(root.config)};
  };
  const auto read_files = [folder = around_.folder](std::expected<Read, Error>& read) {
    if (!read) return;
    read->ground = read_ground(folder, read->root);
    if (read->ground || !read->config) return;
    read->ground = decode_public(*read->config);
    read->origin = Origin::elsewhere;
    // Whatever is done of it here is to be tidied up when it is over.
    const bool came_by_remote = read->ground && read->ground->base_commit && read->ground->worktree.remote;
    if (!came_by_remote) return;
    try {
      open_guest_ground(folder, read->root);
    } catch (const Error& error) {
      read = std::unexpected(error);
    }
  };
  ask_store(around_.ledger, around_.loop, StoreSteps{.before = [] {}, .work = find, .after = read_files},
            [this, execution, then](std::expected<Read, Error> read) {
              if (!read) return then(std::unexpected(read.error()));
              if (!read->ground) {
                return then(std::unexpected(Error("execution.no_config", "the config that it was started with is lost",
                                                  "start it anew with `reeve flow run`")));
              }
              adapt(*read->ground, read->origin);
              then(Place(grounds_.put(execution, {grounds_.share(std::move(*read->ground)), read->root})));
            });
}

// Started elsewhere: what this machine has takes the place of what the starter had.
void Worker::adapt(ExecutionGround& ground, Origin origin) const {
  if (ground.environment.empty()) ground.environment = around_.environment;
  std::error_code error;
  const std::filesystem::path own = around_.folder.root.parent_path();
  const bool is_there = std::filesystem::is_directory(ground.project, error);
  // What came by a remote is worked on in a clone that is this daemon's own.
  const bool came_by_remote = origin == Origin::elsewhere && ground.base_commit && ground.worktree.remote;
  const bool wants_own = !is_there || came_by_remote;
  if (wants_own && own.filename() == ".reeve") ground.project = own.parent_path().string();
}

void Worker::add(const ledger::StartWork& work, const Place& place, const std::function<void(NodeWork&)>& go) {
  const Key key = key_of(work.claim);
  const ledger::Claim claim = work.claim;
  // It was cancelled while its ground was read; by now the node may be another claim's.
  const auto busy = busy_.find(key);
  if (busy == busy_.end() || busy->second != claim) return;
  NodeWork::Events events;
  events.over = [this, claim](NodeWork::Event event) { conclude(claim, std::move(event)); };
  events.lost = [this, claim] { forget(claim); };
  events.placed = [this, claim](std::function<void()> go) { give_room(claim, std::move(go)); };
  events.changed = [this, key] { note_change(key); };
  const auto node =
      std::make_shared<NodeWork>(helpers_, NodeWork::Start{work, place.ground, place.root}, std::move(events));
  held_.insert_or_assign(key, node);
  go(*node);
}

void Worker::forget(const ledger::Claim& claim) {
  const Key key = key_of(claim);
  const auto found = held_.find(key);
  if (found != held_.end() && found->second->claim() == claim) {
    std::erase_if(by_run_, [&](const auto& entry) { return entry.second == key; });
    held_.erase(found);
    preparing_.erase(key);
  }
  std::erase_if(placed_, [&](const Placed& placed) { return placed.claim == claim; });
  free_room(claim);
  use_room();
}

void Worker::see(const model::Run& run) {
  const auto found = by_run_.find(run.tool_run_id);
  if (found == by_run_.end()) return;
  // Later: the run's own functions tell it.
  around_.loop.post([this, run, key = found->second] {
    const auto work = held_.find(key);
    if (work == held_.end()) return;
    if (is_final(run.status)) by_run_.erase(run.tool_run_id);
    const std::shared_ptr<NodeWork> kept = work->second;
    kept->see(run);
  });
}

void Worker::conclude_now(const ledger::Claim& claim, engine::ExecutionEvent event) {
  auto shared = std::make_shared<engine::ExecutionEvent>(std::move(event));
  auto unit = ledger::make_conclude(around_.ledger.executions(), hands(0), claim, *shared,
                                    [this, claim, shared](const std::optional<Error>& error, StepResult& result) {
                                      around_.loop.post([this, claim, shared, error, result = std::move(result)] {
                                        see_concluded(claim, [shared](Transaction&) { return *shared; }, error, result);
                                      });
                                    });
  if (around_.ledger.submit(std::move(unit))) return;
  see_concluded(claim, [shared](Transaction&) { return *shared; }, Error("store.busy", "the store is busy"), {});
}

void Worker::conclude(const ledger::Claim& claim, NodeWork::Event event) {
  around_.crash_point("node.before_conclude");
  ask_store(
      around_.ledger, around_.loop,
      [claim, event, worker = hands(1), &ledger = around_.ledger](Transaction& transaction) {
        StepResult result;
        const engine::ExecutionEvent made = event(transaction);
        ledger.executions().conclude(transaction, claim, made, worker, result);
        return result;
      },
      [this, claim, event](std::expected<StepResult, Error> result) {
        around_.crash_point("node.after_conclude");
        see_concluded(claim, event, result ? std::nullopt : std::optional(result.error()),
                      result ? *result : StepResult());
      });
}

// The store is out of reach.
void Worker::later(std::function<void()> again) {
  const std::uint64_t number = next_pause_++;
  pauses_[number] = around_.loop.at(around_.loop.now() + store_pause, [this, number, again = std::move(again)] {
    around_.loop.post([this, number] { pauses_.erase(number); });
    again();
  });
}

void Worker::see_concluded(const ledger::Claim& claim, const NodeWork::Event& event, const std::optional<Error>& error,
                           const StepResult& result) {
  die_of_doubt(error);
  // The store did not take it, so that it has not happened: said again until it does.
  if (error && error->code() != "execution.not_found") {
    around_.complain(
        fmt::format("the end of a node of {} cannot be stored: {}", claim.execution.text(), error->message()));
    return later([this, claim, event] { conclude(claim, event); });
  }
  // Its place is free before what follows asks for one.
  const auto found = held_.find(key_of(claim));
  const bool is_its = found != held_.end() && found->second->claim() == claim;
  if (is_its) {
    held_.erase(found);
    std::erase_if(by_run_, [&](const auto& entry) { return entry.second == key_of(claim); });
    preparing_.erase(key_of(claim));
  }
  free_room(claim);
  take(result);
  use_room();
}

void Worker::drop(const ledger::CancelWork& cancel) {
  const Key key = key_of(cancel.claim);
  std::erase_if(waiting_, [&](const ledger::StartWork& work) { return work.claim == cancel.claim; });
  const auto found = held_.find(key);
  if (found != held_.end() && found->second->claim() == cancel.claim) {
    const std::shared_ptr<NodeWork> work = found->second;
    ++ending_[work->root()];
    work->cancel("its node was cancelled", [this, root = work->root()] { see_ended(root); });
  } else if (found == held_.end()) {
    // Another daemon may hold it.
    tell_others();
  }
  forget(cancel.claim);
}

}  // namespace reeve::runtime
