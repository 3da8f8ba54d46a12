#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>

namespace reeve::runtime {

// A thread beside the loop for what takes long and keeps nobody waiting. One job at a time.
class SideThread {
 public:
  SideThread() = default;
  // Asks the job to stop, and waits for it.
  ~SideThread() = default;
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  // False while another is being done. A job throws nothing, and looks at the token now and then.
  [[nodiscard]] bool begin(std::function<void(const std::stop_token&)> job) {
    if (is_busy_.exchange(true)) return false;
    // The last one is over.
    thread_ = std::jthread([this, job = std::move(job)](const std::stop_token& stop) {
      job(stop);
      is_busy_ = false;
    });
    return true;
  }

 private:
  std::atomic<bool> is_busy_ = false;
  // Last: it uses the above.
  std::jthread thread_;
};

}  // namespace reeve::runtime
