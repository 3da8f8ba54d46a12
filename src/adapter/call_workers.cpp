#include "adapter/call_workers.h"

#include <algorithm>
#include <utility>

namespace reeve::adapter {

namespace {

using base::BootTime;
using base::Milliseconds;

// An approval expires long before.
constexpr std::chrono::hours decision_time(24 * 366);
constexpr Milliseconds longest_poll(30'000);
// While a call may be left at any moment: first short, then rare, because it may be held for hours.
constexpr Milliseconds leaving_poll(500);
constexpr Milliseconds held_poll(5'000);
constexpr int leaving_polls = 6;

BootTime now() { return base::SystemClock().boot_now(); }

// How long each request of a wait may last.
class PollTimes {
 public:
  explicit PollTimes(const std::optional<Milliseconds>& leave_after) {
    if (leave_after) leave_at_ = now() + *leave_after;
  }
  Milliseconds next() {
    if (!leave_at_) return longest_poll;
    const auto left = std::chrono::ceil<Milliseconds>(*leave_at_ - now());
    if (left > Milliseconds(0)) return std::clamp(left, leaving_poll, longest_poll);
    return ++late_polls_ <= leaving_polls ? leaving_poll : held_poll;
  }

 private:
  std::optional<BootTime> leave_at_;
  int late_polls_ = 0;
};

}  // namespace

CallWorkers::CallWorkers(std::filesystem::path socket, Mailbox& mailbox)
    : socket_(std::move(socket)), mailbox_(mailbox) {}

CallWorkers::~CallWorkers() {
  {
    const std::lock_guard lock(mutex_);
    queue_.clear();
    for (const auto& [number, job] : jobs_) job->stop.request_stop();
  }
  for (std::jthread& thread : threads_) thread.request_stop();
}

void CallWorkers::ask(std::uint64_t number, wire::CallRequest request, std::optional<Milliseconds> leave_after) {
  auto job = std::make_shared<Job>();
  job->number = number;
  job->request = std::move(request);
  job->leave_after = leave_after;
  const std::lock_guard lock(mutex_);
  jobs_.insert_or_assign(number, job);
  queue_.push_back(std::move(job));
  if (queue_.size() > idle_threads_) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
  changed_.notify_one();
}

void CallWorkers::leave(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (const auto found = jobs_.find(number); found != jobs_.end()) found->second->leaves = true;
}

void CallWorkers::drop(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) return;
  found->second->stop.request_stop();
  jobs_.erase(found);
}

void CallWorkers::work(const std::stop_token& stop) {
  client::RunSocket socket(socket_, {.deadline = now()});
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_threads_;
    const bool has_work = changed_.wait(lock, stop, [this] { return !queue_.empty(); });
    --idle_threads_;
    if (!has_work) return;
    const std::shared_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    if (!job->stop.stop_requested()) perform(socket, *job);
    lock.lock();
    // The number may have been asked again meanwhile.
    if (const auto found = jobs_.find(job->number); found != jobs_.end() && found->second == job) jobs_.erase(found);
  }
}

void CallWorkers::perform(client::RunSocket& socket, Job& job) {
  socket.set_terms({.deadline = now() + decision_time, .stop = job.stop.get_token()});
  std::optional<PollTimes> times;
  const auto on_wait = [&](const wire::CallReply& reply) -> std::optional<Milliseconds> {
    if (!times) {
      times.emplace(job.leave_after);
      mailbox_.post(CallWaits{job.number, reply});
    }
    if (job.leaves) return std::nullopt;
    return times->next();
  };
  auto reply = socket.decide(job.request, on_wait);
  // Nobody wants to know any more, and a later job may have the same number.
  if (!job.stop.stop_requested()) mailbox_.post(CallReplied{job.number, std::move(reply)});
}

}  // namespace reeve::adapter
