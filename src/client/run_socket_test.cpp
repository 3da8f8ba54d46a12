#include "client/run_socket.h"

#include <atomic>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/run_socket.h"

namespace reeve::client {
namespace {

using testing::FakeReply;
using testing::FakeRunSocket;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SeenRequest;

constexpr const char* waiting = R"({"call_id":"TC-7","decision":"wait","rule":"default","approval_id":"AP-4"})";
constexpr const char* allowed = R"({"call_id":"TC-7","decision":"allow","rule":"default"})";

class RunSocketCalls : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return scratch_.path() / "run.sock"; }
  RunSocket connect(base::Milliseconds time = std::chrono::seconds(20)) const {
    return {path(), {.deadline = base::SystemClock().boot_now() + time}};
  }
  static wire::CallRequest request(bool may_defer) {
    return {.call = "c1", .tool = "Bash", .arguments = base::Value::object(), .may_defer = may_defer};
  }
  static int count(const FakeRunSocket& socket, std::string_view line) {
    int found = 0;
    for (const SeenRequest& seen : socket.requests()) found += seen.line.starts_with(line) ? 1 : 0;
    return found;
  }

 private:
  testing::ScratchFolder scratch_;
};

// AGT-6: the attempt that resumes the agent asks for it again.
TEST_F(RunSocketCalls, call_that_may_be_deferred_is_not_withdrawn_when_it_is_given_up) {
  const FakeRunSocket socket(path(), [](const SeenRequest&) { return FakeReply{.body = waiting}; });
  EXPECT_FALSE(connect(base::Milliseconds(300)).decide(request(true)));
  EXPECT_EQ(count(socket, "POST /api/tool-calls/TC-7/withdraw"), 0);
  EXPECT_FALSE(connect(base::Milliseconds(300)).decide(request(false)));
  EXPECT_TRUE(socket.wait_for("POST /api/tool-calls/TC-7/withdraw"));
}

TEST_F(RunSocketCalls, waiting_ends_between_two_requests_and_hands_out_no_answer) {
  const FakeRunSocket socket(path(), [](const SeenRequest&) { return FakeReply{.body = waiting}; });
  int asked = 0;
  const auto reply = connect().decide(request(true), [&](const wire::CallReply& held) {
    EXPECT_EQ(held.approval_id, base::ApprovalId(4));
    return ++asked < 3 ? std::optional(base::Milliseconds(1'500)) : std::nullopt;
  });
  ASSERT_TRUE(reply) << reply.error();
  EXPECT_EQ(reply->decision, wire::CallReplyDecision::wait);
  EXPECT_EQ(count(socket, "GET /api/tool-calls/TC-7/wait?timeout=1500ms"), 2);
  EXPECT_EQ(count(socket, "POST /api/tool-calls/TC-7/withdraw"), 0);
}

TEST_F(RunSocketCalls, answer_that_comes_while_waiting_is_the_reply) {
  const FakeRunSocket socket(path(), [](const SeenRequest& seen) {
    return FakeReply{.body = seen.line.starts_with("GET ") ? allowed : waiting};
  });
  const auto reply = connect().decide(request(true), [](const auto&) { return base::Milliseconds(1'000); });
  ASSERT_TRUE(reply) << reply.error();
  EXPECT_EQ(reply->decision, wire::CallReplyDecision::allow);
}

TEST_F(RunSocketCalls, missing_documents_are_not_failures) {
  std::atomic<int> status = 404;
  const FakeRunSocket socket(path(), [&](const SeenRequest&) { return FakeReply{.body = "{}", .status = status}; });
  EXPECT_EQ(connect().find("/api/session").value(), std::nullopt);
  status = 403;
  EXPECT_EQ(connect().find("/api/session").value(), std::nullopt);
  status = 200;
  EXPECT_EQ(connect().find("/api/session").value(), base::Value::object());
  status = 500;
  const auto failed = connect().find("/api/session");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error(), HasSubstr("500"));
}

// TOOL-9: a yes of somebody else's program is none, and it does not even see the call.
TEST(RunSocketClient, listener_of_another_user_is_refused_at_once) {
  const testing::ScratchFolder scratch;
  const testing::FakeRunSocket fake(scratch.path() / "run.sock", [](const testing::SeenRequest&) {
    return testing::FakeReply{.body = R"({"call_id":"TC-7","decision":"allow","rule":"r"})"};
  });
  const wire::CallRequest call{.call = "c1", .tool = "Bash", .arguments = base::Value::object()};
  const auto deadline = base::SystemClock().boot_now() + std::chrono::hours(1);
  RunSocket other(fake.path(), {.deadline = deadline, .owner = ::geteuid() + 1});
  const auto refused = other.decide(call);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("not the owner"));
  EXPECT_THAT(fake.requests(), IsEmpty());
  RunSocket own(fake.path(), {.deadline = deadline});
  const auto reply = own.decide(call);
  ASSERT_TRUE(reply) << reply.error();
  EXPECT_EQ(reply->decision, wire::CallReplyDecision::allow);
}

}  // namespace
}  // namespace reeve::client
