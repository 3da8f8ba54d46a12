#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/events/event_entry.h"
#include "runtime/events/event_hub.h"

// The implementation of EventHub: the ring (event_hub.cpp) and its subscriptions (event_subscription.cpp).
namespace reeve::runtime {

struct EventHub::Core : std::enable_shared_from_this<EventHub::Core> {
  class Subscription;
  static constexpr std::int64_t unknown = -1;

  Core(Loop& the_loop, Source the_source, Bounds the_bounds)
      : loop(the_loop), source(std::move(the_source)), bounds(the_bounds) {}

  void publish(std::span<const ledger::StoredEvent> events);
  void trim_inbox();
  void wake();
  void absorb();
  void take_pending();
  void append(ledger::StoredEvent event);
  void reset(std::int64_t next);
  void trim();
  void fill();
  void take_filled(Found found);
  void pump_all();
  void pump_soon();
  void tell_output(const std::string& lines);
  void note_listeners();
  std::vector<std::shared_ptr<Subscription>> alive();

  Loop& loop;
  const Source source;
  const Bounds bounds;

  // Filled by the store thread.
  std::mutex mutex;
  std::deque<ledger::StoredEvent> inbox;
  std::size_t inbox_bytes = 0;
  bool is_told = false;
  bool must_look = false;
  std::atomic<bool> has_listeners = false;
  std::atomic<std::uint64_t> published = 0;

  // Holds the events `first` to `last` without a gap. `last` is unknown before the first event or subscription.
  std::deque<EventEntry> ring;
  std::size_t ring_bytes = 0;
  std::int64_t last = unknown;
  std::int64_t first() const noexcept { return last + 1 - static_cast<std::int64_t>(ring.size()); }
  // Events after a gap that is being filled from the store: commits of other daemons are not published here and must be
  // read.
  std::deque<ledger::StoredEvent> pending;
  bool is_filling = false;

  std::vector<std::weak_ptr<Subscription>> subscriptions;
  Loop::Hold log;
  bool is_pump_scheduled = false;
  std::uint64_t cut = 0;
  std::uint64_t dropped = 0;
};

class EventHub::Core::Subscription final : public EventSubscription, public std::enable_shared_from_this<Subscription> {
 public:
  Subscription(std::weak_ptr<Core> hub, Request request, std::shared_ptr<EventListener> listener)
      : hub_(std::move(hub)), request_(std::move(request)), listener_(std::move(listener)), cursor_(request_.after) {}
  ~Subscription() override {
    // Posted, because this may run while the subscriptions are being iterated.
    if (const auto hub = hub_.lock()) hub->loop.post([hub] { hub->note_listeners(); });
  }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  void resume() override {
    const auto self = shared_from_this();
    if (dropped_ > 0 && !is_over_ && listener_->has_output_room()) tell_gap();
    const auto hub = hub_.lock();
    if (hub) pump(*hub);
  }
  std::int64_t cursor() const noexcept override { return cursor_; }

  bool wants_output() const noexcept { return !is_over_ && request_.filter.has(model::EventKind::tool_output); }
  std::size_t waiting() const { return listener_->waiting(); }
  void begin() { is_begun_ = true; }
  void pump(Core& hub);
  // False if the line was dropped.
  bool take_output(EventEntry& line);

 private:
  void read_page(Core& hub);
  void take_page(const Found& found);
  bool give(EventEntry& entry);
  void tell_gap() { listener_->take_gap(std::exchange(dropped_, 0)); }
  void finish(void (EventListener::*how)()) {
    is_over_ = true;
    (listener_.get()->*how)();
  }

  std::weak_ptr<Core> hub_;
  Request request_;
  std::shared_ptr<EventListener> listener_;
  std::int64_t cursor_ = 0;
  bool is_begun_ = false;
  bool is_reading_ = false;
  // It has caught up once and has been served from the ring since.
  bool is_live_ = false;
  bool is_over_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace reeve::runtime
