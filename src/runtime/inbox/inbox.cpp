#include "runtime/inbox/inbox.h"

#include <utility>

namespace reeve::runtime {

Inbox::Inbox(Loop& loop, Handler handle) : loop_(loop), core_(std::make_shared<Core>(std::move(handle))) {}

void Inbox::post(Event event) {
  if (!core_->is_open) return;
  ++core_->waiting;
  loop_.post([weak = std::weak_ptr(core_), event = std::make_shared<Event>(std::move(event))] {
    const auto core = weak.lock();
    if (!core) return;
    --core->waiting;
    if (core->is_open) core->handle(std::move(*event));
  });
}

}  // namespace reeve::runtime
