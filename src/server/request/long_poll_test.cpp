#include "server/request/long_poll.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/loop/hold_map.h"

namespace reeve::server {
namespace {

using namespace std::chrono_literals;
using runtime::Loop;

// A client that may disconnect. Like the real one, calls back once at most.
class FakeClient final : public Responder {
 public:
  void send(Response /*response*/) override {}
  std::shared_ptr<Stream> begin(Response /*head*/) override { return nullptr; }
  std::shared_ptr<WebSocket> upgrade(const Request& /*request*/, const WebSocketLimits& /*limits*/) override {
    return nullptr;
  }
  void on_closed(std::function<void()> closed) override { closed_ = std::move(closed); }

  void disconnect() {
    if (closed_) std::exchange(closed_, nullptr)();
  }
  // A response was sent: nothing is called afterwards.
  void forget() { closed_ = nullptr; }

 private:
  std::function<void()> closed_;
};

struct LongPollTest : ::testing::Test {
  Loop loop;
  FakeClient client;
  runtime::HoldMap<int, std::function<void(const std::string&)>> subscribers{loop};
  std::vector<std::string> answers;

  void change(const std::string& value) {
    for (const auto& changed : subscribers.find(0)) changed(value);
  }
  std::function<void(const std::string&)> answer() {
    return [this](const std::string& value) { answers.push_back(value); };
  }
  std::shared_ptr<LongPoll> begin() {
    auto poll = LongPoll::begin(loop, client);
    poll->keep(subscribers.add(0, poll->once(answer())));
    return poll;
  }
  // Runs what is posted so far.
  void run_posted() {
    loop.post([this] { loop.stop(); });
    loop.run();
  }
  void run_for(base::Milliseconds time) {
    const Loop::Hold end = loop.at(loop.now() + time, [this] { loop.stop(); });
    loop.run();
  }
};

TEST_F(LongPollTest, change_answers_once) {
  const auto poll = begin();
  EXPECT_FALSE(poll->is_over());
  change("first");
  EXPECT_TRUE(poll->is_over());
  change("second");
  EXPECT_EQ(answers, std::vector<std::string>{"first"});
}

TEST_F(LongPollTest, timeout_answers_once_and_not_early) {
  const auto poll = begin();
  const base::BootTime start = loop.now();
  poll->expire_after(10ms, [&] {
    EXPECT_GE(loop.now(), start + 10ms);
    answers.emplace_back("expired");
    // The subscription ends with the posted task; a change before that is not answered.
    change("late");
    loop.stop();
  });
  loop.run();
  EXPECT_EQ(answers, std::vector<std::string>{"expired"});
}

TEST_F(LongPollTest, timeout_after_a_change_does_not_answer) {
  const auto poll = begin();
  poll->expire_after(1ms, [&] { answers.emplace_back("expired"); });
  change("changed");
  run_for(20ms);
  EXPECT_EQ(answers, std::vector<std::string>{"changed"});
}

// The record is read after subscribing: what the read then asks for comes too late.
TEST_F(LongPollTest, change_before_the_read_is_not_missed) {
  const auto poll = begin();
  const auto finish = poll->once(answer());
  change("changed");
  run_posted();
  finish("read");
  poll->expire_after(0ms, [&] { answers.emplace_back("expired"); });
  poll->read_after(0ms, [&] { answers.emplace_back("read again"); });
  run_for(20ms);
  EXPECT_EQ(answers, std::vector<std::string>{"changed"});
}

TEST_F(LongPollTest, subscription_is_released_by_a_posted_task) {
  const auto poll = begin();
  loop.post([&] {
    change("changed");
    EXPECT_FALSE(subscribers.is_empty()) << "its callback must not destroy itself";
    loop.post([&] {
      EXPECT_TRUE(subscribers.is_empty());
      loop.stop();
    });
  });
  loop.run();
}

TEST_F(LongPollTest, disconnection_ends_it_without_an_answer) {
  std::weak_ptr<LongPoll> poll;
  {
    const auto begun = begin();
    begun->expire_after(1ms, [&] { answers.emplace_back("expired"); });
    begun->read_after(1ms, [&] { answers.emplace_back("read again"); });
    poll = begun;
  }
  EXPECT_FALSE(poll.expired()) << "the subscription owns it";
  client.disconnect();
  EXPECT_FALSE(subscribers.is_empty());
  run_posted();
  EXPECT_TRUE(subscribers.is_empty());
  EXPECT_TRUE(poll.expired());
  run_for(20ms);
  EXPECT_TRUE(answers.empty());
}

TEST_F(LongPollTest, nothing_keeps_it_alive_after_the_end) {
  std::weak_ptr<LongPoll> poll = begin();
  poll.lock()->expire_after(1h, [] {});
  change("changed");
  client.forget();
  run_posted();
  EXPECT_TRUE(poll.expired());
}

TEST_F(LongPollTest, end_is_true_for_the_first_call_only) {
  const auto poll = begin();
  EXPECT_TRUE(poll->end());
  EXPECT_FALSE(poll->end());
  change("changed");
  EXPECT_TRUE(answers.empty());
}

TEST_F(LongPollTest, subscription_kept_after_the_end_is_released) {
  const auto poll = LongPoll::begin(loop, client);
  poll->end();
  run_posted();
  poll->keep(subscribers.add(0, poll->once(answer())));
  EXPECT_FALSE(subscribers.is_empty());
  run_posted();
  EXPECT_TRUE(subscribers.is_empty());
}

TEST_F(LongPollTest, read_again_does_not_end_it_and_can_be_repeated) {
  const auto poll = begin();
  int reads = 0;
  std::function<void()> read = [&] {
    if (++reads < 3) return poll->read_after(1ms, read);
    loop.stop();
  };
  poll->read_after(1ms, read);
  loop.run();
  EXPECT_EQ(reads, 3);
  EXPECT_FALSE(poll->is_over());
  change("changed");
  EXPECT_EQ(answers, std::vector<std::string>{"changed"});
}

TEST(LongPollTimeout, is_a_minute_by_default_and_five_at_most) {
  Request request;
  EXPECT_EQ(parse_poll_timeout(request), 60s);
  request.query["timeout"] = "0";
  EXPECT_EQ(parse_poll_timeout(request), 0s);
  request.query["timeout"] = "500ms";
  EXPECT_EQ(parse_poll_timeout(request), 500ms);
  request.query["timeout"] = "5m";
  EXPECT_EQ(parse_poll_timeout(request), 5min);
  request.query["timeout"] = "1h";
  EXPECT_EQ(parse_poll_timeout(request), 5min);
}

TEST(LongPollTimeout, invalid_value_is_a_bad_request) {
  for (const char* text : {"", "soon", "-1", "1.5s"}) {
    Request request;
    request.query["timeout"] = text;
    try {
      parse_poll_timeout(request);
      ADD_FAILURE() << text;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.code(), "api.bad_request") << text;
    }
  }
}

}  // namespace
}  // namespace reeve::server
