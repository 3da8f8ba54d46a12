#include "adapter/call_workers.h"

#include <atomic>
#include <poll.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/run_socket.h"

namespace reeve::adapter {
namespace {

using testing::FakeReply;
using testing::FakeRunSocket;
using testing::SeenRequest;
using wire::CallReplyDecision;

constexpr const char* waiting = R"({"call_id":"TC-7","decision":"wait","rule":"default","approval_id":"AP-4"})";
constexpr const char* allowed = R"({"call_id":"TC-7","decision":"allow","rule":"default"})";

class CallWorkersTest : public ::testing::Test {
 protected:
  // Waits, until `decided_` is set.
  FakeReply reply(const SeenRequest& request) const {
    return {.body = request.line.starts_with("GET ") && decided_ ? allowed : waiting};
  }
  std::filesystem::path path() const { return scratch_.path() / "run.sock"; }
  static wire::CallRequest request() {
    return {.call = "c1", .tool = "Bash", .arguments = base::Value::object(), .may_defer = true};
  }
  // The next messages; fails the test if none comes.
  std::vector<Message> take() {
    pollfd state{mailbox_.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&state, 1, 20'000), 1);
    return mailbox_.take();
  }
  template <class M>
  M take_one() {
    std::vector<Message> messages = take();
    auto* found = messages.size() == 1 ? std::get_if<M>(messages.data()) : nullptr;
    if (found == nullptr) ADD_FAILURE() << messages.size() << " messages, or another one";
    return found != nullptr ? std::move(*found) : M{};
  }

  std::atomic<bool> decided_ = false;
  testing::ScratchFolder scratch_;
  Mailbox mailbox_;
  FakeRunSocket socket_{path(), [this](const SeenRequest& request) { return reply(request); }};
  CallWorkers workers_{path(), mailbox_};
};

TEST_F(CallWorkersTest, call_waits_and_is_answered) {
  workers_.ask(3, request(), {});
  const auto waits = take_one<CallWaits>();
  EXPECT_EQ(waits.number, 3U);
  EXPECT_EQ(waits.reply.approval_id, base::ApprovalId(4));
  decided_ = true;
  const auto replied = take_one<CallReplied>();
  EXPECT_EQ(replied.number, 3U);
  ASSERT_TRUE(replied.reply) << replied.reply.error();
  EXPECT_EQ(replied.reply->decision, CallReplyDecision::allow);
}

// AGT-6: a call that is left has had no answer.
TEST_F(CallWorkersTest, call_that_is_left_still_waits) {
  workers_.ask(3, request(), base::Milliseconds(1));
  take_one<CallWaits>();
  workers_.leave(3);
  const auto replied = take_one<CallReplied>();
  ASSERT_TRUE(replied.reply) << replied.reply.error();
  EXPECT_EQ(replied.reply->decision, CallReplyDecision::wait);
  for (const SeenRequest& seen : socket_.requests()) EXPECT_FALSE(seen.line.contains("/withdraw")) << seen.line;
  workers_.ask(3, request(), base::Milliseconds(0));
  take_one<CallWaits>();
}

TEST_F(CallWorkersTest, call_that_is_dropped_is_not_heard_of_again) {
  workers_.ask(3, request(), {});
  take_one<CallWaits>();
  workers_.drop(3);
  decided_ = true;
  workers_.ask(4, request(), {});
  EXPECT_EQ(take_one<CallWaits>().number, 4U);
  EXPECT_EQ(take_one<CallReplied>().number, 4U);
}

TEST_F(CallWorkersTest, calls_wait_side_by_side) {
  for (std::uint64_t i = 1; i <= 60; ++i) workers_.ask(i, request(), {});
  std::size_t waits = 0;
  while (waits < 60) waits += take().size();
  decided_ = true;
  std::size_t replies = 0;
  while (replies < 60) replies += take().size();
  EXPECT_EQ(waits, 60U);
}

}  // namespace
}  // namespace reeve::adapter
