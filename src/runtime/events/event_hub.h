#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/event.h"
#include "runtime/events/event_filter.h"
#include "runtime/loop/loop.h"

// Delivers committed events to subscribers.
namespace reeve::runtime {

// Renders one event under the requested name for a transport. Rendered text is cached and shared by function pointer,
// so a writer must be deterministic. `seq` is 0 for output, which has no number.
using EventWriter = std::string (*)(const ledger::StoredEvent& event, std::string_view name);
using EventText = std::shared_ptr<const std::string>;

// One client of the hub. Called on the loop's thread; must not call the hub from within these functions.
class EventListener {
 public:
  virtual ~EventListener() = default;
  // Whether it accepts more now. After a false, the client calls resume() when it has room again.
  virtual bool has_room() const = 0;
  // The same for lines of output, which are dropped instead of delayed.
  virtual bool has_output_room() const { return has_room(); }
  virtual void take(const EventText& text) = 0;
  // That many lines of output were dropped because there was no room.
  virtual void take_gap(std::uint64_t /*lines*/) {}
  // The client was up to date but then read too slowly: its next event has left the ring. Nothing more is sent.
  virtual void fall_behind() = 0;
  // The store cannot be read. Nothing more is sent.
  virtual void fail(const base::Error& error) = 0;
  // A subscription without `follows` has received everything. Nothing more is sent.
  virtual void reach_end() {}
  // Bytes queued for the client.
  virtual std::size_t waiting() const = 0;
};

// Ends when its last owner releases it; the listener is not called after that.
class EventSubscription {
 public:
  virtual ~EventSubscription() = default;
  // The listener has room again.
  virtual void resume() = 0;
  // The number of the last event that was delivered or filtered out.
  virtual std::int64_t cursor() const noexcept = 0;
};

// Delivers events to all subscribers in order and without gaps, each from the number it requests: from a ring of the
// newest events, or from the store for a subscriber that is behind.
class EventHub {
 public:
  struct Bounds {
    // Limits of the ring; the bytes include rendered texts.
    std::size_t events = 4'096;
    std::size_t bytes = 4UL << 20U;
    // Limit while there are no subscribers.
    std::size_t idle_events = 256;
    // Events per read from the store.
    std::int64_t page = 500;
    // Events delivered to one listener before the next gets its turn.
    std::size_t turn = 256;
  };
  using Found = std::expected<std::vector<ledger::StoredEvent>, base::Error>;
  struct Source {
    // Reads the events after that number, in order; calls `done` on the loop's thread.
    std::function<void(std::int64_t after, std::int64_t most, std::function<void(Found)> done)> read;
    // Calls `lines` with batches of whole log lines; used only while a subscriber wants output.
    std::function<Loop::Hold(std::function<void(const std::string&)> lines)> follow_log;
  };

  EventHub(Loop& loop, Source source, Bounds bounds);
  EventHub(Loop& loop, Source source) : EventHub(loop, std::move(source), Bounds{}) {}
  ~EventHub();
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  // Called on the store thread right after each commit, in commit order. An empty span means that something was
  // committed whose numbers are not known.
  void publish(std::span<const ledger::StoredEvent> events);

  // Everything below is called on the loop's thread.

  // Other daemons may have committed to the same store.
  void poll();

  struct Request {
    EventFilter filter = EventFilter::all();
    EventWriter write = nullptr;
    // Delivery starts with the event after this one.
    std::int64_t after = 0;
    // The store's last event number at the time of the request; taken from the store, never from the client.
    std::int64_t last = 0;
    // If false: delivers what the store has, then ends.
    bool follows = true;
    // Whether a subscriber that falls behind is disconnected; otherwise it continues from the store whenever it has
    // room.
    bool is_cut = true;
  };
  // Calls nothing before it returns.
  [[nodiscard]] std::shared_ptr<EventSubscription> subscribe(Request request, std::shared_ptr<EventListener> listener);

  // Counts a slow client that its transport disconnected; clients that fall behind in the ring are counted by the hub.
  void count_cut() noexcept;

  struct Figures {
    // Since the daemon started: events published here, and slow clients disconnected.
    std::uint64_t published = 0;
    std::uint64_t clients_cut = 0;
    // Output lines dropped, over all clients.
    std::uint64_t lines_dropped = 0;
    std::size_t clients = 0;
    // Bytes queued over all clients, and the lag of the client furthest behind the newest event.
    std::size_t waiting_bytes = 0;
    std::int64_t lag_events = 0;
    // Contents of the ring.
    std::size_t ring_events = 0;
    std::size_t ring_bytes = 0;
  };
  Figures figures() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace reeve::runtime
