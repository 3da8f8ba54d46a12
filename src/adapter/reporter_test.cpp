#include "adapter/reporter.h"

#include <atomic>
#include <poll.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/run_socket.h"

namespace reeve::adapter {
namespace {

using base::Value;
using ::testing::ElementsAre;
using testing::FakeReply;
using testing::FakeRunSocket;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SeenRequest;

PostEvent essential(const char* name) {
  return {.event = Value::object({{"event", Value::string(name)}}), .is_essential = true};
}

class ReporterTest : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return scratch_.path() / "run.sock"; }
  static std::vector<std::string> lines(const FakeRunSocket& socket) {
    std::vector<std::string> all;
    for (const SeenRequest& seen : socket.requests()) all.push_back(seen.line);
    return all;
  }
  testing::ScratchFolder scratch_;
  Mailbox mailbox_;
};

TEST_F(ReporterTest, posts_arrive_in_order) {
  FakeRunSocket socket(path(), [](const SeenRequest&) { return FakeReply{.body = "{}"}; });
  Reporter reporter(path(), mailbox_);
  reporter.add(PostResult{base::CallId(7), {.failed = true}});
  reporter.add(WithdrawCall{base::CallId(8)});
  reporter.add(essential("result"));
  EXPECT_THAT(reporter.finish(std::chrono::seconds(20)), IsEmpty());
  EXPECT_THAT(lines(socket), ElementsAre("POST /api/tool-calls/TC-7/result", "POST /api/tool-calls/TC-8/withdraw",
                                         "POST /api/report"));
  EXPECT_THAT(socket.requests()[0].body, HasSubstr(R"("failed":true)"));
}

// A run that is resumed needs the session.
TEST_F(ReporterTest, stored_session_is_told) {
  FakeRunSocket socket(path(), [](const SeenRequest&) { return FakeReply{.body = "{}", .status = 202}; });
  Reporter reporter(path(), mailbox_);
  reporter.add(PostSession{{.session_id = "s-1", .agent = "claude"}});
  pollfd state{mailbox_.fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&state, 1, 20'000), 1);
  EXPECT_TRUE(std::holds_alternative<SessionStored>(mailbox_.take().at(0)));
  EXPECT_THAT(socket.requests()[0].body, HasSubstr(R"("session_id":"s-1")"));
}

TEST_F(ReporterTest, refused_session_is_not_stored) {
  FakeRunSocket socket(path(), [](const SeenRequest&) { return FakeReply{.body = "{}", .status = 422}; });
  Reporter reporter(path(), mailbox_);
  reporter.add(PostSession{{.session_id = "s-1", .agent = "claude"}});
  reporter.add(essential("outcome"));
  EXPECT_THAT(reporter.finish(std::chrono::seconds(20)), IsEmpty()) << "a refusal is an answer";
  EXPECT_THAT(mailbox_.take(), IsEmpty());
}

// What the run's end depends on is in its output when the daemon is gone.
TEST_F(ReporterTest, essential_events_are_returned_if_nobody_takes_them) {
  Reporter reporter(path(), mailbox_);
  reporter.add(PostResult{base::CallId(7), {}});
  reporter.add(essential("outcome"));
  reporter.add({.event = Value::object(), .is_essential = false});
  reporter.add(essential("result"));
  EXPECT_THAT(reporter.finish(std::chrono::milliseconds(100)),
              ElementsAre(R"({"event":"outcome"})", R"({"event":"result"})"));
}

TEST_F(ReporterTest, only_the_last_session_and_sign_of_life_wait) {
  std::atomic<bool> may_answer = false;
  FakeRunSocket socket(path(),
                       [&](const SeenRequest&) { return FakeReply{.body = "{}", .status = may_answer ? 200 : 503}; });
  Reporter reporter(path(), mailbox_);
  reporter.add(PostResult{base::CallId(7), {}});
  ASSERT_TRUE(socket.wait_for("POST /api/tool-calls/TC-7/result"));
  for (int i = 1; i <= 2'000; ++i) {
    reporter.add(PostSession{{.session_id = "s-" + std::to_string(i), .agent = "claude"}});
    reporter.add({.event = Value::object(), .is_essential = false});
    reporter.add(PostResult{base::CallId(i), {}});
  }
  may_answer = true;
  EXPECT_THAT(reporter.finish(std::chrono::seconds(20)), IsEmpty());
  std::size_t sessions = 0;
  std::size_t results = 0;
  for (const SeenRequest& seen : socket.requests()) {
    sessions += seen.line == "POST /api/session" ? 1 : 0;
    results += seen.line.ends_with("/result") ? 1 : 0;
  }
  EXPECT_EQ(sessions, 1U);
  EXPECT_LE(results, Reporter::max_posts + 10);
}

}  // namespace
}  // namespace reeve::adapter
