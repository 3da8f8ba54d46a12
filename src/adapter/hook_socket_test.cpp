#include "adapter/hook_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/agent_socket.h"
#include "os/unix_socket.h"
#include "tests/support/files.h"

namespace reeve::adapter {
namespace {

using ::testing::HasSubstr;

base::BootTime now() { return base::SystemClock().boot_now(); }

class HookSocketTest : public ::testing::Test {
 protected:
  HookSocketTest() { std::filesystem::create_directory(path().parent_path()); }
  // Longer than the address of a socket.
  std::filesystem::path path() const { return scratch_.path() / std::string(110, 'x') / "hook.sock"; }
  std::expected<wire::HookReply, std::string> ask() const {
    return client::ask_adapter(path(), {.call = "c1", .tool = "Bash", .arguments = base::Value::object()},
                               {.deadline = now() + std::chrono::seconds(20)});
  }
  // Polls until something is asked or gone.
  static HookSocket::News wait(HookSocket& socket) {
    for (int i = 0; i < 1'000; ++i) {
      std::vector<pollfd> polled;
      socket.add_to(polled);
      ::poll(polled.data(), polled.size(), 20);
      HookSocket::News news = socket.handle(polled, now());
      if (!news.questions.empty() || !news.gone.empty()) return news;
    }
    ADD_FAILURE() << "nothing happened";
    return {};
  }
  // What the socket answers to these bytes.
  std::string reply_to(HookSocket& socket, const std::string& bytes, base::Milliseconds later = {}) const {
    const auto connection = os::connect_to(path().string(), os::SocketKind::stream);
    if (!connection) return "no connection";
    std::string_view rest = bytes;
    std::string reply;
    for (int i = 0; i < 2'000; ++i) {
      const ssize_t sent = ::send(connection->get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
      std::vector<pollfd> polled;
      socket.add_to(polled);
      ::poll(polled.data(), polled.size(), 1);
      EXPECT_TRUE(socket.handle(polled, now() + (i > 10 ? later : base::Milliseconds(0))).questions.empty());
      char part[4096];
      const ssize_t got = ::recv(connection->get(), part, sizeof part, MSG_DONTWAIT);
      if (got > 0) reply.append(part, static_cast<std::size_t>(got));
      if (got == 0) break;
    }
    return reply;
  }

 private:
  testing::ScratchFolder scratch_;
};

TEST_F(HookSocketTest, question_and_answer_are_one_connection) {
  HookSocket socket(path().string());
  struct stat status{};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  std::expected<wire::HookReply, std::string> reply;
  std::jthread hook([&] { reply = ask(); });
  const HookSocket::News news = wait(socket);
  ASSERT_EQ(news.questions.size(), 1U);
  EXPECT_EQ(news.questions[0].request.call, "c1");
  socket.answer(news.questions[0].connection, {wire::HookDecision::allow, "AP-4", base::CallId(7)});
  socket.answer(news.questions[0].connection, {wire::HookDecision::deny, "", {}});
  hook.join();
  ASSERT_TRUE(reply) << reply.error();
  EXPECT_EQ(reply->decision, wire::HookDecision::allow);
  EXPECT_EQ(reply->call_id, base::CallId(7));
}

// A no reaches the agent with its reason.
TEST_F(HookSocketTest, denials_arrive_with_their_reason) {
  HookSocket socket(path().string());
  std::expected<wire::HookReply, std::string> reply;
  std::jthread hook([&] { reply = ask(); });
  const HookSocket::News news = wait(socket);
  ASSERT_EQ(news.questions.size(), 1U);
  socket.answer(news.questions.front().connection,
                {.decision = wire::HookDecision::deny, .reason = "not today", .call_id = {}});
  hook.join();
  ASSERT_TRUE(reply) << reply.error();
  EXPECT_EQ(reply->decision, wire::HookDecision::deny);
  EXPECT_EQ(reply->reason, "not today");
}

TEST_F(HookSocketTest, hook_that_is_gone_is_noticed) {
  HookSocket socket(path().string());
  std::jthread hook([&] {
    EXPECT_FALSE(client::ask_adapter(path(), {.call = "c1", .tool = "Bash", .arguments = base::Value::object()},
                                     {.deadline = now() + std::chrono::milliseconds(300)}));
  });
  const std::uint64_t connection = wait(socket).questions.at(0).connection;
  EXPECT_EQ(wait(socket).gone, std::vector{connection});
}

// TOOL-9
TEST_F(HookSocketTest, what_is_not_a_question_is_denied) {
  HookSocket socket(path().string());
  for (const char* text : {"\n", "{}\n", "[]\n", "allow\n",
                           R"({"call":"c1","tool":"Bash"})"
                           "\n",
                           R"({"call":"c1","tool":"Bash","arguments":[]})"
                           "\n",
                           R"({"call":7,"tool":"Bash","arguments":{}})"
                           "\n",
                           R"({"call":"","tool":"Bash","arguments":{}})"
                           "\n"}) {
    EXPECT_THAT(reply_to(socket, text), HasSubstr("malformed")) << text;
  }
  EXPECT_THAT(reply_to(socket, std::string(client::max_hook_request + 70'000, ' ')), HasSubstr("too large"));
  EXPECT_THAT(reply_to(socket, "{", std::chrono::seconds(11)), HasSubstr("in time"));
}

TEST_F(HookSocketTest, connections_are_bounded) {
  HookSocket socket(path().string());
  std::vector<os::Fd> idle;
  for (std::size_t i = 0; i < HookSocket::max_connections + 20; ++i) {
    idle.push_back(std::move(*os::connect_to(path().string(), os::SocketKind::stream)));
    std::vector<pollfd> polled;
    socket.add_to(polled);
    ::poll(polled.data(), polled.size(), 0);
    socket.handle(polled, now());
    EXPECT_LE(polled.size(), HookSocket::max_connections + 1);
  }
}

}  // namespace
}  // namespace reeve::adapter
