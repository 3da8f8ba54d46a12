#include "runtime/event_hub.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace reeve::runtime {

namespace {

using ledger::StoredEvent;
using model::EventKind;

// Of an event without its texts: strings, the entry itself, the block that a text is counted in.
constexpr std::size_t entry_overhead = 256;
constexpr std::int64_t unknown = -1;

// An event with what was made of it so far.
class Entry {
 public:
  explicit Entry(StoredEvent event) : event_(std::move(event)) {}

  const StoredEvent& event() const noexcept { return event_; }
  std::size_t bytes() const noexcept { return entry_overhead + event_.data.size() + text_bytes_; }

  // Nothing when the filter does not want it.
  std::optional<EventText> text(const EventFilter& filter, EventWriter write) {
    if (!filter.has(event_.kind)) return std::nullopt;
    const bool needs_facts = filter.needs_facts(event_.kind);
    if (needs_facts && !facts_) facts_ = std::make_unique<EventFacts>(read_facts(event_));
    const auto name = filter.name_of(event_.kind, facts_.get());
    if (!name) return std::nullopt;
    for (const Made& made : made_) {
      if (made.write == write && made.name == *name) return made.text;
    }
    auto text = std::make_shared<const std::string>(write(event_, *name));
    text_bytes_ += text->size() + entry_overhead;
    // Few names lead to one event: this list is short.
    made_.push_back({write, std::string(*name), text});
    return text;
  }

 private:
  struct Made {
    EventWriter write;
    std::string name;
    EventText text;
  };

  StoredEvent event_;
  std::unique_ptr<EventFacts> facts_;
  std::vector<Made> made_;
  std::size_t text_bytes_ = 0;
};

std::size_t size_of(const StoredEvent& event) noexcept { return entry_overhead + event.data.size(); }

// A `tool_output` line of the log as an event without a number; nothing for other lines.
std::optional<StoredEvent> read_output_line(std::string_view line) {
  constexpr std::string_view begin = R"({"event":"tool_output","timestamp":")";
  constexpr std::string_view behind = R"(",)";
  if (!line.starts_with(begin)) return std::nullopt;
  line.remove_prefix(begin.size());
  const std::size_t end = line.find(behind);
  if (end == std::string_view::npos) return std::nullopt;
  std::string data = "{";
  data += line.substr(end + behind.size());
  return StoredEvent{0, std::string(line.substr(0, end)), EventKind::tool_output, std::move(data)};
}

}  // namespace

struct EventHub::Core : std::enable_shared_from_this<EventHub::Core> {
  class Subscription;

  Core(Loop& the_loop, Source the_source, Bounds the_bounds)
      : loop(the_loop), source(std::move(the_source)), bounds(the_bounds) {}

  void publish(std::span<const StoredEvent> events);
  void trim_inbox();
  void wake();
  void absorb();
  void take_pending();
  void append(StoredEvent event);
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
  std::deque<StoredEvent> inbox;
  std::size_t inbox_bytes = 0;
  bool is_told = false;
  bool must_look = false;
  std::atomic<bool> has_listeners = false;
  std::atomic<std::uint64_t> published = 0;

  // The numbers from `first` to `last`, without a gap. `last` is unknown before the first event or subscription.
  std::deque<Entry> ring;
  std::size_t ring_bytes = 0;
  std::int64_t last = unknown;
  std::int64_t first() const noexcept { return last + 1 - static_cast<std::int64_t>(ring.size()); }
  // Behind a gap that is being filled: what others committed to the same store is not told here, it must be read.
  std::deque<StoredEvent> pending;
  bool is_filling = false;

  std::vector<std::weak_ptr<Subscription>> subscriptions;
  Loop::Hold log;
  bool is_pump_scheduled = false;
  std::uint64_t cut = 0;
  std::uint64_t dropped = 0;
};

class EventHub::Core::Subscription final : public EventSubscription, public std::enable_shared_from_this<Subscription> {
 public:
  Subscription(std::weak_ptr<Core> hub, Wish wish, std::shared_ptr<EventListener> listener)
      : hub_(std::move(hub)), wish_(std::move(wish)), listener_(std::move(listener)), cursor_(wish_.after) {}
  ~Subscription() override {
    // By a post: it may be the last of those that are just being gone through.
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

  bool wants_output() const noexcept { return !is_over_ && wish_.filter.has(EventKind::tool_output); }
  std::size_t waiting() const { return listener_->waiting(); }
  void begin() { is_begun_ = true; }
  void pump(Core& hub);
  // False: it was dropped.
  bool take_output(Entry& line);

 private:
  void read_page(Core& hub);
  void take_page(const Found& found);
  bool give(Entry& entry);
  void tell_gap() { listener_->take_gap(std::exchange(dropped_, 0)); }
  void finish(void (EventListener::*how)()) {
    is_over_ = true;
    (listener_.get()->*how)();
  }

  std::weak_ptr<Core> hub_;
  Wish wish_;
  std::shared_ptr<EventListener> listener_;
  std::int64_t cursor_ = 0;
  bool is_begun_ = false;
  bool is_reading_ = false;
  // It has had all there was at some time, and since then everything from the ring.
  bool is_live_ = false;
  bool is_over_ = false;
  std::uint64_t dropped_ = 0;
};

void EventHub::Core::Subscription::pump(Core& hub) {
  const auto self = shared_from_this();
  if (!is_begun_ || is_reading_ || is_over_) return;
  if (!wish_.follows) {
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
      if (is_live_ && !is_at_hand && wish_.is_cut) {
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
    Entry& entry = hub.ring[static_cast<std::size_t>(cursor_ + 1 - hub.first())];
    const std::size_t before = entry.bytes();
    give(entry);
    hub.ring_bytes += entry.bytes() - before;
  }
}

bool EventHub::Core::Subscription::give(Entry& entry) {
  cursor_ = entry.event().seq;
  const auto text = entry.text(wish_.filter, wish_.write);
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
    // What is left is read again: nothing is kept for one that does not take it.
    if (!listener_->has_room()) break;
    ++given;
    if (event.seq <= cursor_) continue;
    Entry entry(event);
    give(entry);
  }
  const bool is_last = std::cmp_less(found->size(), hub->bounds.page) && given == found->size();
  if (is_last && !wish_.follows) return finish(&EventListener::reach_end);
  // Numbers that no event has: whoever waits for them would wait for ever.
  if (found->empty() && cursor_ + 1 < hub->first()) cursor_ = hub->first() - 1;
  pump(*hub);
}

bool EventHub::Core::Subscription::take_output(Entry& line) {
  if (is_over_ || !is_begun_) return true;
  const auto text = line.text(wish_.filter, wish_.write);
  if (!text) return true;
  if (!listener_->has_output_room()) {
    ++dropped_;
    return false;
  }
  if (dropped_ > 0) tell_gap();
  listener_->take(*text);
  return true;
}

void EventHub::Core::publish(std::span<const StoredEvent> events) {
  published += events.size();
  const std::lock_guard lock(mutex);
  if (events.empty()) must_look = true;
  for (const StoredEvent& event : events) {
    inbox_bytes += size_of(event);
    inbox.push_back(event);
  }
  trim_inbox();
  if (has_listeners) wake();
}

// With the lock. What goes is in the store.
void EventHub::Core::trim_inbox() {
  const std::size_t most = has_listeners ? bounds.events : bounds.idle_events;
  while (!inbox.empty() && (inbox.size() > most || inbox_bytes > bounds.bytes)) {
    inbox_bytes -= size_of(inbox.front());
    inbox.pop_front();
  }
}

// With the lock. One word is enough for all that come before it is heard.
void EventHub::Core::wake() {
  if (std::exchange(is_told, true)) return;
  loop.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->absorb();
    self->pump_all();
  });
}

void EventHub::Core::absorb() {
  std::deque<StoredEvent> taken;
  bool looks = false;
  {
    const std::lock_guard lock(mutex);
    taken.swap(inbox);
    inbox_bytes = 0;
    is_told = false;
    looks = std::exchange(must_look, false);
  }
  if (pending.empty()) {
    pending = std::move(taken);
  } else {
    std::ranges::move(taken, std::back_inserter(pending));
    std::size_t bytes = 0;
    for (const StoredEvent& event : pending) bytes += size_of(event);
    // The gap before them grows, and is filled from the store.
    while (!pending.empty() && (pending.size() > bounds.events || bytes > bounds.bytes)) {
      bytes -= size_of(pending.front());
      pending.pop_front();
    }
  }
  if (!is_filling) take_pending();
  if (looks) fill();
}

void EventHub::Core::take_pending() {
  while (!pending.empty()) {
    const std::int64_t next = pending.front().seq;
    if (last == unknown) reset(next);
    if (next > last + 1) {
      const bool is_worth_filling =
          has_listeners && std::cmp_less_equal(next - last - 1, bounds.events - bounds.events / 4);
      if (is_worth_filling) return fill();
      reset(next);
    }
    if (next == last + 1) append(std::move(pending.front()));
    pending.pop_front();
  }
}

void EventHub::Core::append(StoredEvent event) {
  last = event.seq;
  ring_bytes += ring.emplace_back(std::move(event)).bytes();
  trim();
}

// The ring begins anew with that number; what lies before it is in the store.
void EventHub::Core::reset(std::int64_t next) {
  ring.clear();
  ring_bytes = 0;
  last = next - 1;
}

void EventHub::Core::trim() {
  const std::size_t most = has_listeners ? bounds.events : bounds.idle_events;
  // The newest stays, however large it is.
  while (ring.size() > 1 && (ring.size() > most || ring_bytes > bounds.bytes)) {
    ring_bytes -= ring.front().bytes();
    ring.pop_front();
  }
}

void EventHub::Core::fill() {
  if (is_filling || last == unknown || !has_listeners) return;
  is_filling = true;
  source.read(last, bounds.page, [weak = weak_from_this()](Found found) {
    if (const auto self = weak.lock()) self->take_filled(std::move(found));
  });
}

void EventHub::Core::take_filled(Found found) {
  is_filling = false;
  bool has_found = false;
  if (found) {
    for (StoredEvent& event : *found) {
      if (event.seq <= last) continue;
      if (event.seq > last + 1) reset(event.seq);
      append(std::move(event));
      has_found = true;
    }
  }
  // Nothing can be read of what is missing: everybody asks the store for itself.
  if (!has_found && !pending.empty() && pending.front().seq > last + 1) reset(pending.front().seq);
  take_pending();
  const bool is_full = found && std::cmp_greater_equal(found->size(), bounds.page);
  if (is_full) fill();
  pump_all();
}

std::vector<std::shared_ptr<EventHub::Core::Subscription>> EventHub::Core::alive() {
  std::vector<std::shared_ptr<Subscription>> found;
  found.reserve(subscriptions.size());
  for (const auto& weak : subscriptions) {
    if (auto one = weak.lock()) found.push_back(std::move(one));
  }
  return found;
}

void EventHub::Core::pump_all() {
  for (const auto& one : alive()) one->pump(*this);
  // The texts that were made count too.
  trim();
}

void EventHub::Core::pump_soon() {
  if (std::exchange(is_pump_scheduled, true)) return;
  loop.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->is_pump_scheduled = false;
    self->pump_all();
  });
}

void EventHub::Core::note_listeners() {
  std::erase_if(subscriptions, [](const auto& weak) { return weak.expired(); });
  {
    const std::lock_guard lock(mutex);
    has_listeners = !subscriptions.empty();
    trim_inbox();
  }
  const auto listeners = alive();
  const bool wants_output = std::ranges::any_of(listeners, [](const auto& one) { return one->wants_output(); });
  if (!wants_output) {
    log = {};
  } else if (!log) {
    log = source.follow_log([weak = weak_from_this()](const std::string& lines) {
      if (const auto self = weak.lock()) self->tell_output(lines);
    });
  }
  trim();
}

void EventHub::Core::tell_output(const std::string& lines) {
  const auto listeners = alive();
  std::string_view rest = lines;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    auto event = read_output_line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!event) continue;
    Entry line(std::move(*event));
    for (const auto& one : listeners) {
      if (one->wants_output() && !one->take_output(line)) ++dropped;
    }
  }
}

EventHub::EventHub(Loop& loop, Source source, Bounds bounds)
    : core_(std::make_shared<Core>(loop, std::move(source), bounds)) {}

EventHub::~EventHub() { core_->log = {}; }

void EventHub::publish(std::span<const StoredEvent> events) { core_->publish(events); }

void EventHub::look() { core_->fill(); }

std::shared_ptr<EventSubscription> EventHub::subscribe(Wish wish, std::shared_ptr<EventListener> listener) {
  Core& core = *core_;
  const std::int64_t last = wish.last;
  const bool is_first = core.subscriptions.empty();
  auto made = std::make_shared<Core::Subscription>(core_, std::move(wish), std::move(listener));
  core.subscriptions.emplace_back(made);
  core.note_listeners();
  core.absorb();
  if (core.last < last) {
    // Others have committed since. Whoever listened before needs it; one alone asks the store for what it is behind.
    const bool is_needed = !is_first && core.last != unknown;
    if (is_needed) core.fill();
    if (!is_needed && !core.is_filling) core.reset(last + 1);
  }
  core.loop.post([weak = std::weak_ptr(made), hub = std::weak_ptr(core_)] {
    const auto one = weak.lock();
    const auto alive = hub.lock();
    if (!one || !alive) return;
    one->begin();
    one->pump(*alive);
  });
  return made;
}

void EventHub::count_cut() noexcept { ++core_->cut; }

EventHub::Figures EventHub::figures() const {
  Figures figures{.published = core_->published,
                  .clients_cut = core_->cut,
                  .lines_dropped = core_->dropped,
                  .ring_events = core_->ring.size(),
                  .ring_bytes = core_->ring_bytes};
  for (const auto& one : core_->alive()) {
    ++figures.clients;
    figures.waiting_bytes += one->waiting();
    figures.lag_events = std::max(figures.lag_events, core_->last - one->cursor());
  }
  return figures;
}

}  // namespace reeve::runtime
