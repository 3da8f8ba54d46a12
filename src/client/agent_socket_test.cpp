#include "client/agent_socket.h"

#include <functional>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/unix_socket.h"
#include "tests/support/files.h"

namespace reeve::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Answers one connection with these bytes, once a line has arrived, and closes it.
class FakeAdapter {
 public:
  FakeAdapter(const std::filesystem::path& path, std::string reply)
      : listener_(os::listen_at(path.string(), os::SocketKind::stream)), thread_([this, reply] { serve(reply); }) {}
  const std::string& seen() {
    thread_.join();
    return seen_;
  }

 private:
  void serve(const std::string& reply) {
    pollfd state{listener_.get(), POLLIN, 0};
    if (::poll(&state, 1, 20'000) != 1) return;
    const os::Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char byte = 0;
    while (::recv(connection.get(), &byte, 1, 0) == 1 && byte != '\n') seen_ += byte;
    static_cast<void>(::send(connection.get(), reply.data(), reply.size(), MSG_NOSIGNAL));
  }

  os::Fd listener_;
  std::string seen_;
  std::jthread thread_;
};

class AgentSocket : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return scratch_.path() / std::string(120, 'x') / "hook.sock"; }
  void SetUp() override { std::filesystem::create_directory(path().parent_path()); }
  static wire::CallRequest request() { return {.call = "toolu_1", .tool = "Bash", .arguments = base::Value::object()}; }
  std::expected<wire::HookReply, std::string> ask(base::Milliseconds time = std::chrono::seconds(20)) const {
    return ask_adapter(path(), request(), {.deadline = base::SystemClock().boot_now() + time});
  }
  std::string error_for(const std::string& reply) const {
    FakeAdapter adapter(path(), reply);
    const auto answer = ask();
    return answer ? "no error" : answer.error();
  }

 private:
  testing::ScratchFolder scratch_;
};

TEST_F(AgentSocket, answer_is_that_of_the_adapter) {
  FakeAdapter adapter(path(), "{\"decision\":\"defer\",\"reason\":\"AP-4\",\"call_id\":\"TC-7\"}\n");
  const auto reply = ask();
  ASSERT_TRUE(reply) << reply.error();
  EXPECT_EQ(reply->decision, wire::HookDecision::defer);
  EXPECT_EQ(reply->reason, "AP-4");
  EXPECT_EQ(reply->call_id, base::CallId(7));
  EXPECT_THAT(adapter.seen(), StartsWith(R"({"call":"toolu_1","tool":"Bash")"));
}

// TOOL-9
TEST_F(AgentSocket, anything_but_an_answer_is_an_error) {
  EXPECT_THAT(error_for(""), HasSubstr("closed the connection"));
  EXPECT_THAT(error_for("{\"decision\":\"allow\""), HasSubstr("closed the connection"));
  EXPECT_THAT(error_for("allow\n"), HasSubstr("malformed"));
  EXPECT_THAT(error_for("{}\n"), HasSubstr("no decision"));
  EXPECT_THAT(error_for("{\"decision\":\"wait\"}\n"), HasSubstr("malformed"));
  EXPECT_THAT(error_for("{\"decision\":true}\n"), HasSubstr("no decision"));
  EXPECT_THAT(error_for("{\"decision\":\"allow\",\"decision\":\"deny\"}\n"), HasSubstr("malformed"));
  EXPECT_THAT(error_for(std::string(max_hook_reply + 1, 'x')), HasSubstr("too long"));
}

TEST_F(AgentSocket, nobody_and_silence_are_errors) {
  EXPECT_THAT(ask().error(), HasSubstr("cannot reach"));
  const os::Fd silent = os::listen_at(path().string(), os::SocketKind::stream);
  EXPECT_THAT(ask(base::Milliseconds(10)).error(), HasSubstr("in time"));
}

}  // namespace
}  // namespace reeve::client
