#include "runtime/events/event_hub.h"

#include <algorithm>
#include <utility>

#include "runtime/events/event_hub_core.h"

namespace reeve::runtime {

using ledger::StoredEvent;

void EventHub::Core::publish(std::span<const StoredEvent> events) {
  published += events.size();
  const std::lock_guard lock(mutex);
  if (events.empty()) must_look = true;
  for (const StoredEvent& event : events) {
    inbox_bytes += EventEntry::size_of(event);
    inbox.push_back(event);
  }
  trim_inbox();
  if (has_listeners) wake();
}

// Called with the lock held. Removed events are in the store.
void EventHub::Core::trim_inbox() {
  const std::size_t most = has_listeners ? bounds.events : bounds.idle_events;
  while (!inbox.empty() && (inbox.size() > most || inbox_bytes > bounds.bytes)) {
    inbox_bytes -= EventEntry::size_of(inbox.front());
    inbox.pop_front();
  }
}

// Called with the lock held. One wake-up covers everything added before it is handled.
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
    for (const StoredEvent& event : pending) bytes += EventEntry::size_of(event);
    // This widens the gap before them, which is filled from the store.
    while (!pending.empty() && (pending.size() > bounds.events || bytes > bounds.bytes)) {
      bytes -= EventEntry::size_of(pending.front());
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

// Restarts the ring at that number; earlier events are in the store.
void EventHub::Core::reset(std::int64_t next) {
  ring.clear();
  ring_bytes = 0;
  last = next - 1;
}

void EventHub::Core::trim() {
  const std::size_t most = has_listeners ? bounds.events : bounds.idle_events;
  // The newest event is kept, however large it is.
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
  // The missing events cannot be read here: each subscriber reads the store itself.
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
  // Rendered texts count as well.
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
    EventEntry line(std::move(*event));
    for (const auto& one : listeners) {
      if (one->wants_output() && !one->take_output(line)) ++dropped;
    }
  }
}

EventHub::EventHub(Loop& loop, Source source, Bounds bounds)
    : core_(std::make_shared<Core>(loop, std::move(source), bounds)) {}

EventHub::~EventHub() { core_->log = {}; }

void EventHub::publish(std::span<const StoredEvent> events) { core_->publish(events); }

void EventHub::poll() { core_->fill(); }

std::shared_ptr<EventSubscription> EventHub::subscribe(Request request, std::shared_ptr<EventListener> listener) {
  Core& core = *core_;
  const std::int64_t last = request.last;
  const bool is_first = core.subscriptions.empty();
  auto made = std::make_shared<Core::Subscription>(core_, std::move(request), std::move(listener));
  core.subscriptions.emplace_back(made);
  core.note_listeners();
  core.absorb();
  if (core.last < last) {
    // Others may have committed since. Existing subscribers need those events in the ring; a single new one reads them
    // from the store.
    const bool is_needed = !is_first && core.last != Core::unknown;
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
