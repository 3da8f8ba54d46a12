#include "ledger/ledger.h"

#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>

#include "base/error.h"

namespace reeve::ledger {

using base::ErrorCode;
using base::Milliseconds;
using std::chrono::steady_clock;

namespace {

// After a hint: check at once, then after 1, 2, 4 … 128 ms. The write that caused the hint becomes visible slightly
// later.
constexpr Milliseconds first_pause(1);
constexpr Milliseconds busy_look_pause(4);
constexpr Milliseconds longest_pause(128);
// Units whose execution another daemon holds are retried after this.
constexpr Milliseconds busy_pause(1);
constexpr std::size_t max_tasks = 64;
// How many direct SQL updates are processed together.
constexpr std::int64_t max_outside = 256;

class OutsideUnit final : public Unit {
 public:
  OutsideUnit(base::ApprovalId id, Executions& executions, const WorkerCapacity& worker,
              const std::function<void(const OutsideResult&)>& told)
      : id_(id), executions_(executions), worker_(worker), told_(told) {}
  void run(Transaction& transaction) override { result_ = settle_outside(transaction, executions_, worker_, id_); }
  void finish(const std::optional<base::Error>& error) override {
    if (!error && told_ && result_.kind != OutsideResult::Kind::nothing) told_(result_);
  }

 private:
  base::ApprovalId id_;
  Executions& executions_;
  WorkerCapacity worker_;
  const std::function<void(const OutsideResult&)>& told_;
  OutsideResult result_;
};

}  // namespace

Ledger::Ledger(std::unique_ptr<store::Session> session, Options options, std::unique_ptr<store::Session> reader)
    : session_(std::move(session)),
      options_(std::move(options)),
      propagation_(executions_, {.worker = [this] { return worker(); }, .told = options_.followed}),
      commits_(*session_, options_.hooks, &propagation_),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      // Polls at once, for decisions made while no daemon was running.
      next_poll_(steady_clock::now()) {
  if (!wake_) base::throw_errno(ErrorCode::os_failed, "cannot make an eventfd", errno);
  if (reader) reader_ = std::make_unique<Reader>(std::move(reader), options_.max_waiting);
  thread_ = std::thread([this] { run(); });
}

Ledger::~Ledger() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

WorkerCapacity Ledger::worker() const {
  const std::lock_guard lock(mutex_);
  return options_.worker;
}

void Ledger::set_worker(const WorkerCapacity& worker) {
  const std::lock_guard lock(mutex_);
  options_.worker = worker;
}

bool Ledger::submit(std::unique_ptr<Unit> unit) {
  unit->terms = RequestTerms::current();
  if (reader_ && unit->terms && unit->terms->only_reads()) return reader_->submit(unit);
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= options_.max_waiting || is_ending_) {
      // Whatever was refused is tried again at a poll.
      is_report_wanted_ = true;
      return false;
    }
    was_empty = queue_.empty();
    queue_.push_back(std::move(unit));
  }
  if (was_empty) ::eventfd_write(wake_.get(), 1);
  return true;
}

Ledger::Stall Ledger::stall() const noexcept {
  // A shorter time is normal work.
  constexpr Milliseconds least(1'000);
  const std::int64_t since = *working_since_;
  if (since == 0) return {};
  const auto begun = steady_clock::time_point(steady_clock::duration(since));
  const auto duration = std::chrono::duration_cast<Milliseconds>(steady_clock::now() - begun);
  if (duration < least) return {};
  if (session_->engine() == store::Engine::postgresql) return {Stall::Kind::unreachable, duration};
  return {commits_.is_beginning() ? Stall::Kind::locked : Stall::Kind::busy, duration};
}

void Ledger::between(std::function<void(store::Session&)> task) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= max_tasks) return;
    tasks_.push_back(std::move(task));
  }
  ::eventfd_write(wake_.get(), 1);
}

void Ledger::run_tasks() {
  std::vector<std::function<void(store::Session&)>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) {
    try {
      task(*session_);
    } catch (const base::Error&) {
      // The caller checks the result.
    }
  }
  if (!tasks.empty() && is_logless_) empty_log();
}

void Ledger::set_logless(bool is_logless) {
  is_logless_ = is_logless;
  if (is_logless) between([](store::Session&) {});
}

void Ledger::empty_log() noexcept {
  if (session_->engine() != store::Engine::sqlite) return;
  try {
    // The log must be empty, because another database may be put next to it. A reader is not waited for long; its part
    // of the log is moved after the next group.
    session_->run_script("PRAGMA busy_timeout = 100; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout = 30000");
  } catch (const std::exception&) {
    // The next group tries again.
  }
}

std::size_t Ledger::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

Group Ledger::take_group(Group& retries) {
  Group group = std::move(retries);
  retries.clear();
  const std::lock_guard lock(mutex_);
  while (!queue_.empty() && group.size() < options_.max_in_group) {
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return group;
}

void Ledger::run() {
  Group retries;
  while (true) {
    *working_since_ = 0;
    wait(!retries.empty());
    *working_since_ = std::max<std::int64_t>(steady_clock::now().time_since_epoch().count(), 1);
    run_tasks();
    look_outside();
    Group group = take_group(retries);
    if (!group.empty()) {
      retries = keep_busy(commits_.run(std::move(group)));
      if (is_logless_) empty_log();
      worked_at_ = steady_clock::now();
      is_at_rest_ = false;
      continue;
    }
    if (!is_at_rest_ && steady_clock::now() - worked_at_ >= options_.poll) {
      session_->rest();
      is_at_rest_ = true;
    }
    const std::lock_guard lock(mutex_);
    if (is_ending_ && queue_.empty()) return;
  }
}

// The units to retry. Another daemon normally finishes within milliseconds; a unit that waits longer fails.
Group Ledger::keep_busy(Group busy) {
  const auto now = steady_clock::now();
  Group kept;
  for (std::unique_ptr<Unit>& unit : busy) {
    if (!unit->busy_since) unit->busy_since = now;
    if (now - *unit->busy_since < options_.hooks.outage_timeout) {
      kept.push_back(std::move(unit));
    } else {
      commits_.finish(*unit, base::Error(ErrorCode::store_busy, "another transaction holds a lock that this one needs",
                                         "try again in a moment"));
    }
  }
  return kept;
}

// Waits until there is a unit, another program may have written, or a poll is due.
void Ledger::wait(bool has_retries) {
  const auto now = steady_clock::now();
  auto until = next_poll_;
  if (look_pause_ > Milliseconds(0)) until = std::min(until, next_look_);
  if (has_retries) until = std::min(until, now + busy_pause);
  {
    const std::lock_guard lock(mutex_);
    if (!queue_.empty() || !tasks_.empty() || (is_ending_ && !has_retries)) until = now;
  }
  std::array<pollfd, 2> fds = {pollfd{wake_.get(), POLLIN, 0}, pollfd{session_->notice_fd(), POLLIN, 0}};
  const auto rest = std::max(until - now, steady_clock::duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(rest);
  const timespec timeout{seconds.count(), std::chrono::nanoseconds(rest - seconds).count()};
  ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
  eventfd_t count = 0;
  ::eventfd_read(wake_.get(), &count);
}

void Ledger::look_outside() {
  const auto now = steady_clock::now();
  const bool is_poll = now >= next_poll_;
  if (is_poll) {
    next_poll_ = now + options_.poll;
    options_.polled();
  }
  Group group;
  try {
    const bool was_written = was_written_outside(now, is_poll);
    if (was_written) is_unreported_ = true;
    if (!is_poll && !was_written) return;
    // At a poll in any case: an earlier attempt to settle them may have failed.
    for (const base::ApprovalId id : find_outside(*session_, max_outside)) {
      group.push_back(std::make_unique<OutsideUnit>(id, executions_, worker(), options_.outside));
    }
  } catch (const base::Error&) {
    // The store cannot be read right now: the next poll tries again.
    is_unreported_ = true;
    return;
  }
  if (!group.empty()) is_unreported_ = true;
  const bool is_more = std::ssize(group) == max_outside;
  const bool is_busy = !group.empty() && !commits_.run(std::move(group)).empty();
  if (is_more || is_busy) next_poll_ = now + busy_pause;
  if (must_report(is_poll)) report();
}

// Whether another program has written since the last check; checked after a hint and at a poll.
bool Ledger::was_written_outside(steady_clock::time_point now, bool is_poll) {
  if (session_->take_notice()) {
    // Its own commits cause notices too, so a busy ledger checks at intervals and not after each commit.
    next_look_ = std::max(now, last_look_ + busy_look_pause);
    look_pause_ = first_pause;
  }
  const bool is_hinted = look_pause_ > Milliseconds(0) && now >= next_look_;
  if (is_hinted) {
    last_look_ = now;
    next_look_ = now + look_pause_;
    look_pause_ = look_pause_ >= longest_pause ? Milliseconds(0) : look_pause_ * 2;
  }
  return (is_hinted || is_poll) && session_->was_changed_outside();
}

// An idle daemon must not wake its loop at each poll.
bool Ledger::must_report(bool is_poll) {
  if (is_unreported_) return true;
  if (!is_poll) return false;
  if (is_report_wanted_.exchange(false) || session_->engine() == store::Engine::postgresql) return true;
  if (commits_.failures() != reported_failures_) return true;
  try {
    return options_.is_due(*session_, session_->changes() != reported_changes_);
  } catch (const base::Error&) {
    return true;
  }
}

void Ledger::report() {
  is_unreported_ = false;
  reported_changes_ = session_->changes();
  reported_failures_ = commits_.failures();
  options_.looked();
}

}  // namespace reeve::ledger
