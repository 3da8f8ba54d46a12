#include <utility>

#include <fmt/format.h>

#include "os/beneath.h"
#include "os/cgroup.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/fingerprint_mismatch.h"
#include "runtime/runs/launch_fingerprint.h"
#include "runtime/runs/run_files.h"
#include "runtime/runs/supervisor.h"
#include "store/runs.h"

// RUN-13, APR-7: restarts runs that provably never began, and lost runs that may be repeated.
namespace reeve::runtime {

using base::Error;
using base::ErrorCode;
using model::Run;

namespace {

struct Reassigned {
  std::optional<std::int64_t> epoch;
  std::optional<Resumption> resumption;
  // Set if what would run has changed since the grant was used: the run, and the new question (APR-10).
  std::optional<Run> waiting;
  std::optional<base::ApprovalId> asked;
};

}  // namespace

void Supervisor::start_again(Found found, RunPlan plan, std::function<void()> done) {
  // The control group was created before the tool could start.
  if (context_.cgroup_parent) os::Cgroup::at(*context_.cgroup_parent, "reeve-" + found.attempt.nonce).remove();
  auto shared = std::make_shared<RunPlan>(std::move(plan));
  take_keeper([this, found, shared, done](std::expected<IdleKeeper, Error> keeper) {
    const bool has_files = settle_files(context_.folder.runs().string(), found.attempt.run, found.attempt.claim.attempt,
                                        found.attempt.nonce);
    if (!keeper || !has_files) {
      // Counted, so that a person is asked if keepers never start or the disk stays full. Missing descriptors do not
      // count: they become free when another run ends.
      if (keeper || !keeper.error().is(ErrorCode::run_no_descriptors)) ++starts_[found.attempt.run];
      return try_later(found, done);
    }
    auto kept = std::make_shared<IdleKeeper>(std::move(*keeper));
    const auto deadline = deadline_for(*shared);
    const ledger::AttemptStart start = make_attempt(kept->identity, deadline);
    const std::string folder = run_folder(context_, found.attempt.run);
    const engine::LaunchFingerprint fingerprint = take_fingerprint(*shared, folder);
    const ledger::QuestionFrame frame = make_question_frame(context_, found.record, *shared, false);
    const auto reassign = [found, start, shared, fingerprint, frame,
                           folder](ledger::Transaction& transaction) -> Reassigned {
      const base::RunId run = found.attempt.run;
      const auto grant = find_grant(transaction, run, found.attempt.claim.attempt);
      if (grant && grant->digest && *grant->digest != engine::digest_of(fingerprint)) {
        const ledger::RunMove left{
            .to = model::RunStatus::waiting_approval, .outcome = model::Outcome::asked, .ends_attempt = true};
        Reassigned changed{.waiting = ledger::move_run(transaction, run, left, found.attempt.claim)};
        if (changed.waiting) {
          changed.asked = ask_anew(transaction, *changed.waiting, frame, {folder, grant->digest, fingerprint});
        }
        return changed;
      }
      const auto epoch = ledger::reassign_attempt(transaction, run, found.attempt.claim, start);
      const auto& words = shared->profile.resume_args;
      return {.epoch = epoch, .resumption = find_resumption(transaction, run, found.attempt.claim.attempt, words)};
    };
    const auto keep = [folder, fingerprint](const std::expected<Reassigned, Error>& stored) {
      if (stored && stored->asked) save_fingerprint(folder, engine::digest_of(fingerprint), fingerprint);
    };
    ask_store(context_.ledger, context_.loop, StoreSteps{.before = [] {}, .work = reassign, .after = keep},
              [this, found, shared, kept, start, deadline, done](std::expected<Reassigned, Error> stored) mutable {
                if (!stored) return try_later(found, done);
                if (stored->waiting) tell_changed(*stored->waiting);
                if (stored->asked) context_.inbox.post(QuestionAsked{{.approval_id = *stored->asked}});
                if (stored->epoch) {
                  ++starts_[found.attempt.run];
                  found.attempt.claim.epoch = *stored->epoch;
                  found.resumption = std::move(stored->resumption);
                  found.attempt.nonce = start.nonce;
                  found.attempt.keeper = kept->identity;
                  LiveRun::Start live = make_start(found, std::move(*shared));
                  live.deadline = deadline;
                  add(std::move(live)).begin(std::move(kept->link));
                }
                done();
              });
  });
}

void Supervisor::rerun(const Found& found, RunPlan plan, std::function<void()> done) {
  auto shared = std::make_shared<RunPlan>(std::move(plan));
  take_keeper([this, found, shared, done](std::expected<IdleKeeper, Error> keeper) {
    if (!keeper) return try_later(found, done);
    auto kept = std::make_shared<IdleKeeper>(std::move(*keeper));
    const auto deadline = deadline_for(*shared);
    const ledger::AttemptStart start = make_attempt(kept->identity, deadline);
    const std::string next = std::to_string(found.attempt.claim.attempt + 1);
    // The disk is full or no descriptor is free: try later.
    try {
      if (!os::Folder::open(run_folder(context_, found.attempt.run)).make_folder(next)) return try_later(found, done);
    } catch (const Error&) {
      return try_later(found, done);
    }
    ask_store(
        context_.ledger, context_.loop,
        [found, start](ledger::Transaction& transaction) {
          return ledger::rerun_attempt(transaction, found.attempt.run, found.attempt.claim, start);
        },
        [this, found, shared, kept, start, deadline, done](std::expected<std::optional<int>, Error> attempt) {
          if (!attempt) return try_later(found, done);
          if (*attempt) {
            Run record = found.record;
            record.attempt = **attempt;
            record.status = model::RunStatus::running;
            LiveRun& live = add({.record = std::move(record),
                                 .claim = {**attempt, start.epoch},
                                 .nonce = start.nonce,
                                 .plan = *shared,
                                 .keeper_pid = static_cast<pid_t>(kept->identity.pid),
                                 .deadline = deadline});
            live.begin(std::move(kept->link));
          }
          done();
        });
  });
}

void Supervisor::take_over(const Run& run, RunPlan plan, std::function<void()> done) {
  struct Taken {
    bool is_over = false;
    int attempt = 0;
    std::vector<Found> found;
    std::optional<Run> limited;
  };
  const base::RunId id = run.tool_run_id;
  const std::string runs = context_.folder.runs().string();
  const auto take = [id, daemon = context_.daemon, host = context_.host](ledger::Transaction& transaction) {
    const store::RunRow now = ledger::lock_run(transaction, id);
    if (is_final(now.run.status)) return Taken{.is_over = true};
    ledger::rehost_attempt(transaction, id, now.run.attempt, daemon, host);
    Taken taken{.attempt = now.run.attempt, .found = find_attempts(transaction, id)};
    if (now.run.not_before) taken.limited = now.run;
    return taken;
  };
  ask_store(context_.ledger, context_.loop,
            StoreSteps{.before = [runs, id, plan = std::move(plan)] { write_launch(runs, id, plan); },
                       .work = take,
                       .after =
                           [runs, id](const std::expected<Taken, Error>& taken) {
                             if (taken && !taken->is_over) settle_files(runs, id, taken->attempt, "");
                           }},
            [this, id, done](std::expected<Taken, Error> taken) {
              if (!taken) {
                context_.log_warning(fmt::format("cannot take over {}: {}", id.text(), taken.error().message()));
                return done();
              }
              if (taken->is_over) clean_up(id);
              // It continues here when its usage limit ends (RUN-18).
              if (taken->limited) note_limited(*taken->limited);
              // An attempt that exited with a question has nothing to recover: its answer finds the launch file here.
              if (taken->found.empty()) return done();
              for (Found& one : taken->found) recover_one(std::move(one), done);
            });
}

}  // namespace reeve::runtime
