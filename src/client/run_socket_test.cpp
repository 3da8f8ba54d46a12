#include "client/run_socket.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/run_socket.h"

namespace reeve::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  const auto allowed = own.decide(call);
  ASSERT_TRUE(allowed) << allowed.error();
  EXPECT_EQ(allowed->decision, wire::CallReplyDecision::allow);
}

}  // namespace
}  // namespace reeve::client
