#include "runtime/isolation/git_thread.h"

#include <utility>

namespace reeve::runtime {

GitThread::GitThread() : thread_([this] { run(); }) {}

std::expected<void, base::Error> GitThread::submit(Work work) {
  const std::scoped_lock lock(mutex_);
  if (queue_.size() >= max_waiting) {
    return std::unexpected(
        base::Error(base::ErrorCode::git_busy, "too many requests are waiting for git", "try again in a moment"));
  }
  queue_.push_back(std::move(work));
  ++unfinished_;
  wake_.notify_one();
  return {};
}

void GitThread::push(Work work) {
  const std::scoped_lock lock(mutex_);
  queue_.push_back(std::move(work));
  ++unfinished_;
  wake_.notify_one();
}

void GitThread::pause(base::Milliseconds time) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, time, [this] { return is_stopping_.load(); });
}

void GitThread::stop() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void GitThread::run() {
  for (;;) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
      if (is_stopping_) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
    --unfinished_;
  }
}

}  // namespace reeve::runtime
