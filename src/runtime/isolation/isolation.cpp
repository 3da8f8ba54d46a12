#include "runtime/isolation/isolation.h"

#include <atomic>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "ledger/ledger.h"
#include "runtime/inbox/inbox.h"
#include "runtime/isolation/apply_schedule.h"
#include "runtime/isolation/attempt.h"
#include "runtime/isolation/git_operations.h"
#include "runtime/isolation/git_thread.h"
#include "runtime/isolation/project_survey.h"
#include "runtime/isolation/setup_threads.h"
#include "runtime/isolation/worktree_requests.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/settings/execution_settings.h"

namespace reeve::runtime {

using base::Error;

namespace {

enum class BranchKind { local, shared };

std::shared_ptr<const base::SecretSet> find_secrets(const RuntimeContext& context, base::ExecutionId root) {
  const auto found = read_settings(context.folder, root);
  if (!found) return nullptr;
  const IsolationSettings settings = make_isolation_settings(*found);
  return make_secrets(settings.environment, settings.secrets);
}

std::string find_ssh_agent(const RuntimeContext& context, base::ExecutionId root) {
  const auto found = read_settings(context.folder, root);
  const auto& environment = found ? found->environment : context.environment;
  const auto agent = environment.find("SSH_AUTH_SOCK");
  return agent != environment.end() ? agent->second : "";
}

IsolationContext make_context(RuntimeContext& context, BranchKind kind, GitThread& thread) {
  return {.ledger = context.ledger,
          .host = context.host,
          // Each thread has its own scratch folder.
          .scratch = context.folder.root / (kind == BranchKind::shared ? "git-shared" : "git"),
          .expiry = context.supervision.approval_expiry.question,
          .find_secrets = [&context](base::ExecutionId root) { return find_secrets(context, root); },
          .is_shared = kind == BranchKind::shared,
          .find_ssh_agent = [&context](base::ExecutionId root) { return find_ssh_agent(context, root); },
          .gives_up = [&thread] { return thread.is_stopping(); },
          .pause = [&thread](base::Milliseconds pause) { thread.pause(pause); },
          .log_warning = [&context](const std::string& text) { context.log_warning(text); },
          .crash_point = context.crash_point};
}

}  // namespace

// Belongs to its git thread; the loop uses only `thread`, `setups.cancel()`, `is_busy()` and `is_polling`.
struct Isolation::Lane {
  Lane(RuntimeContext& runtime, BranchKind kind, ApplySchedule::Hooks hooks)
      : context(runtime),
        git(make_context(runtime, kind, thread)),
        setups([this](GitThread::Work work) { thread.push(std::move(work)); }),
        requests(git.nodes, setups),
        applies(runtime, git, std::move(hooks)) {}
  ~Lane() {
    thread.stop();
    setups.stop();
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  bool is_busy() const noexcept { return !thread.is_idle() || !setups.is_idle() || !applies.queue().is_empty(); }
  void begin(const std::set<base::ExecutionId>& alive);
  void close(base::ExecutionId root, const Answer<bool>& answer);

  RuntimeContext& context;
  GitThread thread;
  GitOperations git;
  SetupThreads setups;
  WorktreeRequests requests;
  ApplySchedule applies;
  // Whether a poll is waiting for the thread.
  std::atomic<bool> is_polling = false;
};

void Isolation::Lane::begin(const std::set<base::ExecutionId>& alive) {
  applies.resume();
  attempt_or_log(context.log_warning, "cannot clean up after ended executions", [&] {
    for (const base::ExecutionId root : git.cleanup.find_unclosed()) {
      if (alive.contains(root) || !setups.is_free(root) || applies.queue().contains(root)) continue;
      attempt_or_log(context.log_warning, "cannot remove the worktrees of " + root.text(),
                     [&] { git.cleanup.close(root); });
    }
  });
}

// The execution has ended, so its pending setups are cancelled.
void Isolation::Lane::close(base::ExecutionId root, const Answer<bool>& answer) {
  requests.refuse_all(root);
  const auto status = attempt([&] { return git.cleanup.find_status(root); });
  if (status && *status == model::ExecutionStatus::cancelled) applies.queue().cancel(root);
  // Gates of a pending apply still use its worktrees.
  applies.queue().when_free(root, [this, root, answer] {
    setups.cancel_all(root);
    setups.when_free(root, [this, root, answer] {
      requests.refuse_all(root);
      answer(git.cleanup.try_close(root));
    });
  });
}

Isolation::Isolation(RuntimeContext& context)
    : context_(context),
      gates_{.ask =
                 [](const GateCheck& check, const Answer<GateVerdict>& answer) {
                   answer(GateVerdict{fmt::format("nothing runs the gate {}", check.gates.front())});
                 },
             .cancel = [](const std::string&) {}} {
  const auto make_lane = [this](BranchKind kind, std::unique_ptr<Lane>& lane) {
    lane = std::make_unique<Lane>(
        context_, kind,
        ApplySchedule::Hooks{
            .ask_gates = [this, &lane](const GateCheck& check,
                                       auto answer) { ask_gates(*lane, check, std::move(answer)); },
            .cancel_gates = [this](const std::string& name) { post([this, name] { gates_.cancel(name); }); },
            .asked = [this](const model::Approval& approval) { context_.inbox.post(QuestionAsked{approval}); }});
  };
  make_lane(BranchKind::local, local_);
  make_lane(BranchKind::shared, shared_);
}

Isolation::~Isolation() { *is_alive_ = false; }

void Isolation::post(std::function<void()> task) {
  context_.loop.post([is_alive = is_alive_, task = std::move(task)] {
    if (*is_alive) task();
  });
}

template <class T>
Isolation::Answer<T> Isolation::deliver_on_loop(Answer<T> answer) {
  std::shared_ptr<Answer<T>> kept = context_.loop.make<Answer<T>>(std::move(answer));
  return
      [this, kept](std::expected<T, Error> result) { post([kept, result = std::move(result)] { (*kept)(result); }); };
}

template <class T, class Work>
void Isolation::perform(Lane& lane, Answer<T> answer, Work work) {
  const Answer<T> reply = deliver_on_loop(std::move(answer));
  const auto accepted = lane.thread.submit([&lane, reply, work = std::move(work)] {
    if constexpr (std::is_invocable_v<const Work&, Lane&, const Answer<T>&>) {
      work(lane, reply);
    } else {
      reply(attempt([&] { return work(lane.git); }));
    }
  });
  if (!accepted) reply(std::unexpected(accepted.error()));
}

void Isolation::ask_gates(Lane& lane, const GateCheck& check, Answer<GateVerdict> answer) {
  post([this, &lane, check, answer = std::move(answer)] {
    gates_.ask(check, [&lane, answer](const std::expected<GateVerdict, Error>& verdict) {
      lane.thread.push([answer, verdict] { answer(verdict); });
    });
  });
}

void Isolation::survey(std::string project, std::optional<RemoteOptions> remote, Answer<Survey> answer) {
  Lane& lane = remote ? *shared_ : *local_;
  perform<Survey>(lane, std::move(answer),
                  [project = std::move(project), remote = std::move(remote)](GitOperations& git) {
                    Survey survey = survey_project(git.context, project);
                    if (survey.base_commit && remote) check_remote(git.context, project, *remote);
                    return survey;
                  });
}

void Isolation::share(const IsolationSettings& settings, base::ExecutionId root) {
  perform<void>(
      *shared_, [](const std::expected<void, Error>&) {},
      [this, settings, root](GitOperations& git) {
        attempt_or_log(context_.log_warning, root.text() + " is not pushed yet", [&] {
          ExecutionBranch branch = ExecutionBranch::open(git.context, settings, root);
          branch.publish(branch.row().tip);
        });
      });
}

void Isolation::migrate(const IsolationSettings& settings, base::ExecutionId root, Answer<std::string> answer) {
  perform<std::string>(*shared_, std::move(answer), [settings, root](GitOperations& git) {
    return ExecutionBranch::migrate(git.context, settings, root);
  });
}

void Isolation::prepare(const IsolationSettings& settings, NodeAttemptId place, Answer<std::string> answer) {
  if (!settings.base_commit) return post([answer, project = settings.project] { answer(project); });
  perform<std::string>(lane_of(settings), std::move(answer),
                       [settings, place = std::move(place)](Lane& lane, const Answer<std::string>& reply) {
                         lane.requests.prepare({settings, place, reply});
                       });
}

void Isolation::collect(const IsolationSettings& settings, NodeAttemptId place, Answer<Collected> answer) {
  if (!settings.base_commit) return post([answer] { answer(Collected{}); });
  perform<Collected>(lane_of(settings), std::move(answer), [settings, place = std::move(place)](GitOperations& git) {
    return git.nodes.collect(settings, place);
  });
}

template <class Begin>
void Isolation::make_checkout(Lane& lane, NodeAttemptId place, Answer<Checkout> answer, Begin begin) {
  perform<Checkout>(lane, std::move(answer),
                    [place = std::move(place), begin = std::move(begin)](Lane& its, const Answer<Checkout>& reply) {
                      its.setups.when_free(place, [&its, place, begin, reply] {
                        its.requests.checkout(place, [&] { return begin(its.git); }, reply);
                      });
                    });
}

void Isolation::checkout(const IsolationSettings& settings, NodeAttemptId place, std::optional<std::string> commit,
                         std::string name, Answer<Checkout> answer) {
  if (!settings.base_commit) {
    return post(
        [answer, project = settings.project] { answer(Checkout{.folder = project, .commit = {}, .tree = {}}); });
  }
  make_checkout(lane_of(settings), place, std::move(answer),
                [settings, place, commit = std::move(commit), name = std::move(name)](GitOperations& git) {
                  return git.checkouts.make(settings, place, commit, name);
                });
}

void Isolation::check_out_merge(const IsolationSettings& settings, const GateCheck& check, std::string gate,
                                Answer<Checkout> answer) {
  const NodeAttemptId place{
      .root = check.root, .execution = check.root, .node = check.name, .iteration = 0, .attempt = 0, .worktree_id = {}};
  make_checkout(lane_of(settings), place, std::move(answer),
                [settings, check, gate = std::move(gate)](GitOperations& git) {
                  return git.checkouts.make_merge(settings, check, gate);
                });
}

void Isolation::renew_checkout(const IsolationSettings& settings, base::ExecutionId root, const Checkout& checkout,
                               Answer<Checkout> answer) {
  const NodeAttemptId place{
      .root = root, .execution = root, .node = checkout.folder, .iteration = 0, .attempt = 0, .worktree_id = {}};
  make_checkout(lane_of(settings), place, std::move(answer), [settings, root, checkout](GitOperations& git) {
    return git.checkouts.renew(settings, root, checkout);
  });
}

void Isolation::discard(const IsolationSettings& settings, std::string folder) {
  if (!settings.base_commit) return;
  perform<void>(
      lane_of(settings), [](const std::expected<void, Error>&) {},
      [this, settings, folder = std::move(folder)](GitOperations& git) {
        attempt_or_log(context_.log_warning, "cannot remove the checkout of a gate",
                       [&] { git.checkouts.discard(settings, folder); });
      });
}

void Isolation::set_back(const IsolationSettings& settings, NodeAttemptId place, Answer<void> answer) {
  if (!settings.base_commit) return post([answer] { answer({}); });
  perform<void>(lane_of(settings), std::move(answer),
                [settings, place = std::move(place)](GitOperations& git) { git.nodes.set_back(settings, place); });
}

void Isolation::accept(const IsolationSettings& settings, NodeAttemptId place, Answer<Accepted> answer) {
  if (!settings.base_commit) return post([answer] { answer(Accepted{}); });
  perform<Accepted>(lane_of(settings), std::move(answer),
                    [settings, place = std::move(place)](Lane& lane, const Answer<Accepted>& reply) {
                      reply(attempt([&] {
                        Accepted accepted = lane.git.nodes.accept(settings, place);
                        lane.requests.on_released(place.root);
                        return accepted;
                      }));
                    });
}

template <class End>
void Isolation::end_attempt(Lane& lane, NodeAttemptId place, Answer<void> answer, End end) {
  lane.setups.cancel(place);
  perform<void>(lane, std::move(answer),
                [place = std::move(place), end = std::move(end)](Lane& its, const Answer<void>& reply) {
                  its.setups.when_free(place, [&its, place, end, reply] {
                    its.setups.forget(place);
                    its.requests.remove(place);
                    const auto result = attempt([&] { end(its.git); });
                    its.requests.on_released(place.root);
                    reply(result);
                  });
                });
}

void Isolation::reject(const IsolationSettings& settings, NodeAttemptId place, model::PatchState state,
                       std::string reason, Answer<void> answer) {
  if (!settings.base_commit) return post([answer] { answer({}); });
  end_attempt(lane_of(settings), place, std::move(answer),
              [settings, place, state, reason = std::move(reason)](GitOperations& git) {
                git.nodes.reject(settings, place, state, reason);
              });
}

void Isolation::withdraw(const IsolationSettings& settings, NodeAttemptId place, std::string reason,
                         Answer<void> answer) {
  if (!settings.base_commit) return post([answer] { answer({}); });
  end_attempt(lane_of(settings), place, std::move(answer),
              [settings, place, reason = std::move(reason)](GitOperations& git) {
                git.nodes.withdraw(settings, place, reason);
              });
}

void Isolation::apply(const IsolationSettings& settings, base::ExecutionId root, model::ApplyWhen mode,
                      Answer<Applied> answer) {
  if (!settings.base_commit) return post([answer] { answer(Applied{}); });
  perform<Applied>(lane_of(settings), std::move(answer),
                   [root, mode](Lane& lane, const Answer<Applied>& reply) { lane.applies.apply(root, mode, reply); });
}

template <class T, class Act>
void Isolation::find_lane(base::ExecutionId root, Answer<T> answer, Act act) {
  perform<bool>(
      *local_,
      [this, answer = std::move(answer), act = std::move(act)](const std::expected<bool, Error>& is_shared) {
        if (!is_shared) return answer(std::unexpected(is_shared.error()));
        act(*is_shared ? *shared_ : *local_, answer);
      },
      [root](GitOperations& git) {
        const auto branch = git.context.find_branch(root);
        return branch && branch->remote.has_value();
      });
}

void Isolation::apply_ended(base::ExecutionId root, Answer<Applied> answer) {
  find_lane<Applied>(root, std::move(answer), [this, root](Lane& lane, const Answer<Applied>& reply) {
    perform<Applied>(lane, reply,
                     [root](Lane& its, const Answer<Applied>& done) { its.applies.apply_requested(root, done); });
  });
}

void Isolation::diff(base::ExecutionId root, Answer<std::optional<BranchDiff>> answer) {
  using Found = std::optional<BranchDiff>;
  find_lane<Found>(root, std::move(answer), [this, root](Lane& lane, const Answer<Found>& reply) {
    perform<Found>(lane, reply, [root](GitOperations& git) { return git.applies.diff(root); });
  });
}

void Isolation::close(const IsolationSettings& settings, base::ExecutionId root, std::function<void(bool)> done) {
  if (!settings.base_commit) return post([done = std::move(done)] { done(true); });
  perform<bool>(
      lane_of(settings),
      [done = std::move(done)](const std::expected<bool, Error>& is_done) { done(is_done.value_or(false)); },
      [root](Lane& lane, const Answer<bool>& reply) { lane.close(root, reply); });
}

void Isolation::delete_refs(std::string project, std::vector<OwnRef> refs, Answer<void> answer) {
  perform<void>(*local_, std::move(answer), [project = std::move(project), refs = std::move(refs)](GitOperations& git) {
    try {
      git::Repository& repository = git.context.open_repository(project);
      for (const OwnRef& ref : refs) repository.delete_ref(ref.name, ref.commit);
    } catch (const Error& error) {
      std::error_code none;
      const bool is_gone = error.is(base::ErrorCode::git_not_a_repository) || !std::filesystem::exists(project, none);
      if (!is_gone) throw;
    }
  });
}

void Isolation::begin(std::set<base::ExecutionId> alive, std::function<void()> done) {
  const auto left = std::make_shared<int>(2);
  for (Lane* lane : {local_.get(), shared_.get()}) {
    perform<void>(
        *lane,
        [left, done](const std::expected<void, Error>&) {
          if (--*left == 0) done();
        },
        [alive](Lane& its, const Answer<void>& reply) { reply(attempt([&] { its.begin(alive); })); });
  }
}

bool Isolation::is_busy() const noexcept { return local_->is_busy() || shared_->is_busy(); }

void Isolation::apply_granted() {
  for (Lane* lane : {local_.get(), shared_.get()}) {
    if (lane->is_polling.exchange(true)) continue;
    const auto accepted = lane->thread.submit([lane] {
      lane->is_polling = false;
      lane->applies.poll();
    });
    if (!accepted) lane->is_polling = false;
  }
}

void Isolation::set_gates(GateHooks hooks) { gates_ = std::move(hooks); }

void Isolation::act(base::PatchId patch, PatchAction action, std::string by, Answer<model::Patch> answer) {
  const auto act_in = [this, patch, action, by = std::move(by), answer](Lane& lane) {
    perform<model::Patch>(lane, answer, [patch, action, by](Lane& its, const Answer<model::Patch>& reply) {
      if (action == PatchAction::apply) return its.applies.apply_patch(patch, by, reply);
      reply(attempt([&] {
        model::Patch done =
            action == PatchAction::drop ? its.git.patches.drop(patch, by) : its.git.applies.roll_back(patch, by);
        its.applies.forget_settings(done.root_id);
        return done;
      }));
    });
  };
  perform<bool>(
      *local_,
      [this, act_in, answer](const std::expected<bool, Error>& is_shared) {
        if (!is_shared) return answer(std::unexpected(is_shared.error()));
        act_in(*is_shared ? *shared_ : *local_);
      },
      [patch](GitOperations& git) { return git.patches.is_of_shared(patch); });
}

}  // namespace reeve::runtime
