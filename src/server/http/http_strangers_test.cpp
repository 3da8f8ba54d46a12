#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/http/http.h"
#include "tests/support/server/service.h"
#include "tests/support/socket.h"

// TCP connections before they have sent a credential (API, SPEC §7).
namespace reeve::server {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Port;
using testing::RawSocket;
using testing::Service;

// Any client that gives a name is known; `later` is decided only after a while, by the loop.
class HttpStrangers : public ::testing::Test {
 protected:
  void begin(HttpServer::Limits limits) {
    service_ = std::make_unique<Service>(
        [](const Request& request, const std::shared_ptr<Responder>& responder) {
          EXPECT_EQ(request.peer.entrance, request.path == "/owner" ? Entrance::unix_socket : Entrance::tcp);
          responder->send({.content_type = "text/plain", .body = request.caller.name + request.body});
        },
        limits);
    os::Fd listener = os::listen_at(*os::parse_tcp_address("127.0.0.1:0"));
    port_ = {os::local_address(listener.get())->port};
    service_->on_loop([&] {
      service_->server().accept(std::move(listener), {.admit = [this](const Request& head, auto decided) {
                                  const std::string name = head.header("x-name").value_or("");
                                  if (name == "nobody") return decided({.refusal = Response{.status = 401}});
                                  Admission admission{.caller = {name, {}}, .is_known = !name.empty()};
                                  if (head.path != "/later") return decided(admission);
                                  service_->loop().post([decided, admission] { decided(admission); });
                                }});
    });
  }
  static std::string get(const std::string& path, const std::string& headers = {}) {
    return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n";
  }
  void TearDown() override { service_.reset(); }

  std::unique_ptr<Service> service_;
  Port port_;
};

TEST_F(HttpStrangers, oldest_unauthenticated_connection_is_evicted_first) {
  begin({.strangers = 2, .stranger_time = 10min});
  RawSocket oldest(port_);
  RawSocket silent(port_);
  RawSocket known(port_);
  ASSERT_TRUE(known.send(get("/", "X-Name: anna\r\n")));
  EXPECT_THAT(known.read_answer(), HasSubstr("\r\n\r\nanna"));
  EXPECT_EQ(oldest.read_to_end(), "");
  // A known connection no longer counts as unauthenticated.
  RawSocket next(port_);
  ASSERT_TRUE(next.send(get("/", "X-Name: ben\r\n")));
  EXPECT_THAT(next.read_answer(), HasSubstr("\r\n\r\nben"));
  ASSERT_TRUE(known.send(get("/later", "X-Name: anna\r\n")));
  EXPECT_THAT(known.read_answer(), HasSubstr("\r\n\r\nanna"));
}

TEST_F(HttpStrangers, unauthenticated_connection_times_out_early) {
  begin({.stranger_time = 50ms});
  RawSocket silent(port_);
  EXPECT_EQ(silent.read_to_end(), "");
  RawSocket slow(port_);
  ASSERT_TRUE(slow.send("GET / HTTP/1.1\r\n"));
  EXPECT_THAT(slow.read_to_end(), HasSubstr(" 408 "));
}

TEST_F(HttpStrangers, unauthenticated_client_gets_one_response_and_no_body_read) {
  begin({});
  RawSocket open(port_);
  ASSERT_TRUE(open.send(get("/") + get("/")));
  EXPECT_THAT(open.read_answer(), HasSubstr("Connection: close"));
  EXPECT_EQ(open.read_to_end(), "");
  // Refused before its body arrives.
  RawSocket refused(port_);
  ASSERT_TRUE(refused.send("POST / HTTP/1.1\r\nX-Name: nobody\r\nContent-Length: 1000000\r\n\r\n"));
  EXPECT_THAT(refused.read_answer(), HasSubstr(" 401 "));
}

// A client with a token may open many connections, but not the last: the owner is not locked out.
TEST_F(HttpStrangers, last_quarter_of_connections_is_reserved_for_the_owner) {
  begin({.connections = 8});
  std::vector<std::unique_ptr<RawSocket>> known;
  for (int i = 0; i < 6; ++i) {
    known.push_back(std::make_unique<RawSocket>(port_));
    ASSERT_TRUE(known.back()->send(get("/", "X-Name: anna\r\n")));
    EXPECT_THAT(known.back()->read_answer(), HasSubstr("\r\n\r\nanna"));
  }
  RawSocket late(port_);
  EXPECT_THAT(late.read_to_end(), HasSubstr(" 503 "));
  RawSocket owner(service_->path());
  ASSERT_TRUE(owner.send(get("/owner")));
  EXPECT_THAT(owner.read_answer(), HasSubstr(" 200 "));
  RawSocket second(service_->path());
  ASSERT_TRUE(second.send(get("/owner")));
  EXPECT_THAT(second.read_answer(), HasSubstr(" 200 "));
}

// When a credential is revoked, streams end, but a change in progress is answered.
TEST_F(HttpStrangers, revoked_client_loses_its_streams_and_waits) {
  std::vector<std::shared_ptr<Responder>> held;
  std::shared_ptr<Stream> stream;
  testing::Event all_there;
  service_ = std::make_unique<Service>(
      [&](const Request& request, const std::shared_ptr<Responder>& responder) {
        if (request.path == "/stream") {
          stream = responder->begin({});
          stream->write("first");
        } else {
          held.push_back(responder);
        }
        if (stream && held.size() == 3) all_there.happen();
      },
      HttpServer::Limits{});
  os::Fd listener = os::listen_at(*os::parse_tcp_address("127.0.0.1:0"));
  port_ = {os::local_address(listener.get())->port};
  service_->on_loop([&] {
    service_->server().accept(std::move(listener), {.admit = [](const Request& head, auto decided) {
                                decided({.caller = {head.header("x-name").value_or(""), {}}, .is_known = true});
                              }});
  });
  RawSocket streams(port_);
  RawSocket looks(port_);
  RawSocket changes(port_);
  RawSocket other(port_);
  ASSERT_TRUE(streams.send(get("/stream", "X-Name: anna\r\n")));
  ASSERT_TRUE(looks.send(get("/wait", "X-Name: anna\r\n")));
  ASSERT_TRUE(changes.send("POST /act HTTP/1.1\r\nX-Name: anna\r\nContent-Length: 0\r\n\r\n"));
  ASSERT_TRUE(other.send(get("/wait", "X-Name: ben\r\n")));
  ASSERT_TRUE(all_there.wait());
  EXPECT_THAT(streams.read_until("first"), HasSubstr(" 200 "));
  service_->on_loop([&] {
    service_->server().review([](const Caller& caller) {
      return caller.name == "anna" ? std::optional<std::string>("she left") : std::nullopt;
    });
    for (const auto& responder : held) responder->send({.content_type = "text/plain", .body = "late"});
    EXPECT_TRUE(stream->is_closed());
    held.clear();
    stream.reset();
  });
  // Without the final chunk.
  EXPECT_THAT(streams.read_to_end(), Not(HasSubstr("0\r\n\r\n")));
  EXPECT_THAT(looks.read_to_end(), AllOf(HasSubstr(" 401 "), HasSubstr("she left"), Not(HasSubstr("late"))));
  EXPECT_THAT(changes.read_answer(), AllOf(HasSubstr(" 200 "), HasSubstr("late")));
  EXPECT_THAT(other.read_answer(), AllOf(HasSubstr(" 200 "), HasSubstr("late")));
}

TEST_F(HttpStrangers, body_is_read_after_100_continue) {
  begin({});
  RawSocket peer(port_);
  ASSERT_TRUE(peer.send("POST /later HTTP/1.1\r\nX-Name: anna\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"));
  EXPECT_THAT(peer.read_until("\r\n\r\n"), HasSubstr("100 Continue"));
  ASSERT_TRUE(peer.send(" ok"));
  EXPECT_THAT(peer.read_answer(), HasSubstr("\r\n\r\nanna ok"));
  // All at once, in one segment together with the next request.
  ASSERT_TRUE(peer.send("POST /later HTTP/1.1\r\nX-Name: ben\r\nContent-Length: 3\r\n\r\n!!!" +
                        get("/later", "X-Name: cid\r\n")));
  EXPECT_THAT(peer.read_answer(), HasSubstr("\r\n\r\nben!!!"));
  EXPECT_THAT(peer.read_answer(), HasSubstr("\r\n\r\ncid"));
}

}  // namespace
}  // namespace reeve::server
