#include <utility>

#include "runtime/events/event_hub_core.h"

// A subscriber of the hub, which reads at its own pace.
namespace reeve::runtime {

using ledger::StoredEvent;

void EventHub::Core::Subscription::pump(Core& hub) {
  const auto self = shared_from_this();
  if (!is_begun_ || is_reading_ || is_over_) return;
  if (!request_.follows) {
    if (listener_->has_room()) read_page(hub);
    return;
  }
  for (std::size_t given = 0;; ++given) {
    if (cursor_ >= hub.last) {
      is_live_ = true;
      return;
    }
    const bool is_at_hand = cursor_ + 1 >= hub.first();
    if (!listener_->has_room()) {
      if (is_live_ && !is_at_hand && request_.is_cut) {
        ++hub.cut;
        finish(&EventListener::fall_behind);
      }
      return;
    }
    if (!is_at_hand) {
      is_live_ = false;
      return read_page(hub);
    }
    if (given == hub.bounds.turn) return hub.pump_soon();
    EventEntry& entry = hub.ring[static_cast<std::size_t>(cursor_ + 1 - hub.first())];
    const std::size_t before = entry.bytes();
    give(entry);
    hub.ring_bytes += entry.bytes() - before;
  }
}

bool EventHub::Core::Subscription::give(EventEntry& entry) {
  cursor_ = entry.event().seq;
  const auto text = entry.text(request_.filter, request_.write);
  if (text) listener_->take(*text);
  return text.has_value();
}

void EventHub::Core::Subscription::read_page(Core& hub) {
  is_reading_ = true;
  hub.source.read(cursor_, hub.bounds.page, [weak = weak_from_this()](const Found& found) {
    if (const auto self = weak.lock()) self->take_page(found);
  });
}

void EventHub::Core::Subscription::take_page(const Found& found) {
  const auto self = shared_from_this();
  is_reading_ = false;
  const auto hub = hub_.lock();
  if (is_over_ || !hub) return;
  if (!found) {
    is_over_ = true;
    listener_->fail(found.error());
    return;
  }
  std::size_t given = 0;
  for (const StoredEvent& event : *found) {
    // The rest is read again later: nothing is buffered for a subscriber that does not take it.
    if (!listener_->has_room()) break;
    ++given;
    if (event.seq <= cursor_) continue;
    EventEntry entry(event);
    give(entry);
  }
  const bool is_last = std::cmp_less(found->size(), hub->bounds.page) && given == found->size();
  if (is_last && !request_.follows) return finish(&EventListener::reach_end);
  // Skips numbers that no event has, which would never arrive.
  if (found->empty() && cursor_ + 1 < hub->first()) cursor_ = hub->first() - 1;
  pump(*hub);
}

bool EventHub::Core::Subscription::take_output(EventEntry& line) {
  if (is_over_ || !is_begun_) return true;
  const auto text = line.text(request_.filter, request_.write);
  if (!text) return true;
  if (!listener_->has_output_room()) {
    ++dropped_;
    return false;
  }
  if (dropped_ > 0) tell_gap();
  listener_->take(*text);
  return true;
}

}  // namespace reeve::runtime
