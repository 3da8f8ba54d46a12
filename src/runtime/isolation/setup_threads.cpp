#include "runtime/isolation/setup_threads.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;

namespace {

std::optional<Error> try_setup(const SetupPlan& plan, const std::function<bool()>& is_ending) {
  try {
    set_up_worktree(plan, is_ending);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& failure) {
    return Error(ErrorCode::worktree_setup_failed, failure.what());
  }
}

}  // namespace

bool SetupThreads::Scope::overlaps(const Scope& other) const {
  if (root != other.root) return false;
  return !execution || !other.execution || (execution == other.execution && node == other.node);
}

void SetupThreads::begin(const NodeAttemptId& place, SetupPlan plan, Done done) {
  auto setup = std::make_shared<Setup>();
  setup->place = place;
  setup->plan = std::move(plan);
  setup->done = std::move(done);
  ++unfinished_;
  waiting_.push_back(std::move(setup));
  start_waiting();
}

void SetupThreads::cancel(const NodeAttemptId& place) {
  const std::scoped_lock lock(mutex_);
  cancelled_.push_back(place);
}

void SetupThreads::forget(const NodeAttemptId& place) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(cancelled_, place);
  if (found != cancelled_.end()) cancelled_.erase(found);
}

void SetupThreads::cancel_all(base::ExecutionId root) {
  for (const auto& setup : running_) {
    if (setup->place.root == root) setup->is_cancelled = true;
  }
  for (const auto& setup : waiting_) {
    if (setup->place.root == root) setup->is_cancelled = true;
  }
}

bool SetupThreads::is_ending(const Setup& setup) {
  if (is_stopping_ || setup.is_cancelled) return true;
  const std::scoped_lock lock(mutex_);
  return std::ranges::find(cancelled_, setup.place) != cancelled_.end();
}

void SetupThreads::start(const std::shared_ptr<Setup>& setup) {
  running_.push_back(setup);
  try {
    setup->thread = std::thread([this, setup] {
      const auto failure = try_setup(setup->plan, [&] { return is_ending(*setup); });
      run_on_owner_([this, setup, failure] { end(setup, failure); });
    });
  } catch (const std::system_error& failure) {
    run_on_owner_([this, setup, why = std::string(failure.what())] {
      end(setup, Error(ErrorCode::os_failed, "cannot start a thread for the setup of a worktree: " + why));
    });
  }
}

void SetupThreads::end(const std::shared_ptr<Setup>& setup, const std::optional<Error>& failure) {
  if (setup->thread.joinable()) setup->thread.join();
  std::erase(running_, setup);
  --unfinished_;
  setup->done(failure);
  // Deferred work may start further setups.
  std::deque<Deferred> deferred = std::exchange(deferred_, {});
  for (Deferred& one : deferred) when_free(one.scope, std::move(one.work));
  start_waiting();
}

void SetupThreads::start_waiting() {
  std::vector<std::shared_ptr<Setup>> given_up;
  std::erase_if(waiting_, [&](const std::shared_ptr<Setup>& setup) {
    const bool is_ended = is_ending(*setup);
    if (is_ended) given_up.push_back(setup);
    return is_ended;
  });
  while (!waiting_.empty() && running_.size() < max_at_once) {
    const auto next = std::move(waiting_.front());
    waiting_.pop_front();
    start(next);
  }
  for (const auto& setup : given_up) {
    // Reported later, after the caller has continued. Until then it counts as running.
    running_.push_back(setup);
    run_on_owner_([this, setup] {
      end(setup,
          Error(ErrorCode::worktree_setup_failed, "the setup of the worktree was not started: its task was cancelled"));
    });
  }
}

bool SetupThreads::is_taken(const Scope& scope) const {
  const auto overlaps = [&](const std::shared_ptr<Setup>& setup) { return scope.overlaps(scope_of(setup->place)); };
  return std::ranges::any_of(running_, overlaps) || std::ranges::any_of(waiting_, overlaps) ||
         std::ranges::any_of(deferred_, [&](const Deferred& one) { return scope.overlaps(one.scope); });
}

void SetupThreads::when_free(const Scope& scope, Work work) {
  if (is_taken(scope)) {
    deferred_.push_back({scope, std::move(work)});
    // A cancelled setup that was waiting ends now.
    return start_waiting();
  }
  work();
}

void SetupThreads::when_free(const NodeAttemptId& place, Work work) { when_free(scope_of(place), std::move(work)); }
void SetupThreads::when_free(base::ExecutionId root, Work work) { when_free(Scope{.root = root}, std::move(work)); }
bool SetupThreads::is_free(base::ExecutionId root) const { return !is_taken(Scope{.root = root}); }

void SetupThreads::stop() {
  is_stopping_ = true;
  for (const auto& setup : running_) {
    if (setup->thread.joinable()) setup->thread.join();
  }
  running_.clear();
}

}  // namespace reeve::runtime
