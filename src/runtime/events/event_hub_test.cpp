#include "runtime/events/event_hub.h"

#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

// SPEC §9: numbered without gaps, and delivered from exactly the requested number, whichever daemon commits and however
// slowly a client reads.
namespace reeve::runtime {
namespace {

using ledger::StoredEvent;
using model::EventKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

StoredEvent make_event(std::int64_t seq) {
  return {seq, "2026-01-01T00:00:00.000Z", seq % 3 == 0 ? EventKind::tool_status_change : EventKind::node_status_change,
          fmt::format(R"({{"status":"{}"}})", seq % 2 == 0 ? "failed" : "running")};
}

int written = 0;
std::string write_number(const StoredEvent& event, std::string_view name) {
  ++written;
  return fmt::format("{} {}", event.seq, name);
}

// An in-memory store, and a hub whose store reads complete when the test says so.
class Hall {
 public:
  explicit Hall(EventHub::Bounds bounds = {}) : hub(loop, source(), bounds) {}
  // A listener and its subscription own each other until the listener lets go.
  ~Hall() {
    for (const auto& unsubscribe : unsubscribes) unsubscribe();
  }
  Hall(const Hall&) = delete;
  Hall& operator=(const Hall&) = delete;

  // Committed by this daemon: published at once, with facts and with a text that cannot be parsed.
  void commit(int count = 1) {
    std::vector<StoredEvent> events;
    for (int i = 0; i < count; ++i) {
      StoredEvent& event = events.emplace_back(make_event(add()));
      event.facts = ledger::read_facts(event);
      event.data = "not JSON";
    }
    hub.publish(events);
  }
  // Committed by another daemon: must be read.
  void commit_elsewhere(int count = 1) {
    for (int i = 0; i < count; ++i) add();
  }
  std::int64_t last() const { return static_cast<std::int64_t>(stored_.size()); }

  // Runs until nothing is left to do.
  void settle() {
    do {
      turn();
      answer();
      turn();
    } while (!asked_.empty());
    turn();
  }
  void turn() {
    // Tasks posted by posted tasks run too.
    for (int i = 0; i < 8; ++i) {
      loop.post([this] { loop.stop(); });
      loop.run();
    }
  }
  // Completes the store reads requested so far.
  void answer() {
    for (auto& ask : std::exchange(asked_, {})) ask();
  }

  Loop loop;
  int reads = 0;
  bool fails = false;
  std::function<void(const std::string&)> log;
  std::vector<std::function<void()>> unsubscribes;

 private:
  std::int64_t add() {
    stored_.push_back(make_event(last() + 1));
    return last();
  }
  EventHub::Source source() {
    return {
        [this](std::int64_t after, std::int64_t most, std::function<void(EventHub::Found)> done) {
          ++reads;
          if (fails) {
            asked_.emplace_back([done] { done(std::unexpected(base::Error(base::ErrorCode::store_failed, "gone"))); });
            return;
          }
          std::vector<StoredEvent> found;
          for (std::int64_t seq = after + 1; seq <= last() && std::cmp_less(found.size(), most); ++seq) {
            found.push_back(stored_[static_cast<std::size_t>(seq - 1)]);
          }
          asked_.emplace_back([done, found] { done(found); });
        },
        [this](std::function<void(const std::string&)> lines) {
          log = std::move(lines);
          return Loop::Hold(loop, [this] { log = nullptr; });
        }};
  }

  std::vector<StoredEvent> stored_;
  std::vector<std::function<void()>> asked_;

 public:
  EventHub hub;
};

struct Ear final : EventListener {
  bool has_room() const override { return room > 0; }
  void take(const EventText& text) override {
    --room;
    heard.push_back(*text);
    texts.push_back(text);
  }
  void take_gap(std::uint64_t lines) override { gap += lines; }
  void fall_behind() override { is_behind = true; }
  void fail(const base::Error& error) override { failure = error.code(); }
  void reach_end() override { is_at_end = true; }
  std::size_t waiting() const override { return 7; }

  std::vector<std::int64_t> numbers() const {
    std::vector<std::int64_t> result;
    for (const std::string& text : heard) result.push_back(std::stoll(text));
    return result;
  }

  std::shared_ptr<EventSubscription> subscription;
  std::vector<std::string> heard;
  std::vector<EventText> texts;
  std::uint64_t gap = 0;
  int room = 1'000'000;
  bool is_behind = false;
  bool is_at_end = false;
  std::string failure;
};

std::vector<std::int64_t> count_from(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(last - first + 1));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::shared_ptr<Ear> listen(Hall& hall, EventHub::Request request) {
  auto ear = std::make_shared<Ear>();
  request.write = write_number;
  request.last = hall.last();
  ear->subscription = hall.hub.subscribe(std::move(request), ear);
  hall.unsubscribes.emplace_back([ear] { ear->subscription.reset(); });
  return ear;
}
std::shared_ptr<Ear> listen_after(Hall& hall, std::int64_t after) { return listen(hall, {.after = after}); }

TEST(EventHub, event_reaches_all_subscribers_and_is_encoded_once) {
  Hall hall;
  hall.commit(5);
  std::vector<std::shared_ptr<Ear>> ears;
  for (int i = 0; i < 10; ++i) ears.push_back(listen_after(hall, 5));
  hall.settle();
  written = 0;
  hall.commit(3);
  hall.settle();
  for (const auto& ear : ears) {
    EXPECT_EQ(ear->numbers(), count_from(6, 8));
    EXPECT_EQ(ear->texts, ears[0]->texts);
  }
  EXPECT_EQ(written, 3);
  EXPECT_EQ(hall.reads, 0);
  const auto figures = hall.hub.figures();
  EXPECT_EQ(figures.published, 8U);
  EXPECT_EQ(figures.clients, 10U);
  EXPECT_EQ(figures.waiting_bytes, 70U);
  EXPECT_EQ(figures.lag_events, 0);
}

TEST(EventHub, late_subscriber_reads_the_store_then_the_ring) {
  Hall hall({.events = 10, .idle_events = 4, .page = 5});
  hall.commit(100);
  const auto ear = listen_after(hall, 0);
  hall.commit(7);
  hall.turn();
  hall.commit(2);
  hall.settle();
  EXPECT_EQ(ear->numbers(), count_from(1, 109));
  const int reads = hall.reads;
  hall.commit(3);
  hall.settle();
  EXPECT_EQ(ear->numbers(), count_from(1, 112));
  EXPECT_EQ(hall.reads, reads);
}

TEST(EventHub, events_of_another_daemon_are_read_once_for_all) {
  Hall hall;
  const auto one = listen_after(hall, 0);
  const auto two = listen_after(hall, 0);
  hall.settle();
  hall.commit(2);
  hall.settle();
  hall.commit_elsewhere(3);
  hall.commit(1);
  hall.settle();
  EXPECT_EQ(one->numbers(), count_from(1, 6));
  EXPECT_EQ(hall.reads, 1);
  // Not published here: found at the next poll.
  hall.commit_elsewhere(2);
  hall.hub.poll();
  hall.settle();
  EXPECT_EQ(two->numbers(), count_from(1, 8));
  EXPECT_EQ(hall.reads, 2);
  // A commit whose numbers are not known.
  hall.commit_elsewhere(1);
  hall.hub.publish({});
  hall.settle();
  EXPECT_EQ(one->numbers(), count_from(1, 9));
}

TEST(EventHub, slow_subscriber_is_cut_and_others_are_not) {
  Hall hall({.events = 10});
  const auto slow = listen_after(hall, 0);
  const auto fast = listen_after(hall, 0);
  slow->room = 3;
  hall.settle();
  hall.commit(5);
  hall.settle();
  EXPECT_FALSE(slow->is_behind);
  EXPECT_EQ(hall.hub.figures().lag_events, 2);
  hall.commit(7);
  hall.settle();
  EXPECT_FALSE(slow->is_behind);
  hall.commit(2);
  hall.settle();
  EXPECT_TRUE(slow->is_behind);
  EXPECT_EQ(hall.hub.figures().clients_cut, 1U);
  EXPECT_EQ(slow->numbers(), count_from(1, 3));
  EXPECT_EQ(fast->numbers(), count_from(1, 14));
  // It reconnects with the last number it received.
  slow->room = 100;
  slow->subscription->resume();
  hall.settle();
  EXPECT_EQ(slow->numbers(), count_from(1, 3));
  const auto again = listen_after(hall, 3);
  hall.settle();
  EXPECT_EQ(again->numbers(), count_from(4, 14));
}

TEST(EventHub, subscriber_that_catches_up_is_not_cut) {
  Hall hall({.events = 10, .page = 5});
  hall.commit(100);
  const auto ear = listen_after(hall, 0);
  ear->room = 7;
  hall.settle();
  hall.commit(50);
  hall.settle();
  EXPECT_FALSE(ear->is_behind);
  EXPECT_EQ(ear->numbers(), count_from(1, 7));
  ear->room = 1'000;
  ear->subscription->resume();
  hall.settle();
  EXPECT_EQ(ear->numbers(), count_from(1, 150));
}

TEST(EventHub, uncut_subscriber_continues_from_the_store) {
  Hall hall({.events = 10, .page = 5});
  const auto ear = listen(hall, {.is_cut = false});
  ear->room = 2;
  hall.settle();
  hall.commit(100);
  hall.settle();
  EXPECT_FALSE(ear->is_behind);
  ear->room = 1'000;
  ear->subscription->resume();
  hall.settle();
  EXPECT_EQ(ear->numbers(), count_from(1, 100));
}

TEST(EventHub, subscriber_without_follow_gets_stored_events_and_the_end) {
  Hall hall({.page = 5});
  hall.commit(5);
  hall.commit_elsewhere(8);
  const auto ear = listen(hall, {.after = 2, .follows = false});
  ear->room = 4;
  hall.settle();
  EXPECT_EQ(ear->numbers(), count_from(3, 6));
  EXPECT_FALSE(ear->is_at_end);
  ear->room = 100;
  ear->subscription->resume();
  hall.settle();
  EXPECT_EQ(ear->numbers(), count_from(3, 13));
  EXPECT_TRUE(ear->is_at_end);
}

TEST(EventHub, events_carry_the_subscribed_name) {
  Hall hall;
  const auto ear = listen(hall, {.filter = *EventFilter::parse(std::vector<std::string>{"run.failed"})});
  const auto all = listen(hall, {});
  hall.settle();
  hall.commit(12);
  hall.settle();
  EXPECT_THAT(ear->heard, ElementsAre("6 run.failed", "12 run.failed"));
  EXPECT_EQ(all->numbers(), count_from(1, 12));
  // Events of another daemon are read from the store, so their facts are parsed.
  hall.commit_elsewhere(6);
  hall.hub.poll();
  hall.settle();
  EXPECT_THAT(ear->heard, ElementsAre("6 run.failed", "12 run.failed", "18 run.failed"));
}

TEST(EventHub, store_failure_reaches_the_subscribers_that_need_it) {
  Hall hall({.events = 4, .idle_events = 4});
  hall.commit(100);
  const auto behind = listen_after(hall, 0);
  const auto now = listen_after(hall, 100);
  hall.fails = true;
  hall.settle();
  EXPECT_EQ(behind->failure, "store.failed");
  hall.commit(2);
  hall.settle();
  EXPECT_EQ(now->numbers(), count_from(101, 102));
  EXPECT_EQ(now->failure, "");
  // The gap left by another daemon cannot be filled: subscribers get an error instead of waiting forever.
  hall.commit_elsewhere(1);
  hall.commit(1);
  hall.settle();
  EXPECT_EQ(now->failure, "store.failed");
}

TEST(EventHub, ring_stays_within_its_bounds) {
  Hall hall({.events = 50, .bytes = 20'000, .idle_events = 5});
  hall.commit(1'000);
  EXPECT_EQ(hall.hub.figures().ring_events, 0U);
  auto ear = listen_after(hall, 1'000);
  hall.settle();
  for (int i = 0; i < 100; ++i) {
    hall.commit(10);
    hall.settle();
    EXPECT_LE(hall.hub.figures().ring_events, 50U);
    EXPECT_LE(hall.hub.figures().ring_bytes, 20'000U);
  }
  EXPECT_GE(hall.hub.figures().ring_events, 10U);
  ear->subscription.reset();
  hall.settle();
  EXPECT_LE(hall.hub.figures().ring_events, 5U);
  EXPECT_EQ(hall.hub.figures().clients, 0U);
}

TEST(EventHub, removed_subscriber_is_not_called) {
  Hall hall({.events = 4, .idle_events = 4});
  hall.commit(100);
  const auto ear = listen_after(hall, 0);
  hall.turn();
  ear->subscription.reset();
  hall.settle();
  hall.commit(1);
  hall.settle();
  EXPECT_THAT(ear->heard, IsEmpty());
}

// A subscriber waiting for a future number does not delay others.
TEST(EventHub, subscriber_ahead_of_the_log_delays_no_other) {
  Hall hall;
  const auto ahead = listen_after(hall, 1'000);
  const auto now = listen_after(hall, 0);
  hall.settle();
  hall.commit(10);
  hall.settle();
  EXPECT_THAT(ahead->heard, IsEmpty());
  EXPECT_EQ(now->numbers(), count_from(1, 10));
}

TEST(EventHub, output_lines_reach_subscribers_and_overflow_is_dropped) {
  Hall hall;
  const auto all = listen_after(hall, 0);
  hall.settle();
  EXPECT_FALSE(hall.log);
  const auto ear = listen(hall, {.filter = *EventFilter::parse(std::vector<std::string>{"tool_output"})});
  hall.settle();
  ASSERT_TRUE(hall.log);
  const std::string line = R"({"event":"tool_output","timestamp":"T","tool":"x","text":"a"})";
  hall.log(line + "\n" + R"({"event":"node_status_change","timestamp":"T","seq":5})" + "\n" + line + "\n");
  hall.settle();
  EXPECT_THAT(ear->heard, ElementsAre("0 tool_output", "0 tool_output"));
  EXPECT_THAT(all->heard, IsEmpty());
  ear->room = 0;
  hall.log(line + "\n" + line + "\n" + line + "\n");
  hall.settle();
  EXPECT_EQ(hall.hub.figures().lines_dropped, 3U);
  EXPECT_EQ(ear->gap, 0U);
  ear->room = 10;
  ear->subscription->resume();
  EXPECT_EQ(ear->gap, 3U);
  hall.log(line + "\n");
  EXPECT_EQ(ear->heard.size(), 3U);
  ear->subscription.reset();
  hall.settle();
  EXPECT_FALSE(hall.log);
}

// For any order of commits here and elsewhere, store answers and reads: every subscriber gets every number once, in
// order, from exactly where it began, or learns that it fell behind.
RC_GTEST_PROP(EventHub, any_interleaving_delivers_without_gaps, ()) {
  const auto small = *rc::gen::inRange<std::size_t>(1, 12);
  Hall hall({.events = small,
             .idle_events = *rc::gen::inRange<std::size_t>(1, 6),
             .page = *rc::gen::inRange<std::int64_t>(1, 7),
             .turn = *rc::gen::inRange<std::size_t>(1, 5)});
  struct Begun {
    std::shared_ptr<Ear> ear;
    std::int64_t after;
  };
  std::vector<Begun> begun;
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    switch (*rc::gen::inRange(0, 9)) {
      case 0:
      case 1:
        hall.commit(*rc::gen::inRange(1, 8));
        break;
      case 2:
        hall.commit_elsewhere(*rc::gen::inRange(1, 8));
        break;
      case 3:
        hall.hub.poll();
        break;
      case 4:
        hall.turn();
        break;
      case 5:
        hall.answer();
        break;
      case 6: {
        const auto after = *rc::gen::inRange<std::int64_t>(0, hall.last() + 1);
        begun.push_back({listen(hall, {.after = after, .is_cut = *rc::gen::arbitrary<bool>()}), after});
        begun.back().ear->room = *rc::gen::inRange(0, 20);
        break;
      }
      case 7:
        if (begun.empty()) break;
        begun[*rc::gen::inRange<std::size_t>(0, begun.size())].ear->subscription->resume();
        break;
      default:
        if (begun.empty()) break;
        begun[*rc::gen::inRange<std::size_t>(0, begun.size())].ear->room = *rc::gen::inRange(0, 20);
        break;
    }
  }
  hall.commit(1);
  hall.hub.poll();
  for (const Begun& one : begun) one.ear->room = 1'000'000;
  for (const Begun& one : begun) one.ear->subscription->resume();
  hall.settle();
  for (const Begun& one : begun) {
    const auto numbers = one.ear->numbers();
    const std::int64_t until = one.ear->is_behind ? one.after + static_cast<std::int64_t>(numbers.size()) : hall.last();
    RC_ASSERT(numbers == count_from(one.after + 1, until));
    RC_ASSERT(one.ear->failure.empty());
  }
}

}  // namespace
}  // namespace reeve::runtime
