#include "runtime/runs/attempt_keeper.h"

#include <array>
#include <string>
#include <sys/socket.h>
#include <vector>

#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

using Freezing = AttemptKeeper::Freezing;

// The test holds the keeper's end of the connection.
class AttemptKeeperTest : public ::testing::Test {
 protected:
  AttemptKeeperTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_ = os::Fd(ends[0]);
    theirs_ = os::Fd(ends[1]);
  }
  AttemptKeeper::Events events() {
    return {.message =
                [this](const keeper::FromKeeper& message) {
                  if (std::holds_alternative<keeper::Exited>(message)) return loop_.stop();
                  seen_.push_back(message);
                },
            .gone =
                [this] {
                  is_gone_ = true;
                  loop_.stop();
                }};
  }
  void begin() { keeper_.begin(loop_.make<KeeperLink>(loop_, std::move(ours_), AttemptKeeper::Events{}), events()); }
  void adopt() { keeper_.adopt(std::move(ours_), events()); }
  // What the keeper says, and what follows from it.
  void hear(const keeper::FromKeeper& said) {
    // The last message is passed on: by then the one before it was handled.
    for (const keeper::FromKeeper& message : {said, keeper::FromKeeper(keeper::Exited{})}) {
      const std::string bytes = keeper::encode(message);
      ASSERT_EQ(::send(theirs_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    }
    loop_.run();
  }
  // What was sent to the keeper since the last time.
  std::vector<keeper::ToKeeper> sent() {
    std::vector<keeper::ToKeeper> messages;
    std::array<char, 4'096> bytes{};
    while (true) {
      const ssize_t count = ::recv(theirs_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (count <= 0) return messages;
      messages.push_back(keeper::decode_to_keeper({bytes.data(), static_cast<std::size_t>(count)}).value());
    }
  }
  template <class T>
  bool has_sent() {
    const auto messages = sent();
    return messages.size() == 1 && std::holds_alternative<T>(messages.front());
  }

  Loop loop_;
  os::Fd ours_;
  os::Fd theirs_;
  std::vector<keeper::FromKeeper> seen_;
  bool is_gone_ = false;
  AttemptKeeper keeper_{loop_};
};

TEST_F(AttemptKeeperTest, tool_that_is_paused_before_its_start_starts_when_it_is_thawed) {
  begin();
  EXPECT_EQ(keeper_.freezing(), Freezing::possible);
  keeper_.freeze();
  EXPECT_TRUE(sent().empty());
  EXPECT_TRUE(keeper_.thaw());
  EXPECT_TRUE(has_sent<keeper::Go>());
  keeper_.freeze();
  EXPECT_TRUE(has_sent<keeper::Freeze>());
  EXPECT_FALSE(keeper_.thaw());
  EXPECT_TRUE(has_sent<keeper::Thaw>());
}

TEST_F(AttemptKeeperTest, only_a_tool_that_has_not_started_can_be_dropped) {
  begin();
  EXPECT_TRUE(keeper_.drop_unstarted());
  std::array<char, 1> byte{};
  EXPECT_EQ(::recv(theirs_.get(), byte.data(), byte.size(), 0), 0) << "its keeper exits";
}

TEST_F(AttemptKeeperTest, started_tool_is_not_dropped) {
  begin();
  keeper_.go();
  EXPECT_FALSE(keeper_.drop_unstarted());
  EXPECT_TRUE(has_sent<keeper::Go>());
}

// RUN-13: after a restart of the daemon.
TEST_F(AttemptKeeperTest, adopted_keeper_stops_the_tree_once_it_has_said_that_it_can) {
  adopt();
  EXPECT_EQ(keeper_.freezing(), Freezing::unknown);
  keeper_.freeze();
  EXPECT_TRUE(sent().empty()) << "an older keeper would close the connection";
  hear(keeper::Abilities{.can_freeze = true});
  EXPECT_EQ(keeper_.freezing(), Freezing::possible);
  EXPECT_TRUE(has_sent<keeper::Freeze>());
}

TEST_F(AttemptKeeperTest, older_keeper_is_never_asked_to_stop_the_tree) {
  adopt();
  keeper_.freeze();
  hear(keeper::Abilities{.can_freeze = false});
  EXPECT_EQ(keeper_.freezing(), Freezing::impossible);
  EXPECT_FALSE(keeper_.thaw());
  EXPECT_TRUE(sent().empty());
}

TEST_F(AttemptKeeperTest, lines_wait_until_the_keeper_takes_them) {
  adopt();
  std::vector<bool> results;
  keeper_.send_line("hello", [&](bool is_sent) { results.push_back(is_sent); });
  EXPECT_TRUE(sent().empty());
  hear(keeper::TakesInputLines{});
  const auto messages = sent();
  ASSERT_EQ(messages.size(), 1U);
  const auto& line = std::get<keeper::InputLine>(messages.front());
  EXPECT_EQ(line.part, "hello\n");
  hear(keeper::InputLineTaken{line.ticket, keeper::InputLineTaken::Outcome::taken});
  EXPECT_EQ(results, std::vector{true});
}

TEST_F(AttemptKeeperTest, whatever_waits_is_refused_when_the_keeper_is_gone) {
  adopt();
  std::vector<bool> results;
  keeper_.send_line("hello", [&](bool is_sent) { results.push_back(is_sent); });
  keeper_.send_input("typed", [&](bool is_taken) { results.push_back(is_taken); });
  EXPECT_TRUE(results.empty());
  keeper_.close();
  EXPECT_EQ(results, (std::vector{false, false}));
}

TEST_F(AttemptKeeperTest, passes_on_what_concerns_the_run) {
  adopt();
  hear(keeper::Started{.pid = 7});
  EXPECT_EQ(keeper_.tool_pid(), 7);
  EXPECT_TRUE(seen_.empty());
  hear(keeper::Resized{.rows = 3, .columns = 4});
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<keeper::Resized>(seen_.front()));
  theirs_ = {};
  loop_.run();
  EXPECT_TRUE(is_gone_);
}

}  // namespace
}  // namespace reeve::runtime
