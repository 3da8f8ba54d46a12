#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "runtime/apply_queue.h"
#include "runtime/execution_ground.h"
#include "runtime/isolation.h"
#include "runtime/isolation_steps.h"
#include "runtime/live_run.h"
#include "runtime/setup_threads.h"

namespace reeve::runtime {

// The thread of class Isolation, and what waits for it.
class Isolation::Core {
  using Error = base::Error;

 public:
  enum class Branches { local, shared };
  Core(Surroundings& around, Branches branches)
      : around_(around),
        steps_({.ledger = around.ledger,
                .host = around.host,
                // What is kept there is one thread's.
                .scratch = around.folder.root / (branches == Branches::shared ? "git-shared" : "git"),
                .expiry = around.supervision.approval_expiry.question,
                .find_secrets = [this](base::ExecutionId root) { return find_secrets(root); },
                .is_shared = branches == Branches::shared,
                .find_ssh_agent = [this](base::ExecutionId root) { return find_ssh_agent(root); },
                .gives_up = [this] { return is_ending_.load(); },
                .pause = [this](base::Milliseconds pause) { wait(pause); },
                .complain = [this](const std::string& text) { around_.complain(text); },
                .crash_point = around.crash_point}),
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

  // What an answer holds is the loop's; its copies come and go on the thread. Every answer that goes there is made so.
  template <class T>
  Answer<T> bind(Answer<T> answer) const {
    std::shared_ptr<Answer<T>> kept = around_.loop.make<Answer<T>>(std::move(answer));
    return [kept](std::expected<T, Error> result) { (*kept)(std::move(result)); };
  }

  // Does the work on the thread, and tells its result or its failure on the loop.
  template <class T>
  void ask(std::function<T(IsolationSteps&)> work, Answer<T> told) {
    const Answer<T> answer = bind(std::move(told));
    submit([this, work = std::move(work), answer] { tell<T>(attempt<T>([&] { return work(steps_); }), answer); },
           [this, answer](Error error) { tell<T>(std::unexpected(std::move(error)), answer); });
  }

  // Work that answers by itself, once nothing is set up for that node any more. The answer is bound.
  template <class T>
  void work_on(const NodePlace& place, std::function<void()> work, const Answer<T>& answer) {
    submit([this, place, work = std::move(work)] { setups_.when_free(place, work); },
           [this, answer](Error error) { tell<T>(std::unexpected(std::move(error)), answer); });
  }

  // Nothing while the worktree is another's: kept until somebody leaves one of that execution.
  void prepare(const IsolationGround& ground, const NodePlace& place, Answer<std::string> told) {
    const Answer<std::string> answer = bind(std::move(told));
    submit([this, ground, place, answer] { try_prepare({ground, place, answer}); },
           [this, answer](Error error) { tell<std::string>(std::unexpected(std::move(error)), answer); });
  }
  // On the thread: somebody has left one.
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
  // A throwaway checkout, set up as the worktrees of tasks are.
  void checkout(const NodePlace& place, const std::function<IsolationSteps::Begun(IsolationSteps&)>& begin,
                const Answer<Checkout>& answer) {
    auto begun = attempt<IsolationSteps::Begun>([&] { return begin(steps_); });
    if (!begun) return tell<Checkout>(std::unexpected(begun.error()), answer);
    Checkout made{.folder = begun->folder, .commit = begun->commit, .tree = begun->tree};
    if (!begun->setup) return tell<Checkout>(std::move(made), answer);
    begin_setup<Checkout>(place, *begun, answer, [made] { return made; });
  }

  // Nobody would leave what it gets.
  void forget_waiting(const NodePlace& place) {
    std::erase_if(waiting_, [&place](const Waiting& one) { return one.place == place; });
  }
  void refuse_waiting(base::ExecutionId root) {
    for (const Waiting& one : waiting_) {
      if (one.place.root != root) continue;
      tell<std::string>(std::unexpected(Error("execution.over", fmt::format("{} is over", root.text()))), one.answer);
    }
    std::erase_if(waiting_, [root](const Waiting& one) { return one.place.root == root; });
  }

  // On the thread, at the start.
  void begin(const std::set<base::ExecutionId>& alive) {
    try_to("what was approved cannot be applied", [&] {
      steps_.recover_checkouts();
      for (const base::PatchId id : steps_.find_queued_patches()) {
        try_to(id.text() + " cannot be applied", [&] { resume_patch(id); });
      }
      for (const base::ExecutionId root : steps_.find_queued()) {
        try_to(root.text() + " cannot be applied", [&] { resume_apply(root); });
      }
      for (const base::ExecutionId root : steps_.find_granted()) try_granted(root);
    });
    try_to("what executions left behind stays", [&] {
      for (const base::ExecutionId root : steps_.find_left()) {
        if (alive.contains(root) || !setups_.is_free(root) || applies_.contains(root)) continue;
        try_to(root.text() + " leaves its worktrees", [&] { steps_.close(root); });
      }
    });
  }

  // On the thread: what nobody waits for.
  template <class Act>
  bool try_to(std::string_view what, Act act) {
    try {
      act();
      return true;
    } catch (const std::exception& failure) {
      around_.complain(fmt::format("{}: {}", what, as_error(failure).message()));
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
          try_to("what was approved cannot be applied", [&] {
            for (const base::ExecutionId root : steps_.find_granted()) try_granted(root);
            try_queued();
          });
        },
        [this](const Error&) { is_applying_ = false; });
  }

  // It is looked for at every poll: what fails is tried less and less often.
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
  // Tried again at polls when git failed over it.
  void apply(base::ExecutionId root, model::ApplyWhen mode, const Answer<Applied>& answer) {
    add_apply(root, mode, [this, root, answer](const ApplyQueue::Result& result) {
      if (!result) later_.emplace(root, Later{.at = std::chrono::steady_clock::now() + Later().pause});
      tell<Applied>(result, answer);
    });
  }
  // For a person. What a gate held back with the rest of its branch is tried again with all of it.
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

  // Those that were on their way when git failed.
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

  // A question counts from now on.
  void note(const Applied& applied) {
    if (!applied.approval) return;
    model::Approval asked;
    asked.approval_id = *applied.approval;
    post([this, asked] { asked_(asked); });
  }

  // On the thread.
  bool close_now(base::ExecutionId root) {
    return try_to(root.text() + " leaves its worktrees until the next start", [&] { steps_.close(root); });
  }
  // On the thread: the execution is over, nobody needs what is being set up for it.
  void close(base::ExecutionId root, const Answer<bool>& answer) {
    refuse_waiting(root);
    const auto status = attempt<std::optional<model::ExecutionStatus>>([&] { return steps_.find_status(root); });
    if (status && *status == model::ExecutionStatus::cancelled) applies_.cancel(root);
    // The gates of what is on its way into the checkout look at worktrees of it.
    applies_.when_free(root, [this, root, answer] {
      setups_.cancel_all(root);
      setups_.when_free(root, [this, root, answer] {
        refuse_waiting(root);
        tell<bool>(close_now(root), answer);
      });
    });
  }
  // It works no more: a setup for it ends, and others may have what it had.
  void leave(const NodePlace& place, Answer<void> told, std::function<void(IsolationSteps&)> act) {
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
      if (queue_.size() < most_waiting) {
        queue_.push_back(std::move(work));
        ++unfinished_;
        wake_.notify_one();
        return;
      }
    }
    refuse(Error("git.busy", "too many requests wait for git", "try again in a moment"));
  }

  // A piece of what was begun before: never refused.
  void push(std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(work));
    ++unfinished_;
    wake_.notify_one();
  }

  void post(std::function<void()> task) {
    around_.loop.post([is_alive = is_alive_, task = std::move(task)] {
      if (*is_alive) task();
    });
  }

  std::function<void(const model::Approval&)> asked_ = [](const model::Approval&) {};
  GateHooks gates_ = {.ask =
                          [](const GateCheck& check, const Answer<GateVerdict>& answer) {
                            answer(GateVerdict{fmt::format("nobody asks the gate {}", check.gates.front())});
                          },
                      .cancel = [](const std::string&) {}};
  // The environment of an execution is of no use any more once nothing of it can be applied.
  void forget_ground(base::ExecutionId root) {
    try_to(root.text() + " leaves its config", [&] {
      const auto status = steps_.find_status(root);
      const bool is_done = status && model::is_over(*status) && *status != model::ExecutionStatus::failed;
      if (is_done && !is_ground_open(around_.folder, root) && !steps_.has_waiting(root)) {
        remove_ground(around_.folder, root);
      }
    });
  }

 private:
  static constexpr std::size_t most_waiting = 65'536;

  // What failed, whoever threw it: std::filesystem has its own errors.
  static Error as_error(const std::exception& failure) {
    if (const auto* error = dynamic_cast<const Error*>(&failure)) return *error;
    return {"os.failed", failure.what()};
  }
  std::shared_ptr<const base::SecretSet> find_secrets(base::ExecutionId root) const {
    const auto found = read_ground(around_.folder, root);
    if (!found) return nullptr;
    const IsolationGround ground = make_isolation_ground(*found);
    return make_secrets(ground.environment, ground.secrets);
  }

  std::string find_ssh_agent(base::ExecutionId root) const {
    const auto found = read_ground(around_.folder, root);
    const auto& environment = found ? found->environment : around_.environment;
    const auto agent = environment.find("SSH_AUTH_SOCK");
    return agent != environment.end() ? agent->second : "";
  }
  // On the thread; ends early with it.
  void wait(base::Milliseconds pause) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, pause, [this] { return is_ending_.load(); });
  }

  struct Waiting {
    IsolationGround ground;
    NodePlace place;
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
  // What cannot be told now is told when it is tried.
  std::string find_checkout(base::ExecutionId root) {
    return attempt<std::string>([&] { return steps_.find_checkout(root); }).value_or("");
  }
  // What a gate has refused waits for a person to ask again.
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
    if (!result) return around_.complain(fmt::format("{} cannot be applied: {}", name, result.error().message()));
    const bool is_refused = result->kind == Applied::Kind::refused || result->kind == Applied::Kind::held;
    if (is_refused) around_.complain(fmt::format("{}: {}", name, result->message));
  }
  model::Patch describe_applied(base::PatchId id, const ApplyQueue::Result& result) {
    if (!result) throw result.error();
    if (result->kind == Applied::Kind::held) {
      throw Error("patch.gate_refused", result->message,
                  fmt::format("change what the gate complains about, then `reeve patch apply {}` again", id.text()));
    }
    if (result->kind == Applied::Kind::refused) throw Error("patch.not_applied", result->message);
    return steps_.get_patch(id);
  }
  // Out of the queue. The end of the execution, if that has been, kept the branch for this.
  void on_over(const ApplyQueue::Job& job, const ApplyQueue::Result& result) {
    if (!result) return;
    const bool is_over = attempt<bool>([&] {
                           const auto status = steps_.find_status(job.root);
                           return !status || model::is_over(*status);
                         }).value_or(false);
    // Who is next of it, or its worker, does that.
    if (!is_over || applies_.contains(job.root) || is_ground_open(around_.folder, job.root)) return;
    const bool is_applied = result->kind == Applied::Kind::applied;
    const bool was_opened = !attempt<bool>([&] { return steps_.is_closed(job.root); }).value_or(true);
    const bool is_branch = job.name == job.root.text();
    if (was_opened || (is_applied && is_branch)) close_now(job.root);
    if (is_applied) forget_ground(job.root);
  }

  void try_prepare(Waiting one) {
    const NodePlace place = one.place;
    setups_.when_free(place, [this, one = std::move(one)] { prepare_now(one); });
  }
  void prepare_now(const Waiting& one) {
    using Begun = IsolationSteps::Begun;
    const auto begun = attempt<std::optional<Begun>>([&] { return steps_.begin_prepare(one.ground, one.place); });
    if (!begun) return tell<std::string>(std::unexpected(begun.error()), one.answer);
    if (!*begun) return waiting_.push_back(one);
    if (!(*begun)->setup) return tell<std::string>((*begun)->folder, one.answer);
    begin_setup<std::string>(one.place, **begun, one.answer,
                             [this, one] { return steps_.finish_prepare(one.ground, one.place); });
  }
  // Off the thread; what is left to do then gives the answer.
  template <class T>
  void begin_setup(const NodePlace& place, const IsolationSteps::Begun& begun, const Answer<T>& answer,
                   std::function<T()> finish) {
    ++unfinished_;
    setups_.begin(place, *begun.setup, [this, answer, finish = std::move(finish)](std::optional<Error> failure) {
      --unfinished_;
      if (failure) return tell<T>(std::unexpected(std::move(*failure)), answer);
      tell<T>(attempt<T>(finish), answer);
    });
  }

  Surroundings& around_;
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> is_applying_ = false;
  std::atomic<std::size_t> unfinished_ = 0;
  // Granted, and failed for reasons that may pass: when to try again.
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
  // Last: it uses all of the above.
  std::thread thread_;
};

}  // namespace reeve::runtime
