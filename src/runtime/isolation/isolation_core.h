#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "ledger/ledger.h"
#include "runtime/isolation/apply_queue.h"
#include "runtime/isolation/isolation.h"
#include "runtime/isolation/isolation_steps.h"
#include "runtime/isolation/setup_threads.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/output/log_thread.h"
#include "runtime/settings/execution_settings.h"

namespace reeve::runtime {

// The git thread of class Isolation and its queues.
class Isolation::Core {
  using Error = base::Error;

 public:
  enum class Branches { local, shared };
  Core(RuntimeContext& context, Branches branches)
      : context_(context),
        steps_({.ledger = context.ledger,
                .host = context.host,
                // Each thread has its own scratch folder.
                .scratch = context.folder.root / (branches == Branches::shared ? "git-shared" : "git"),
                .expiry = context.supervision.approval_expiry.question,
                .find_secrets = [this](base::ExecutionId root) { return find_secrets(root); },
                .is_shared = branches == Branches::shared,
                .find_ssh_agent = [this](base::ExecutionId root) { return find_ssh_agent(root); },
                .gives_up = [this] { return is_ending_.load(); },
                .pause = [this](base::Milliseconds pause) { wait(pause); },
                .log_warning = [this](const std::string& text) { context_.log_warning(text); },
                .crash_point = context.crash_point}),
        applies_(
            {.ask_gates = [this](const GateCheck& check, auto answer) { ask_gates(check, std::move(answer)); },
             .cancel_gates = [this](const std::string& name) { post([this, name] { gates_.cancel(name); }); },
             .over = [this](const ApplyQueue::Job& job, const ApplyQueue::Result& result) { on_over(job, result); }}),
        setups_([this](std::function<void()> work) { push(std::move(work)); }),
        thread_([this] { run(); }) {}

  ~Core() {
    *is_alive_ = false;
    is_ending_ = true;
    wake_.notify_all();
    thread_.join();
    setups_.stop();
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Callbacks own objects of the loop but are copied on the git thread, so every callback passed to that thread is
  // wrapped here.
  template <class T>
  Answer<T> bind(Answer<T> answer) const {
    std::shared_ptr<Answer<T>> kept = context_.loop.make<Answer<T>>(std::move(answer));
    return [kept](std::expected<T, Error> result) { (*kept)(std::move(result)); };
  }

  // Does the work on the git thread and delivers its result or error on the loop.
  template <class T>
  void ask(std::function<T(IsolationSteps&)> work, Answer<T> told) {
    const Answer<T> answer = bind(std::move(told));
    submit([this, work = std::move(work), answer] { tell<T>(attempt<T>([&] { return work(steps_); }), answer); },
           [this, answer](Error error) { tell<T>(std::unexpected(std::move(error)), answer); });
  }

  // Runs work that answers itself, once no setup is running for that node. `answer` must be bound.
  template <class T>
  void work_on(const NodeAttemptId& place, std::function<void()> work, const Answer<T>& answer) {
    submit([this, place, work = std::move(work)] { setups_.when_free(place, work); },
           [this, answer](Error error) { tell<T>(std::unexpected(std::move(error)), answer); });
  }

  // If the worktree is taken, the request waits until a task of that execution releases one.
  void prepare(const IsolationSettings& settings, const NodeAttemptId& place, Answer<std::string> told) {
    const Answer<std::string> answer = bind(std::move(told));
    submit([this, settings, place, answer] { try_prepare({settings, place, answer}); },
           [this, answer](Error error) { tell<std::string>(std::unexpected(std::move(error)), answer); });
  }
  // On the git thread: a task of that execution has released a worktree.
  void serve_waiting(base::ExecutionId root) {
    std::deque<Waiting> waiting = std::exchange(waiting_, {});
    for (Waiting& one : waiting) {
      if (one.place.root == root) {
        try_prepare(std::move(one));
      } else {
        waiting_.push_back(std::move(one));
      }
    }
  }
  // Makes a throwaway checkout, set up like a task's worktree.
  void checkout(const NodeAttemptId& place, const std::function<IsolationSteps::Begun(IsolationSteps&)>& begin,
                const Answer<Checkout>& answer) {
    auto begun = attempt<IsolationSteps::Begun>([&] { return begin(steps_); });
    if (!begun) return tell<Checkout>(std::unexpected(begun.error()), answer);
    Checkout made{.folder = begun->folder, .commit = begun->commit, .tree = begun->tree};
    if (!begun->setup) return tell<Checkout>(std::move(made), answer);
    begin_setup<Checkout>(place, *begun, answer, [made] { return made; });
  }

  // Drops the waiting request, whose worktree would never be released.
  void forget_waiting(const NodeAttemptId& place) {
    std::erase_if(waiting_, [&place](const Waiting& one) { return one.place == place; });
  }
  void refuse_waiting(base::ExecutionId root) {
    for (const Waiting& one : waiting_) {
      if (one.place.root != root) continue;
      tell<std::string>(std::unexpected(Error("execution.over", fmt::format("{} has ended", root.text()))), one.answer);
    }
    std::erase_if(waiting_, [root](const Waiting& one) { return one.place.root == root; });
  }

  // On the git thread, at start.
  void begin(const std::set<base::ExecutionId>& alive) {
    try_to("cannot apply approved changes", [&] {
      steps_.recover_checkouts();
      for (const base::PatchId id : steps_.find_queued_patches()) {
        try_to("cannot apply " + id.text(), [&] { resume_patch(id); });
      }
      for (const base::ExecutionId root : steps_.find_queued()) {
        try_to("cannot apply " + root.text(), [&] { resume_apply(root); });
      }
      for (const base::ExecutionId root : steps_.find_granted()) try_granted(root);
    });
    try_to("cannot clean up after ended executions", [&] {
      for (const base::ExecutionId root : steps_.find_left()) {
        if (alive.contains(root) || !setups_.is_free(root) || applies_.contains(root)) continue;
        try_to("cannot remove the worktrees of " + root.text(), [&] { steps_.close(root); });
      }
    });
  }

  // On the git thread, for work without a caller: errors are logged.
  template <class Act>
  bool try_to(std::string_view what, Act act) {
    try {
      act();
      return true;
    } catch (const std::exception& failure) {
      context_.log_warning(fmt::format("{}: {}", what, as_error(failure).message()));
      return false;
    }
  }
  bool is_busy() const noexcept { return unfinished_ > 0 || !applies_.is_empty(); }
  SetupThreads& setups() noexcept { return setups_; }

  void apply_granted() {
    if (is_applying_.exchange(true)) return;
    submit(
        [this] {
          is_applying_ = false;
          try_to("cannot apply approved changes", [&] {
            for (const base::ExecutionId root : steps_.find_granted()) try_granted(root);
            try_queued();
          });
        },
        [this](const Error&) { is_applying_ = false; });
  }

  // Called at every poll, so repeated failures back off.
  void try_granted(base::ExecutionId root) {
    constexpr base::Milliseconds longest = std::chrono::minutes(5);
    if (applies_.contains(root)) return;
    Later& later = later_[root];
    const auto now = std::chrono::steady_clock::now();
    if (now < later.at) return;
    later.at = now + later.pause;
    later.pause = std::min(2 * later.pause, longest);
    add_apply(root, model::ApplyWhen::on_approval, [this, root](const ApplyQueue::Result& result) {
      if (result) later_.erase(root);
      complain_of(root.text(), result);
    });
  }
  // If git fails, polls try again.
  void apply(base::ExecutionId root, model::ApplyWhen mode, const Answer<Applied>& answer) {
    add_apply(root, mode, [this, root, answer](const ApplyQueue::Result& result) {
      if (!result) later_.emplace(root, Later{.at = std::chrono::steady_clock::now() + Later().pause});
      tell<Applied>(result, answer);
    });
  }
  // Requested by a person. A patch that a gate held back together with its branch is retried with the whole branch.
  void apply_patch(base::PatchId id, const std::string& by, const Answer<model::Patch>& answer) {
    const auto done = [this, id, answer](const ApplyQueue::Result& result) {
      tell<model::Patch>(attempt<model::Patch>([&] { return describe_applied(id, result); }), answer);
    };
    const auto patch = attempt<model::Patch>([&] { return steps_.get_patch(id); });
    if (!patch) return tell<model::Patch>(std::unexpected(patch.error()), answer);
    const bool goes_with_others = patch->state == model::PatchState::queued && patch->branch_commit &&
                                  attempt<bool>([&] { return steps_.is_queued(patch->root_id); }).value_or(false);
    if (goes_with_others) return add_apply(patch->root_id, model::ApplyWhen::on_approval, done);
    add_patch(*patch, by, done);
  }

  // Retries applies that were in progress when git failed.
  void try_queued() {
    const auto now = std::chrono::steady_clock::now();
    std::vector<base::ExecutionId> due;
    for (const auto& [root, later] : later_) {
      if (now >= later.at) due.push_back(root);
    }
    for (const base::ExecutionId root : due) {
      if (steps_.is_queued(root)) {
        try_granted(root);
      } else {
        later_.erase(root);
      }
    }
  }

  // Announces a newly asked approval.
  void note(const Applied& applied) {
    if (!applied.approval) return;
    model::Approval asked;
    asked.approval_id = *applied.approval;
    post([this, asked] { asked_(asked); });
  }

  // On the git thread.
  bool close_now(base::ExecutionId root) {
    return try_to("cannot remove the worktrees of " + root.text() + " before the next start",
                  [&] { steps_.close(root); });
  }
  // On the git thread: the execution has ended, so its pending setups are cancelled.
  void close(base::ExecutionId root, const Answer<bool>& answer) {
    refuse_waiting(root);
    const auto status = attempt<std::optional<model::ExecutionStatus>>([&] { return steps_.find_status(root); });
    if (status && *status == model::ExecutionStatus::cancelled) applies_.cancel(root);
    // Gates of a pending apply still use its worktrees.
    applies_.when_free(root, [this, root, answer] {
      setups_.cancel_all(root);
      setups_.when_free(root, [this, root, answer] {
        refuse_waiting(root);
        tell<bool>(close_now(root), answer);
      });
    });
  }
  // The task is done: cancels its setup and lets waiting tasks have its worktree.
  void leave(const NodeAttemptId& place, Answer<void> told, std::function<void(IsolationSteps&)> act) {
    const Answer<void> answer = bind(std::move(told));
    setups_.cancel(place);
    work_on<void>(
        place,
        [this, place, answer, act = std::move(act)] {
          setups_.forget(place);
          forget_waiting(place);
          const auto result = attempt<void>([&] { act(steps_); });
          serve_waiting(place.root);
          tell<void>(result, answer);
        },
        answer);
  }

  void submit(std::function<void()> work, const std::function<void(Error)>& refuse) {
    {
      const std::scoped_lock lock(mutex_);
      if (queue_.size() < max_waiting) {
        queue_.push_back(std::move(work));
        ++unfinished_;
        wake_.notify_one();
        return;
      }
    }
    refuse(Error("git.busy", "too many requests are waiting for git", "try again in a moment"));
  }

  // Continues work that was already accepted, so it is never refused.
  void push(std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(work));
    ++unfinished_;
    wake_.notify_one();
  }

  void post(std::function<void()> task) {
    context_.loop.post([is_alive = is_alive_, task = std::move(task)] {
      if (*is_alive) task();
    });
  }

  std::function<void(const model::Approval&)> asked_ = [](const model::Approval&) {};
  GateHooks gates_ = {.ask =
                          [](const GateCheck& check, const Answer<GateVerdict>& answer) {
                            answer(GateVerdict{fmt::format("nothing runs the gate {}", check.gates.front())});
                          },
                      .cancel = [](const std::string&) {}};
  // The saved settings, with the environment, are removed once nothing of the execution can be applied.
  void forget_settings(base::ExecutionId root) {
    try_to("cannot remove the config of " + root.text(), [&] {
      const auto status = steps_.find_status(root);
      const bool is_done = status && model::is_over(*status) && *status != model::ExecutionStatus::failed;
      if (is_done && !is_settings_open(context_.folder, root) && !steps_.has_waiting(root)) {
        remove_settings(context_.folder, root);
      }
    });
  }

 private:
  static constexpr std::size_t max_waiting = 65'536;

  // Converts any exception: std::filesystem throws its own types.
  static Error as_error(const std::exception& failure) {
    if (const auto* error = dynamic_cast<const Error*>(&failure)) return *error;
    return {"os.failed", failure.what()};
  }
  std::shared_ptr<const base::SecretSet> find_secrets(base::ExecutionId root) const {
    const auto found = read_settings(context_.folder, root);
    if (!found) return nullptr;
    const IsolationSettings settings = make_isolation_settings(*found);
    return make_secrets(settings.environment, settings.secrets);
  }

  std::string find_ssh_agent(base::ExecutionId root) const {
    const auto found = read_settings(context_.folder, root);
    const auto& environment = found ? found->environment : context_.environment;
    const auto agent = environment.find("SSH_AUTH_SOCK");
    return agent != environment.end() ? agent->second : "";
  }
  // On the git thread; returns early when the thread is to end.
  void wait(base::Milliseconds pause) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, pause, [this] { return is_ending_.load(); });
  }

  struct Waiting {
    IsolationSettings settings;
    NodeAttemptId place;
    Answer<std::string> answer;
  };

  void run() {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return is_ending_ || !queue_.empty(); });
        if (is_ending_) return;
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      work();
      --unfinished_;
    }
  }

  template <class T, class Act>
  std::expected<T, Error> attempt(Act act) {
    try {
      if constexpr (std::is_void_v<T>) {
        act();
        return {};
      } else {
        return act();
      }
    } catch (const std::exception& failure) {
      return std::unexpected(as_error(failure));
    }
  }

  template <class T>
  void tell(std::expected<T, Error> result, const Answer<T>& answer) {
    post([answer, result = std::move(result)] { answer(result); });
  }

  void ask_gates(const GateCheck& check, std::function<void(std::expected<GateVerdict, Error>)> answer) {
    post([this, check, answer = std::move(answer)] {
      gates_.ask(check, [this, answer](const std::expected<GateVerdict, Error>& verdict) {
        push([answer, verdict] { answer(verdict); });
      });
    });
  }
  void add_apply(base::ExecutionId root, model::ApplyWhen mode, std::function<void(const ApplyQueue::Result&)> done) {
    applies_.add({.checkout = find_checkout(root),
                  .root = root,
                  .name = root.text(),
                  .attempt =
                      [this, root, mode] {
                        Applied applied = steps_.apply(root, mode);
                        note(applied);
                        return applied;
                      },
                  .hold = [this, root](const std::string& why) { return steps_.hold_back(root, why); },
                  .done = {std::move(done)}});
  }
  void add_patch(const model::Patch& patch, const std::string& by,
                 std::function<void(const ApplyQueue::Result&)> done) {
    const base::PatchId id = patch.patch_id;
    applies_.add({.checkout = find_checkout(patch.root_id),
                  .root = patch.root_id,
                  .name = id.text(),
                  .attempt = [this, id, by] { return steps_.apply_patch(id, by); },
                  .hold = [this, id](const std::string& why) { return steps_.hold_back(id, why); },
                  .done = {std::move(done)}});
  }
  // An error here is reported when the apply is attempted.
  std::string find_checkout(base::ExecutionId root) {
    return attempt<std::string>([&] { return steps_.find_checkout(root); }).value_or("");
  }
  // A change that a gate blocked waits until a person asks again.
  void resume_apply(base::ExecutionId root) {
    const auto refusal = steps_.find_refusal(root, root.text());
    if (!refusal) return try_granted(root);
    steps_.hold_back(root, *refusal);
  }
  void resume_patch(base::PatchId id) {
    const model::Patch patch = steps_.get_patch(id);
    const auto refusal = steps_.find_refusal(patch.root_id, id.text());
    if (refusal) {
      steps_.hold_back(id, *refusal);
      return;
    }
    add_patch(patch, "Reeve, after a restart",
              [this, id](const ApplyQueue::Result& result) { complain_of(id.text(), result); });
  }
  void complain_of(const std::string& name, const ApplyQueue::Result& result) {
    if (!result) return context_.log_warning(fmt::format("cannot apply {}: {}", name, result.error().message()));
    const bool is_refused = result->kind == Applied::Kind::refused || result->kind == Applied::Kind::held;
    if (is_refused) context_.log_warning(fmt::format("{}: {}", name, result->message));
  }
  model::Patch describe_applied(base::PatchId id, const ApplyQueue::Result& result) {
    if (!result) throw result.error();
    if (result->kind == Applied::Kind::held) {
      throw Error("patch.gate_refused", result->message,
                  fmt::format("fix what the gate reports, then run `reeve patch apply {}` again", id.text()));
    }
    if (result->kind == Applied::Kind::refused) throw Error("patch.not_applied", result->message);
    return steps_.get_patch(id);
  }
  // Called when a job leaves the queue. If the execution has already ended, its branch was kept open for this job.
  void on_over(const ApplyQueue::Job& job, const ApplyQueue::Result& result) {
    if (!result) return;
    const bool is_over = attempt<bool>([&] {
                           const auto status = steps_.find_status(job.root);
                           return !status || model::is_over(*status);
                         }).value_or(false);
    // Otherwise the next job of the execution, or its worker, cleans up.
    if (!is_over || applies_.contains(job.root) || is_settings_open(context_.folder, job.root)) return;
    const bool is_applied = result->kind == Applied::Kind::applied;
    const bool was_opened = !attempt<bool>([&] { return steps_.is_closed(job.root); }).value_or(true);
    const bool is_branch = job.name == job.root.text();
    if (was_opened || (is_applied && is_branch)) close_now(job.root);
    if (is_applied) forget_settings(job.root);
  }

  void try_prepare(Waiting one) {
    const NodeAttemptId place = one.place;
    setups_.when_free(place, [this, one = std::move(one)] { prepare_now(one); });
  }
  void prepare_now(const Waiting& one) {
    using Begun = IsolationSteps::Begun;
    const auto begun = attempt<std::optional<Begun>>([&] { return steps_.begin_prepare(one.settings, one.place); });
    if (!begun) return tell<std::string>(std::unexpected(begun.error()), one.answer);
    if (!*begun) return waiting_.push_back(one);
    if (!(*begun)->setup) return tell<std::string>((*begun)->folder, one.answer);
    begin_setup<std::string>(one.place, **begun, one.answer,
                             [this, one] { return steps_.finish_prepare(one.settings, one.place); });
  }
  // Runs the setup on another thread; `finish` then makes the answer on the git thread.
  template <class T>
  void begin_setup(const NodeAttemptId& place, const IsolationSteps::Begun& begun, const Answer<T>& answer,
                   std::function<T()> finish) {
    ++unfinished_;
    setups_.begin(place, *begun.setup, [this, answer, finish = std::move(finish)](std::optional<Error> failure) {
      --unfinished_;
      if (failure) return tell<T>(std::unexpected(std::move(*failure)), answer);
      tell<T>(attempt<T>(finish), answer);
    });
  }

  RuntimeContext& context_;
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> is_applying_ = false;
  std::atomic<std::size_t> unfinished_ = 0;
  // Approved applies that failed temporarily: when to retry.
  struct Later {
    std::chrono::steady_clock::time_point at = {};
    base::Milliseconds pause = std::chrono::seconds(1);
  };
  std::map<base::ExecutionId, Later> later_;
  IsolationSteps steps_;
  std::deque<Waiting> waiting_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  ApplyQueue applies_;
  SetupThreads setups_;
  // Declared last: it uses all members above.
  std::thread thread_;
};

}  // namespace reeve::runtime
