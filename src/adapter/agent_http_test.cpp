#include "adapter/agent_http.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "tests/support/socket.h"

namespace reeve::adapter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::RawSocket;
using ::testing::StartsWith;

constexpr const char* event_head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

class AgentHttpTest : public ::testing::Test {
 protected:
  AgentHttpTest() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    listener_ = os::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    address_ = fmt::format("http://127.0.0.1:{}", ::ntohs(address.sin_port));
  }
  // The next message; fails the test if none comes.
  Message take() {
    pollfd state{mailbox_.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&state, 1, 20'000), 1);
    std::vector<Message> messages = mailbox_.take();
    EXPECT_EQ(messages.size(), 1U);
    return messages.empty() ? Message(SessionStored{}) : std::move(messages.front());
  }
  std::string lost() {
    const Message message = take();
    const auto* found = std::get_if<ServerLost>(&message);
    return found != nullptr ? found->why : "it is not lost";
  }

  os::Fd listener_;
  std::string address_;
  Mailbox mailbox_;
  AgentHttp http_{"pass", mailbox_};
};

TEST_F(AgentHttpTest, requests_follow_the_event_stream) {
  http_.send({{.number = 5, .method = "POST", .target = "/session", .body = "{\"a\":1}"}});
  http_.open(address_);
  RawSocket events(listener_.get());
  EXPECT_THAT(events.read_until("\r\n\r\n"),
              AllOf(StartsWith("GET /event HTTP/1.1"),
                    HasSubstr("Authorization: Basic " + base::encode_base64("opencode:pass"))));
  pollfd more{listener_.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&more, 1, 50), 0) << "an event could be missed";
  events.send(event_head);
  RawSocket request(listener_.get());
  EXPECT_THAT(request.read_until("{\"a\":1}"), AllOf(StartsWith("POST /session HTTP/1.1"), HasSubstr("Basic ")));
  events.send("data: {\"type\":\"x\"}\n\n");
  Message message = take();
  ASSERT_TRUE(std::holds_alternative<ServerEvent>(message));
  EXPECT_EQ(std::get<ServerEvent>(message).data, "{\"type\":\"x\"}");
  // A prompt is answered when its turn is over; meanwhile others are sent.
  http_.send({{.number = 6, .method = "POST", .target = "/permission", .body = "{}"}});
  RawSocket other(listener_.get());
  other.read_until("{}");
  other.send("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
  message = take();
  ASSERT_TRUE(std::holds_alternative<ServerResponse>(message));
  EXPECT_EQ(std::get<ServerResponse>(message).number, 6U);
  EXPECT_EQ(std::get<ServerResponse>(message).status, 204);
  request.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  message = take();
  ASSERT_TRUE(std::holds_alternative<ServerResponse>(message));
  EXPECT_EQ(std::get<ServerResponse>(message).body, "{}");
}

TEST_F(AgentHttpTest, end_of_the_event_stream_is_a_loss) {
  http_.open(address_);
  RawSocket events(listener_.get());
  events.read_until("\r\n\r\n");
  events.send(event_head);
  events.close();
  EXPECT_THAT(lost(), HasSubstr("event stream"));
}

TEST_F(AgentHttpTest, refused_event_stream_is_a_loss) {
  http_.open(address_);
  RawSocket events(listener_.get());
  events.read_until("\r\n\r\n");
  events.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(lost(), HasSubstr("401"));
}

// The password of the agent's server is not sent elsewhere.
TEST_F(AgentHttpTest, only_this_machine_is_asked) {
  for (const char* address :
       {"http://192.0.2.1:80", "https://127.0.0.1:80", "http://example.org:80", "unix:///tmp/x", "", "nonsense"}) {
    Mailbox mailbox;
    AgentHttp http("pass", mailbox);
    http.open(address);
    EXPECT_EQ(mailbox.take().size(), 1U) << address;
  }
}

}  // namespace
}  // namespace reeve::adapter
