#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/http/http.h"
#include "server/http/websocket.h"
#include "tests/support/server/service.h"
#include "tests/support/websocket_client.h"

// RFC 6455, and the limits of SPEC §7.
namespace reeve::server {
namespace {

using namespace std::chrono_literals;
using Client = testing::WebSocketClient;
using Frame = Client::Frame;
using testing::Event;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Service;
using ::testing::StartsWith;

constexpr std::size_t mib = 1024UZ * 1024;

// A WebSocket at /socket that echoes every message.
struct Echo {
  Handler handler() {
    return [this](const Request& request, const std::shared_ptr<Responder>& responder) {
      if (request.path != "/socket") return responder->send({.body = request.path});
      socket = responder->upgrade(request, limits);
      if (!socket) return refused.happen();
      socket->on_message([this](const WebSocket::Message& message) {
        socket->send(std::make_shared<const std::string>(message.is_text ? text_frame(message.bytes)
                                                                         : binary_frame(message.bytes)));
      });
      socket->on_closed([this] { closed.happen(); });
      opened.happen();
    };
  }

  WebSocketLimits limits;
  std::shared_ptr<WebSocket> socket;
  Event opened;
  Event refused;
  Event closed;
};

// A server with it. Releases its objects while the server's loop still runs.
class Room {
 public:
  explicit Room(const WebSocketLimits& limits = {}) : service(echo.handler()) { echo.limits = limits; }
  ~Room() {
    service.on_loop([this] { echo.socket.reset(); });
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  Echo echo;
  Service service;
};

TEST(HttpWebSocket, handshake_and_echo_follow_rfc_6455) {
  Room room;
  Service& service = room.service;
  Client client(service.path(), "/socket");
  ASSERT_TRUE(client.is_open()) << client.head();
  EXPECT_THAT(client.head(), HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
  for (const std::size_t size : {0UZ, 1UZ, 125UZ, 126UZ, 4'096UZ, 65'535UZ, 65'536UZ}) {
    const std::string text(size, 'a');
    client.send_text(text);
    const auto frame = client.read_frame();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->opcode, Client::text);
    EXPECT_FALSE(frame->is_masked);
    EXPECT_EQ(frame->payload, text);
  }
}

TEST(HttpWebSocket, invalid_upgrade_is_refused_and_http_continues) {
  struct Case {
    std::string what;
    std::string value;
    std::string status;
  };
  const std::string key = "Sec-WebSocket-Key";
  const Case cases[] = {
      {"Sec-WebSocket-Version", "8", "HTTP/1.1 426 "},
      {"Sec-WebSocket-Version", "", "HTTP/1.1 426 "},
      {"Sec-WebSocket-Version", "13, 8", "HTTP/1.1 426 "},
      {key, "", "HTTP/1.1 400 "},
      {key, "dGhlIHNhbXBsZSBub25j", "HTTP/1.1 400 "},
      {key, "dGhlIHNhbXBsZSBub25jZQ!=", "HTTP/1.1 400 "},
      {"Upgrade", "h2c", "HTTP/1.1 400 "},
      {"Connection", "close", "HTTP/1.1 400 "},
  };
  for (const Case& one : cases) {
    Room room;
    Echo& echo = room.echo;
    Service& service = room.service;
    auto headers = Client::right_headers();
    for (auto& [name, value] : headers) {
      if (name == one.what) value = one.value;
    }
    const Client client(service.path(), "/socket", headers);
    EXPECT_THAT(client.head(), StartsWith(one.status)) << one.what << ": " << one.value;
    EXPECT_TRUE(echo.refused.wait());
    if (one.status.contains("426")) EXPECT_THAT(client.head(), HasSubstr("Sec-WebSocket-Version: 13\r\n"));
  }
  Room room;
  Service& service = room.service;
  testing::RawSocket old(service.path());
  std::string headers;
  for (const auto& [name, value] : Client::right_headers()) headers += name + ": " + value + "\r\n";
  old.send("GET /socket HTTP/1.0\r\n" + headers + "\r\n");
  EXPECT_THAT(old.read_answer(), StartsWith("HTTP/1.1 400 "));
  Room other;
  testing::RawSocket with_body(other.service.path());
  with_body.send("GET /socket HTTP/1.1\r\nContent-Length: 2\r\n" + headers + "\r\n{}");
  EXPECT_THAT(with_body.read_answer(), StartsWith("HTTP/1.1 400 "));
  // The connection remained HTTP.
  with_body.send("GET /next HTTP/1.1\r\n\r\n");
  EXPECT_THAT(with_body.read_answer(), HasSubstr("/next"));
}

TEST(HttpWebSocket, frame_sent_with_the_upgrade_request_is_received) {
  Room room;
  Service& service = room.service;
  Client client(service.path(), "/socket", Client::right_headers(), Client::bytes_of({Client::text, "early"}));
  EXPECT_EQ(client.read_text(), "early");
}

TEST(HttpWebSocket, fragments_form_one_message_and_pings_are_answered) {
  Room room;
  Service& service = room.service;
  Client client(service.path(), "/socket");
  client.send({Client::text, "a", false});
  client.send({Client::ping, "are you there"});
  client.send({Client::more, "b", false});
  client.send({Client::more, "c"});
  const auto pong = client.read_frame();
  ASSERT_TRUE(pong);
  EXPECT_EQ(pong->opcode, Client::pong);
  EXPECT_EQ(pong->payload, "are you there");
  EXPECT_EQ(client.read_text(), "abc");
  // Byte by byte.
  for (const char c : Client::bytes_of({Client::text, "slowly"})) client.send_raw(std::string_view(&c, 1));
  EXPECT_EQ(client.read_text(), "slowly");
}

TEST(HttpWebSocket, protocol_errors_close_with_their_code) {
  struct Case {
    const char* what;
    std::vector<Frame> frames;
    int code;
  };
  const std::vector<Case> cases = {
      {"not masked", {{Client::text, "a", true, false}}, 1002},
      {"no UTF-8", {{Client::text, "\xff\xfe"}}, 1007},
      {"UTF-8 that stops in the middle", {{Client::text, "\xe2\x82"}}, 1007},
      {"too long", {{Client::text, std::string(65'537, 'a')}}, 1009},
      {"too long in pieces",
       {{Client::text, std::string(60'000, 'a'), false}, {Client::more, std::string(6'000, 'b')}},
       1009},
      {"a length that nobody sends", {{Client::text, "", true, true, std::size_t{1} << 40U}}, 1009},
      {"an opcode that there is not", {{0x3, "a"}}, 1002},
      {"a control frame that is too long", {{Client::ping, std::string(126, 'a')}}, 1002},
      {"a control frame in pieces", {{Client::ping, "a", false}}, 1002},
      {"a piece without a beginning", {{Client::more, "a"}}, 1002},
      {"a beginning within another", {{Client::text, "a", false}, {Client::text, "b"}}, 1002},
      {"a goodbye with half a code", {{Client::close, "\x03"}}, 1002},
      {"a goodbye with a code that is not for the wire", {{Client::close, "\x03\xed"}}, 1002},
      {"bytes where text is wanted", {{Client::binary, "a"}}, 1003},
  };
  for (const Case& one : cases) {
    Room room;
    Echo& echo = room.echo;
    Service& service = room.service;
    Client client(service.path(), "/socket");
    for (const Frame& frame : one.frames) client.send(frame);
    EXPECT_EQ(client.read_close(), one.code) << one.what;
    client.hang_up();
    EXPECT_TRUE(echo.closed.wait()) << one.what;
  }
}

TEST(HttpWebSocket, close_frame_is_answered_and_ends_the_connection) {
  Room room;
  Echo& echo = room.echo;
  Service& service = room.service;
  Client client(service.path(), "/socket");
  client.send({Client::close, "\x03\xe8 done"});
  EXPECT_EQ(client.read_close(), 1000);
  EXPECT_EQ(client.read_frame(), std::nullopt);
  EXPECT_TRUE(echo.closed.wait());
  service.on_loop([&] {
    EXPECT_TRUE(echo.socket->is_closed());
    EXPECT_EQ(service.server().connections(), 0U);
  });
}

TEST(HttpWebSocket, server_close_follows_queued_messages) {
  Room room;
  Echo& echo = room.echo;
  Service& service = room.service;
  Client client(service.path(), "/socket");
  ASSERT_TRUE(echo.opened.wait());
  service.on_loop([&] {
    echo.socket->send_text("last words");
    echo.socket->close(CloseCode::normal, "the end");
    echo.socket->send_text("too late");
  });
  EXPECT_EQ(client.read_text(), "last words");
  EXPECT_EQ(client.read_close(), 1000);
  EXPECT_EQ(client.close_reason(), "the end");
  // Further messages of the peer are ignored, but not its close frame.
  client.send_text("still here");
  client.send({Client::close, "\x03\xe8"});
  EXPECT_EQ(client.read_frame(), std::nullopt);
  EXPECT_TRUE(echo.closed.wait());
}

TEST(HttpWebSocket, a_flood_of_messages_or_pings_is_closed) {
  for (const auto opcode : {Client::text, Client::ping, Client::pong}) {
    Room room({.messages_per_second = 1, .messages_at_once = 10});
    Service& service = room.service;
    Client client(service.path(), "/socket");
    const std::string one = Client::bytes_of({opcode, "x"});
    std::string flood;
    for (int i = 0; i < 1'000; ++i) flood += one;
    // Without a limit on frames, this would be answered instead.
    flood += Client::bytes_of({Client::close, "\x03\xe8"});
    client.send_raw(flood);
    EXPECT_EQ(client.read_close(), 1008) << opcode;
    EXPECT_EQ(client.close_reason(), "too many messages");
  }
}

// An unfinished message of endless fragments never reaches the handler, but its frames are counted.
TEST(HttpWebSocket, a_flood_of_empty_fragments_is_closed) {
  for (const char* payload : {"", "x"}) {
    Room room({.messages_per_second = 1, .messages_at_once = 10});
    Client client(room.service.path(), "/socket");
    std::string flood = Client::bytes_of({Client::text, payload, false});
    for (int i = 0; i < 1'000; ++i) flood += Client::bytes_of({Client::more, payload, false});
    // Without a limit on frames, this would be answered instead.
    flood += Client::bytes_of({Client::close, "\x03\xe8"});
    client.send_raw(flood);
    EXPECT_EQ(client.read_close(), 1008) << payload;
    EXPECT_EQ(client.close_reason(), "too many messages");
  }
}

TEST(HttpWebSocket, supported_subprotocol_is_selected_without_its_key) {
  Room room;
  auto headers = Client::right_headers();
  headers.emplace_back("Sec-WebSocket-Protocol", "reeve, reeve.key.abc");
  const Client client(room.service.path(), "/socket", headers);
  EXPECT_TRUE(client.is_open());
  EXPECT_THAT(client.head(), HasSubstr("Sec-WebSocket-Protocol: reeve\r\n"));
  EXPECT_THAT(client.head(), Not(HasSubstr("abc")));
}

TEST(HttpWebSocket, slow_reader_is_closed_with_1013_at_the_limit) {
  Room room({.waiting_bytes = mib});
  Echo& echo = room.echo;
  Service& service = room.service;
  Client client(service.path(), "/socket");
  ASSERT_TRUE(echo.opened.wait());
  const auto frame = std::make_shared<const std::string>(text_frame(std::string(10'000, 'x')));
  service.on_loop([&] {
    for (int i = 0; i < 1'000 && !echo.socket->is_closed(); ++i) {
      echo.socket->send(frame);
      EXPECT_LE(echo.socket->waiting(), mib + frame->size());
    }
    EXPECT_TRUE(echo.socket->is_closed());
    // Frames that were not partly sent are dropped.
    EXPECT_LE(echo.socket->waiting(), frame->size() + 200);
  });
  ASSERT_FALSE(HasFailure());
  EXPECT_EQ(client.read_close(), 1013);
}

TEST(HttpWebSocket, silent_peer_is_pinged_then_disconnected) {
  Room room({.ping_time = 50ms});
  Client client(room.service.path(), "/socket");
  const auto frame = client.read_frame();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->opcode, Client::ping);
  // Without a close frame, which the peer would not read.
  EXPECT_EQ(client.read_close(), 0);
  EXPECT_TRUE(room.echo.closed.wait());
}

TEST(HttpWebSocket, peer_that_answers_pings_stays_connected) {
  // Slow, so that a busy machine does not look like a dead peer.
  Room room({.ping_time = 2s});
  Client client(room.service.path(), "/socket");
  for (int i = 0; i < 4; ++i) {
    const auto frame = client.read_frame();
    ASSERT_TRUE(frame);
    ASSERT_EQ(frame->opcode, Client::ping);
    ASSERT_TRUE(client.send({Client::pong, frame->payload}));
  }
  client.send_text("still here");
  EXPECT_EQ(client.read_text(), "still here");
}

TEST(HttpWebSocket, disconnect_is_reported) {
  Room room;
  Echo& echo = room.echo;
  Service& service = room.service;
  Client client(service.path(), "/socket");
  ASSERT_TRUE(echo.opened.wait());
  client.hang_up();
  EXPECT_TRUE(echo.closed.wait());
  service.on_loop([&] { echo.socket->send_text("nobody"); });
}

TEST(HttpWebSocket, paused_socket_delivers_no_messages) {
  Room room;
  Echo& echo = room.echo;
  Service& service = room.service;
  Client client(service.path(), "/socket");
  ASSERT_TRUE(echo.opened.wait());
  std::vector<std::string> heard;
  service.on_loop([&] {
    echo.socket->on_message([&](const WebSocket::Message& message) {
      heard.push_back(message.bytes);
      echo.socket->set_paused(true);
      echo.socket->send_text("heard " + message.bytes);
    });
  });
  client.send_text("a");
  client.send_text("b");
  EXPECT_EQ(client.read_text(), "heard a");
  service.on_loop([&] { EXPECT_EQ(heard, (std::vector<std::string>{"a"})); });
  service.on_loop([&] { echo.socket->set_paused(false); });
  EXPECT_EQ(client.read_text(), "heard b");
}

TEST(HttpWebSocket, closing_server_sends_1001) {
  Room room;
  Echo& echo = room.echo;
  Service& service = room.service;
  Client client(service.path(), "/socket");
  ASSERT_TRUE(echo.opened.wait());
  Event all_gone;
  service.on_loop([&] { service.server().close(20s, [&] { all_gone.happen(); }); });
  EXPECT_EQ(client.read_close(), 1001);
  client.send({Client::close, "\x03\xe9"});
  EXPECT_TRUE(all_gone.wait());
}

TEST(HttpWebSocket, destroyed_server_ends_the_connection) {
  auto room = std::make_unique<Room>();
  Client client(room->service.path(), "/socket");
  ASSERT_TRUE(room->echo.opened.wait());
  room.reset();
  EXPECT_EQ(client.read_frame(), std::nullopt);
}

}  // namespace
}  // namespace reeve::server
