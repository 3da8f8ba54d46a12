#include <algorithm>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "ledger/claims.h"
#include "ledger/tool_calls.h"
#include "os/unix_socket.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/attempt_traces.h"
#include "runtime/runs/leftovers.h"
#include "runtime/runs/run_files.h"
#include "runtime/runs/supervisor.h"
#include "store/runs.h"

// RUN-13: reconciles each run that the store believes to be alive, following the table in docs/ARCHITECTURE.md.
namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using model::Run;

constexpr base::Milliseconds longest_kill_pause = std::chrono::minutes(1);
// How often `on_interrupted: rerun` restarts a run that is lost each time; then a person is asked.
constexpr int max_reruns = 3;
constexpr auto look_pause = std::chrono::milliseconds(50);
constexpr base::Milliseconds start_pause = std::chrono::milliseconds(500);
constexpr base::Milliseconds max_start_pause = std::chrono::minutes(1);

// Doubles each time.
base::Milliseconds pause_after(int starts) {
  base::Milliseconds pause = start_pause;
  for (int i = 1; i < starts && pause < max_start_pause; ++i) pause *= 2;
  return std::min(pause, max_start_pause);
}

// The last question, which may be open, or answered and perhaps not typed.
std::optional<store::ApprovalRow> find_last_question(ledger::Transaction& transaction,
                                                     const ledger::LiveAttempt& attempt) {
  std::optional<store::ApprovalRow> found;
  transaction.session().query(store::Sql::approval_last, {{"run", attempt.run.number()}},
                              [&](const store::Row& row) { found = store::read_approval(row); });
  if (!found || found->approval.attempt != attempt.claim.attempt) return std::nullopt;
  // A plain SQL update counts only after it was validated.
  if (!found->is_settled) found->approval.status = model::ApprovalStatus::pending;
  return found;
}

}  // namespace

Supervisor::Supervisor(RuntimeContext& context, KillLeftovers kill)
    : context_(context),
      stdin_(context, {.grew =
                           [this](base::RunId run) {
                             const auto place = stdin_.find(run);
                             LiveRun* live = find(run);
                             if (live != nullptr && place) live->grow_input({place->position, place->has_ended});
                           },
                       .broke_off = [this](base::RunId run) { break_off(run); }}),
      kill_leftovers_(kill ? std::move(kill) : kill_leftovers) {}

std::vector<Supervisor::Found> Supervisor::find_attempts(ledger::Transaction& transaction,
                                                         std::optional<base::RunId> only) {
  std::vector<Found> all;
  for (ledger::LiveAttempt& attempt : ledger::find_live_attempts(transaction.session())) {
    if (only && attempt.run != *only) continue;
    auto row = store::find_run(transaction.session(), attempt.run);
    if (!row) continue;
    Found& found = all.emplace_back(Found{std::move(attempt), std::move(row->run), {}, {}});
    found.question = find_last_question(transaction, found.attempt);
    found.is_orphan = ledger::is_orphan(transaction, found.attempt.run);
  }
  return all;
}

// What waits is read in the transaction that takes the attempt over: an answer that is stored later finds it live.
std::optional<Supervisor::Found> Supervisor::adopt(ledger::Transaction& transaction, Found found, std::int64_t daemon) {
  const base::RunId run = found.attempt.run;
  const auto epoch = ledger::adopt_attempt(transaction, run, found.attempt.claim, daemon);
  if (!epoch) return std::nullopt;
  found.attempt.claim.epoch = *epoch;
  found.record = store::find_run(transaction.session(), run).value().run;
  found.question = find_last_question(transaction, found.attempt);
  const auto waiting = ledger::find_waiting_calls(transaction.session(), run, found.attempt.claim.attempt);
  found.waiting_calls = {waiting.begin(), waiting.end()};
  return found;
}

void Supervisor::recover(std::function<void()> done) {
  ask_store(
      context_.ledger, context_.loop, [](ledger::Transaction& transaction) { return find_attempts(transaction, {}); },
      [this, done](std::expected<std::vector<Found>, Error> all) {
        if (!all) throw all.error();
        auto left = std::make_shared<std::size_t>(1);
        const auto one_less = [left, done] {
          if (--*left == 0) done();
        };
        for (Found& found : *all) {
          // Runs of other hosts belong to their daemons, or are taken over when the lease expires.
          if (found.attempt.keeper.host != context_.host) continue;
          ++*left;
          recover_one(std::move(found), one_less);
          context_.crash_point("recovery.after_each_run");
        }
        restore_queue(one_less);
      });
}

LiveRun::Start Supervisor::make_start(const Found& found, RunPlan plan) const {
  LiveRun::Start start{.record = found.record,
                       .claim = found.attempt.claim,
                       .nonce = found.attempt.nonce,
                       .plan = std::move(plan),
                       .keeper_pid = static_cast<pid_t>(found.attempt.keeper.pid)};
  if (found.attempt.deadline_ms) {
    start.deadline = base::BootTime(base::Milliseconds(*found.attempt.deadline_ms));
  }
  start.out_offset = static_cast<std::uint64_t>(found.attempt.out_offset);
  start.err_offset = static_cast<std::uint64_t>(found.attempt.err_offset);
  start.has_failure_marker = found.attempt.has_failure_marker;
  start.has_result = found.attempt.has_result;
  start.ending = decode_ending(found.attempt.ending);
  if (found.attempt.time_left_ms) start.time_left = base::Milliseconds(*found.attempt.time_left_ms);
  if (found.question) {
    start.question = found.question->approval;
    start.prompt = found.question->prompt;
  }
  start.resumption = found.resumption;
  start.waiting_calls = found.waiting_calls;
  return start;
}

engine::RecoveryFacts Supervisor::recovery_facts(const Found& found, const AttemptTraces& traces) const {
  const auto starts = starts_.find(found.attempt.run);
  return {.is_same_boot = traces.is_same_boot,
          .is_held = traces.is_held,
          .is_connected = traces.socket.has_value(),
          .is_marked = traces.is_marked,
          .has_exit = traces.exit.has_value(),
          .must_end = found.attempt.ending.has_value() || found.is_orphan,
          .has_launch = traces.launch.has_value(),
          .starts = starts != starts_.end() ? starts->second : 0,
          .max_starts = context_.supervision.resume_attempts,
          .has_paused = found.has_paused};
}

void Supervisor::recover_one(Found found, std::function<void()> done) {
  auto place = find_place();
  if (!place) {
    done();
    return adopt_later(std::move(found));
  }
  unadopted_.erase(found.attempt.run);
  settle_files(context_.folder.runs().string(), found.attempt.run, found.attempt.claim.attempt, found.attempt.nonce);
  AttemptTraces traces;
  try {
    traces = read_traces(context_, found.attempt);
  } catch (const Error& error) {
    // No descriptors, or the disk does not respond: nothing is decided without its files.
    context_.log_warning(fmt::format("cannot inspect {}: {}", found.attempt.run.text(), error.message()));
    done();
    const base::RunId run = found.attempt.run;
    return try_later(std::move(found), [this, run] { tell_followers(run); });
  }
  auto plan = traces.launch ? read_plan(*traces.launch) : std::nullopt;
  // Without the launch file it cannot be continued, but its end can still be recorded.
  if (!plan) plan.emplace(RunPlan{.tool = found.record.tool_name, .argv = found.record.argv, .cwd = found.record.cwd});

  switch (engine::decide_recovery(recovery_facts(found, traces))) {
    case engine::RecoveryAction::look_again:
      look_again(std::move(found), traces.socket ? std::move(*traces.socket) : os::Fd(), std::move(done));
      return;
    case engine::RecoveryAction::finish_ending:
      end_leftovers(std::move(found), std::move(done), &Supervisor::finish_ending);
      return;
    case engine::RecoveryAction::give_up:
      give_up(std::move(found), std::move(done));
      return;
    case engine::RecoveryAction::pause_and_start: {
      found.has_paused = true;
      const int starts = starts_[found.attempt.run];
      try_later(std::move(found), std::move(done), pause_after(starts));
      return;
    }
    case engine::RecoveryAction::start:
      place.reset();
      start_again(std::move(found), std::move(*plan), std::move(done));
      return;
    case engine::RecoveryAction::interrupt:
      place.reset();
      end_leftovers(std::move(found), std::move(done), &Supervisor::interrupt);
      return;
    case engine::RecoveryAction::adopt:
    case engine::RecoveryAction::finish:
      break;
  }
  const auto exit = traces.exit;
  auto kept = std::make_shared<std::optional<os::Fd>>(std::move(traces.socket));
  ask_store(
      context_.ledger, context_.loop,
      [found, daemon = context_.daemon](ledger::Transaction& transaction) { return adopt(transaction, found, daemon); },
      [this, found, plan, kept, exit, done, place](std::expected<std::optional<Found>, Error> adopted) mutable {
        if (!adopted) return try_later(found, done);
        if (*adopted) {
          found = std::move(**adopted);
          LiveRun& live = add(make_start(found, std::move(*plan)));
          if (exit) {
            live.conclude(*exit);
          } else {
            live.adopt(std::move(**kept));
          }
        }
        done();
      });
}

// No descriptors to adopt it: its keeper holds it and its output collects in files until another run ends.
void Supervisor::adopt_later(Found found) {
  const base::RunId run = found.attempt.run;
  if (unadopted_.emplace(run, static_cast<pid_t>(found.attempt.keeper.pid)).second) {
    context_.log_warning(fmt::format("cannot adopt {} yet: {}", run.text(),
                                     no_descriptors(context_.descriptors, count_places()).message()));
  }
  if (context_.lease) {
    // Otherwise the keeper would end its tree, as if its daemon were gone.
    const auto socket = os::connect_to(endpoint_of(context_, found.attempt.keeper) + ".sock", os::SocketKind::packets);
    const base::BootTime until = context_.loop.now() + context_.supervision.adopt_grace;
    const std::string words = keeper::encode(keeper::Lease{until.time_since_epoch().count()});
    if (socket) ::send(socket->get(), words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  try_later(std::move(found), [this, run] { tell_followers(run); });
}

// The keeper is alive but has not started the tool. Either it never got the order from the old daemon, and exits; or it
// did, and its marker will appear.
void Supervisor::look_again(Found found, os::Fd socket, std::function<void()> done) {
  // Recovery does not wait for the keeper, which may be stopped.
  done();
  auto is_posted = std::make_shared<bool>(false);
  const auto again = [this, found, is_posted] {
    if (std::exchange(*is_posted, true)) return;
    context_.loop.post([this, found] {
      lookers_.erase(found.attempt.run);
      recover_anew(found, [this, run = found.attempt.run] { tell_followers(run); });
    });
  };
  if (!socket) {
    // Its socket is gone or full and its lock is taken: the keeper is exiting or busy.
    after(look_pause, again);
    return;
  }
  KeeperLink::Events events;
  events.message = [again](const keeper::FromKeeper& message) {
    if (std::holds_alternative<keeper::Started>(message)) again();
  };
  events.gone = again;
  lookers_.insert_or_assign(found.attempt.run,
                            context_.loop.make<KeeperLink>(context_.loop, std::move(socket), std::move(events)));
}

// RUN-13, GRF-13: the run began, and its keeper ended it for lack of a daemon, which is not a failure of the tool.
void Supervisor::take_given_up(base::RunId run) {
  const LiveRun* live = find(run);
  if (live == nullptr) return;
  const ledger::AttemptClaim claim = live->claim();
  context_.log.close(run);
  remove(run);
  ask_store(
      context_.ledger, context_.loop,
      [run](ledger::Transaction& transaction) { return find_attempts(transaction, run); },
      [this, run, claim](std::expected<std::vector<Found>, Error> found) {
        // The next daemon, which starts at once, will read it.
        if (!found) throw found.error();
        for (Found& one : *found) {
          const bool is_its = one.attempt.claim.attempt == claim.attempt && one.attempt.claim.epoch == claim.epoch;
          if (!is_its) continue;
          const auto told = [this, run] { tell_followers(run); };
          const Act act = one.is_orphan ? &Supervisor::finish_ending : &Supervisor::interrupt;
          end_leftovers(std::move(one), told, act);
        }
      });
}

// RUN-13: nothing is started next to processes that may still be alive, so the run waits for their end.
void Supervisor::end_leftovers(Found found, std::function<void()> done, Act act, base::Milliseconds pause) {
  const std::string& boot = found.attempt.keeper.boot_id;
  if (boot != context_.boot_id && !boot.empty()) return (this->*act)(std::move(found), std::move(done));
  const ledger::KeeperIdentity& keeper = found.attempt.keeper;
  const LostAttempt lost_attempt{
      .nonce = found.attempt.nonce,
      .attempt_folder = attempt_folder(context_, found.attempt.run, found.attempt.claim.attempt),
      .keeper = {static_cast<pid_t>(keeper.pid), static_cast<std::uint64_t>(keeper.started)}};
  struct Pending {
    Found found;
    std::function<void()> done;
  };
  std::shared_ptr<Pending> pending = context_.loop.make<Pending>(std::move(found), std::move(done));
  const auto go_on = [this, act, pause](Pending& lost, const std::vector<std::string>& left) {
    if (left.empty()) return (this->*act)(std::move(lost.found), std::move(lost.done));
    tell_leftovers(lost.found, left);
    // Recovery does not wait for processes that cannot be killed.
    lost.done();
    after(pause, [this, found = lost.found, act, pause] {
      const auto told = [this, run = found.attempt.run] { tell_followers(run); };
      end_leftovers(found, told, act, std::min(2 * pause, longest_kill_pause));
    });
  };
  killer_.submit(
      [&loop = context_.loop, kill = kill_leftovers_, lost_attempt, pending = std::move(pending), go_on]() mutable {
        std::vector<std::string> left;
        try {
          left = kill(lost_attempt);
        } catch (const Error& error) {
          left.push_back(error.message());
        }
        loop.post([pending = std::move(pending), left = std::move(left), go_on] { go_on(*pending, left); });
      });
}

void Supervisor::tell_leftovers(const Found& found, const std::vector<std::string>& left) {
  constexpr std::size_t max_named = 10;
  std::vector<std::string> named(left.begin(),
                                 left.begin() + static_cast<std::ptrdiff_t>(std::min(max_named, left.size())));
  if (named.size() < left.size()) named.emplace_back("…");
  const std::string reason = fmt::format("interrupted; waiting until the processes it left behind are gone: {}",
                                         base::visible(base::replace_invalid_utf8(base::join(named, ", "))));
  context_.log_warning(fmt::format("{}: {}", found.attempt.run.text(), reason));
  ask_store(
      context_.ledger, context_.loop,
      [run = found.attempt.run, claim = found.attempt.claim, reason](ledger::Transaction& transaction) {
        return ledger::warn_of_run(transaction, run, claim, reason);
      },
      [](const std::expected<bool, Error>&) {});
}

void Supervisor::interrupt(Found found, std::function<void()> done) {
  std::optional<std::string> launch;
  try {
    launch = read_record(run_folder(context_, found.attempt.run) + "/" + std::string(keeper::launch_name),
                         keeper::launch_bytes);
  } catch (const Error&) {
    return try_later(std::move(found), std::move(done));
  }
  auto plan = launch ? read_plan(*launch) : std::nullopt;
  auto policy = plan ? plan->profile.on_interrupted : model::OnInterrupted::fail;
  // Asking would be pointless.
  const auto refusal = plan && plan->has_stdin ? stdin_.find_rerun_refusal(found.attempt.run) : std::nullopt;
  if (refusal) policy = model::OnInterrupted::fail;
  // The attempt had ended its work: what it reported decides, and a next one continues with its changes (RUN-18).
  const bool has_ended = found.attempt.reported && policy != model::OnInterrupted::fail;
  if (has_ended) return settle_interruption(std::move(found), std::move(plan), policy, std::move(done));
  // Its node fails as well, and sets its changes aside.
  if (policy == model::OnInterrupted::fail) {
    return settle_interruption(std::move(found), std::move(plan), policy, std::move(done));
  }
  const auto go_on = [this, found, plan, policy, done](const std::optional<Error>& error) {
    if (error && error->is_in(base::ErrorArea::store)) return try_later(found, done);
    if (error) {
      context_.log_warning(fmt::format("{} is not run again: its changes could not be set aside: {}",
                                       found.attempt.run.text(), error->message()));
    }
    settle_interruption(found, plan, error ? model::OnInterrupted::fail : policy, done);
  };
  context_.inbox.post(AttemptLost{found.record, go_on});
}

void Supervisor::settle_interruption(Found found, std::optional<RunPlan> plan, model::OnInterrupted policy,
                                     std::function<void()> done) {
  // What a person paused does not start again by itself.
  const bool may_rerun =
      found.attempt.claim.attempt <= max_reruns && !found.record.paused_at && !found.attempt.reported;
  if (plan && policy == model::OnInterrupted::rerun && may_rerun) {
    rerun(found, std::move(*plan), std::move(done));
    return;
  }
  // A run that is interrupted repeatedly becomes a question.
  if (policy == model::OnInterrupted::rerun) policy = model::OnInterrupted::ask;
  ledger::QuestionFrame frame{.tool = found.record.tool_name};
  if (plan) frame = make_question_frame(context_, found.record, *plan, true);
  const auto refusal = plan && plan->has_stdin ? stdin_.find_rerun_refusal(found.attempt.run) : std::nullopt;
  std::string reason = "interrupted after it began";
  if (refusal) reason += "; it is not run again: " + *refusal;
  ask_store(
      context_.ledger, context_.loop,
      [found, policy, frame, reason](ledger::Transaction& transaction) {
        return store_interruption(transaction, found.attempt.run, found.attempt.claim, frame,
                                  Interruption(policy, reason));
      },
      [this, found, done](std::expected<StoredEnd, Error> stored) {
        if (!stored) return try_later(found, done);
        if (stored->run) tell_changed(*stored->run);
        if (stored->asked) context_.inbox.post(QuestionAsked{{.approval_id = *stored->asked}});
        done();
      });
}

// The run never began and repeated starts failed.
void Supervisor::give_up(Found found, std::function<void()> done) {
  const int starts = starts_[found.attempt.run];
  std::string reason = "it could not be started: its keeper exited before the tool began";
  if (starts > 0) reason += fmt::format("; also after {} {}", starts, starts == 1 ? "restart" : "restarts");
  ask_store(
      context_.ledger, context_.loop,
      [found, reason](ledger::Transaction& transaction) {
        const ledger::RunMove move{.to = model::RunStatus::failed, .reason = reason};
        return ledger::move_run(transaction, found.attempt.run, move, found.attempt.claim);
      },
      [this, found, done](std::expected<std::optional<Run>, Error> stored) {
        if (!stored) return try_later(found, done);
        starts_.erase(found.attempt.run);
        if (*stored) tell_changed(**stored);
        done();
      });
}

// The store refused: try again later.
void Supervisor::try_later(Found found, std::function<void()> done, base::Milliseconds pause) {
  after(pause, [this, found, done] { recover_anew(found, done); });
}

// Reads the store again, because the run's node may have ended meanwhile.
void Supervisor::recover_anew(const Found& found, std::function<void()> done) {
  ask_store(
      context_.ledger, context_.loop,
      [run = found.attempt.run](ledger::Transaction& transaction) { return find_attempts(transaction, run); },
      [this, found, done](std::expected<std::vector<Found>, Error> now) {
        if (!now) return try_later(found, done);
        if (now->empty() || now->front().attempt.keeper.host != context_.host) return done();
        now->front().has_paused = found.has_paused;
        recover_one(std::move(now->front()), done);
      });
}

void Supervisor::finish_ending(Found found, std::function<void()> done) {
  const auto ending = decode_ending(found.attempt.ending);
  ledger::RunMove move{.to = model::RunStatus::failed, .reason = "interrupted while it was being ended"};
  if (found.is_orphan) move = {.to = model::RunStatus::cancelled, .reason = "cancelled by reeve: its node has ended"};
  if (ending) {
    move.to = ending->status;
    move.reason = ending->reason.empty() ? std::nullopt : std::optional(ending->reason);
    move.outcome = ending->outcome;
  }
  if (found.attempt.reported) mark_ungated(move, *found.attempt.reported);
  ask_store(
      context_.ledger, context_.loop,
      [run = found.attempt.run, claim = found.attempt.claim, move](ledger::Transaction& transaction) {
        return ledger::move_run(transaction, run, move, claim);
      },
      [this, found, done](std::expected<std::optional<Run>, Error> stored) {
        if (!stored) return try_later(found, done);
        if (*stored) tell_changed(**stored);
        done();
      });
}

}  // namespace reeve::runtime
