#include "adapter/mailbox.h"

#include <cerrno>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include "base/error.h"

namespace reeve::adapter {

Mailbox::Mailbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) base::throw_errno(base::ErrorCode::os_failed, "cannot create an eventfd", errno);
}

void Mailbox::wake() const noexcept {
  const std::uint64_t one = 1;
  // Fails only if it is readable anyway.
  static_cast<void>(!::write(event_.get(), &one, sizeof one));
}

void Mailbox::post(Message message) {
  const std::lock_guard lock(mutex_);
  messages_.push_back(std::move(message));
  wake();
}

bool Mailbox::post_event(ServerEvent event, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!has_room_.wait(lock, stop, [this] { return messages_.size() < max_events; })) return false;
  messages_.emplace_back(std::move(event));
  wake();
  return true;
}

std::vector<Message> Mailbox::take() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  static_cast<void>(!::read(event_.get(), &count, sizeof count));
  has_room_.notify_all();
  return std::exchange(messages_, {});
}

}  // namespace reeve::adapter
