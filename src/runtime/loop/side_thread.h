#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>

namespace reeve::runtime {

// A background thread for long jobs that no request waits for. One job at a time.
class SideThread {
 public:
  SideThread() = default;
  // Asks the job to stop and waits for it.
  ~SideThread() = default;
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  // A job must not throw and should check the token regularly. It returns what reports its result, which is called when
  // the next job may begin.
  using Job = std::function<std::function<void()>(const std::stop_token&)>;
  // False while another job is running.
  [[nodiscard]] bool begin(Job job) {
    if (is_busy_.exchange(true)) return false;
    // The previous job has ended except for its report, which does not block.
    thread_ = std::jthread([this, job = std::move(job)](const std::stop_token& stop) {
      const std::function<void()> report = job(stop);
      is_busy_ = false;
      report();
    });
    return true;
  }

 private:
  std::atomic<bool> is_busy_ = false;
  // Declared last: it uses the members above.
  std::jthread thread_;
};

}  // namespace reeve::runtime
