#include "ledger/reader.h"

#include <utility>

#include <fmt/format.h>

namespace reeve::ledger {

namespace {

using base::ErrorCode;

// Frees its memory after being idle this long.
constexpr std::chrono::seconds rest_pause(5);

}  // namespace

Reader::Reader(std::unique_ptr<store::Session> session, std::size_t max_waiting)
    : session_(std::move(session)), max_waiting_(max_waiting), thread_([this] { run(); }) {}

Reader::~Reader() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

bool Reader::submit(std::unique_ptr<Unit>& unit) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= max_waiting_ || is_ending_) return false;
    queue_.push_back(std::move(unit));
  }
  wake_.notify_one();
  return true;
}

void Reader::run() {
  bool is_at_rest = true;
  while (true) {
    std::unique_ptr<Unit> unit;
    {
      std::unique_lock lock(mutex_);
      const auto is_due = [&] { return is_ending_ || !queue_.empty(); };
      if (is_at_rest) {
        wake_.wait(lock, is_due);
      } else if (!wake_.wait_for(lock, rest_pause, is_due)) {
        session_->rest();
        is_at_rest = true;
        continue;
      }
      if (queue_.empty()) return;
      unit = std::move(queue_.front());
      queue_.pop_front();
    }
    is_at_rest = false;
    perform(*unit);
  }
}

void Reader::perform(Unit& unit) {
  std::optional<base::Error> error;
  try {
    unit.prepare();
    Transaction transaction(*session_);
    session_->begin();
    unit.run(transaction);
    session_->commit();
  } catch (const base::Error& failure) {
    error = failure;
  } catch (const std::exception& failure) {
    error.emplace(ErrorCode::store_failed, fmt::format("a unit of work failed: {}", failure.what()));
  } catch (const store::Conflict&) {
    error.emplace(ErrorCode::store_conflict, "the data changed while it was being read", "try again");
  } catch (const AggregateBusy&) {
    error.emplace(ErrorCode::store_busy, "another transaction holds a lock that this one needs",
                  "try again in a moment");
  }
  session_->rollback();
  unit.finish(error);
}

}  // namespace reeve::ledger
