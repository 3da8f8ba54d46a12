#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/notify/delivery.h"

namespace reeve::runtime {

// Sends a test message to every entry at once, and reports each result. Nothing is retried or stored.
class NotificationTrial {
 public:
  struct Result {
    model::Notification entry;
    // Why it was not delivered; empty if it was.
    std::string why;
  };
  using Done = std::function<void(std::vector<Result>)>;

  // `done` is called once, never from within the constructor. It must not destroy this object.
  NotificationTrial(Loop& loop, const base::Clock& clock, const std::vector<model::Notification>& entries,
                    const SenderSettings& sender, Done done);
  // Kills what is still running; `done` is then not called.
  ~NotificationTrial();
  NotificationTrial(const NotificationTrial&) = delete;
  NotificationTrial& operator=(const NotificationTrial&) = delete;

 private:
  void conclude(std::size_t index, std::string why);

  Loop& loop_;
  Done done_;
  std::vector<Result> results_;
  std::size_t open_ = 0;
  Loop::Hold empty_;
  // Last, because its members refer to the others.
  std::vector<std::unique_ptr<HookCommand>> commands_;
};

}  // namespace reeve::runtime
