#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "ledger/unit.h"

namespace reeve::ledger {

// A thread with its own read-only session, so that reads are answered while the writer waits for a lock. Each unit sees
// everything that was committed before it began.
class Reader {
 public:
  Reader(std::unique_ptr<store::Session> session, std::size_t max_waiting);
  // Finishes all submitted units.
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // False if too many units wait: the unit was not accepted. Units are finished on this thread.
  [[nodiscard]] bool submit(std::unique_ptr<Unit>& unit);

 private:
  void run();
  void perform(Unit& unit);

  std::unique_ptr<store::Session> session_;
  std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Unit>> queue_;
  bool is_ending_ = false;
  // Last: it uses all of the above.
  std::thread thread_;
};

}  // namespace reeve::ledger
