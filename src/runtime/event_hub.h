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

#include "ledger/unit.h"
#include "runtime/event_filter.h"
#include "runtime/loop.h"

// From the commit to all who listen.
namespace reeve::runtime {

// How a transport writes one event under the name that was asked for. The function is the key by which its text is kept
// and shared: it gives the same for the same. Of output, which has no number, `seq` is 0.
using EventWriter = std::string (*)(const ledger::StoredEvent& event, std::string_view name);
using EventText = std::shared_ptr<const std::string>;

// One client, as the hub sees it. Called on the loop's thread, and calls nothing of the hub while it is.
class EventListener {
 public:
  virtual ~EventListener() = default;
  // Whether it takes more now. If not, resume() is called when it does again.
  virtual bool has_room() const = 0;
  // The same for lines of output, which are dropped rather than waited for.
  virtual bool has_output_room() const { return has_room(); }
  virtual void take(const EventText& text) = 0;
  // So many lines of output were dropped for want of room.
  virtual void take_gap(std::uint64_t /*lines*/) {}
  // It had all there was, and has not taken what came since as fast as it came: its next event is no longer at hand,
  // and it gets no more.
  virtual void fall_behind() = 0;
  // The store cannot be read; it gets no more.
  virtual void fail(const base::Error& error) = 0;
  // Of one that does not follow: that was all. It gets no more.
  virtual void reach_end() {}
  // Bytes that wait for it.
  virtual std::size_t waiting() const = 0;
};

// Ends with its last owner; after that its listener is not called any more.
class EventSubscription {
 public:
  virtual ~EventSubscription() = default;
  // There is room again.
  virtual void resume() = 0;
  // The number of the last event that was given or passed over.
  virtual std::int64_t cursor() const noexcept = 0;
};

// Has the newest events at hand and hands them to everybody who listens, each from the number on that it names, without
// a gap and in their order: from the ring of the newest while that has them, from the store when somebody is behind.
class EventHub {
 public:
  struct Bounds {
    // What the ring holds, at most; the bytes count the texts made of it.
    std::size_t events = 4'096;
    std::size_t bytes = 4UL << 20U;
    // While nobody listens.
    std::size_t idle_events = 256;
    // Read from the store at once.
    std::int64_t page = 500;
    // Given to one listener before others have their turn.
    std::size_t turn = 256;
  };
  using Found = std::expected<std::vector<ledger::StoredEvent>, base::Error>;
  struct Source {
    // Events behind that number, in their order; calls on the loop's thread.
    std::function<void(std::int64_t after, std::int64_t most, std::function<void(Found)> done)> read;
    // Calls with stretches of whole lines of the log; asked for only while somebody wants output.
    std::function<Loop::Hold(std::function<void(const std::string&)> lines)> follow_log;
  };

  EventHub(Loop& loop, Source source, Bounds bounds);
  EventHub(Loop& loop, Source source) : EventHub(loop, std::move(source), Bounds{}) {}
  ~EventHub();
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  // From the store thread, right after each commit, in the order of commits. Empty: something was committed, and its
  // numbers are not known.
  void publish(std::span<const ledger::StoredEvent> events);

  // The rest is called on the loop's thread.

  // Others may have committed something to the same store.
  void look();

  struct Wish {
    EventFilter filter = EventFilter::all();
    EventWriter write = nullptr;
    // Begins with the event behind this one.
    std::int64_t after = 0;
    // The last one that the store had when it was asked: from the store, never from a client.
    std::int64_t last = 0;
    // Else: what the store has, and then the end.
    bool follows = true;
    // Whether one that has fallen behind is cut; if not, it goes on from the store whenever it takes more.
    bool is_cut = true;
  };
  // Nothing is called before this returns.
  [[nodiscard]] std::shared_ptr<EventSubscription> subscribe(Wish wish, std::shared_ptr<EventListener> listener);

  // A client was cut because it did not read, by its transport; those that fall behind are counted here.
  void count_cut() noexcept;

  struct Figures {
    // Since the daemon began: events that were published here, clients that were cut because they did not read.
    std::uint64_t published = 0;
    std::uint64_t clients_cut = 0;
    // Output lines that were dropped, over all clients.
    std::uint64_t lines_dropped = 0;
    std::size_t clients = 0;
    // Over all clients, and of the one that is furthest behind the newest event.
    std::size_t waiting_bytes = 0;
    std::int64_t lag_events = 0;
    // At hand.
    std::size_t ring_events = 0;
    std::size_t ring_bytes = 0;
  };
  Figures figures() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace reeve::runtime
