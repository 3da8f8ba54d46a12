#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/port.h"
#include "tests/support/websocket_client.h"

// Everything that a token or a browser session opened at the port ends with it (API, SPEC §7).
namespace reeve {
namespace {

using ::testing::AllOf;
using testing::body_of;
using ::testing::HasSubstr;
using testing::header_of;
using ::testing::Not;
using testing::Outcome;
using testing::Port;
using testing::RawSocket;
using ::testing::StartsWith;
using testing::status_of;
using testing::Words;
using Client = testing::WebSocketClient;

constexpr int unauthorized = 4401;

class CredentialEnd : public testing::PortTest {
 protected:
  struct Browser {
    std::string cookie;
    std::string key;
  };

  void SetUp() override { port_ = open_port(); }

  Client::Headers headers_with(const Client::Headers& more) const {
    Client::Headers headers = Client::right_headers();
    headers.front().second = fmt::format("127.0.0.1:{}", port_.number);
    headers.insert(headers.end(), more.begin(), more.end());
    return headers;
  }
  Client::Headers shown(const std::string& token) const { return headers_with({{"Authorization", "Bearer " + token}}); }
  std::string origin() const { return fmt::format("http://127.0.0.1:{}", port_.number); }
  Client::Headers shown(const Browser& browser) const {
    return headers_with({{"Cookie", browser.cookie},
                         {"Origin", origin()},
                         {"Sec-WebSocket-Protocol", "reeve, reeve.key." + browser.key}});
  }
  static std::string page_headers(const Browser& browser) {
    return fmt::format("Cookie: {}\r\nReeve-Request: {}\r\n", browser.cookie, browser.key);
  }
  std::string change_headers(const Browser& browser) const {
    return page_headers(browser) + "Origin: " + origin() + "\r\n";
  }

  // Subscribes to all events.
  std::unique_ptr<Client> listen(const Client::Headers& headers) const {
    auto client = std::make_unique<Client>(port_, "/api/events", headers);
    EXPECT_TRUE(client->is_open()) << client->head();
    client->send_text(R"({"type":"subscribe","events":["*"]})");
    EXPECT_THAT(client->read_text().value_or(""), HasSubstr("subscribed"));
    return client;
  }
  // Sends the request and reads the head of a streaming response.
  std::unique_ptr<RawSocket> follow(const std::string& target, const std::string& headers) const {
    auto peer = std::make_unique<RawSocket>(port_);
    EXPECT_TRUE(peer->send(compose(port_, "GET", target, headers)));
    EXPECT_THAT(peer->read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 ")) << target;
    return peer;
  }
  static void expect_closed(Client& client) {
    ASSERT_EQ(client.read_close(), unauthorized) << client.close_reason();
    EXPECT_FALSE(client.close_reason().empty());
  }
  // With a link requested by `words`.
  Browser sign_in(const Words& words, const testing::Variables& more = {}) const {
    const Outcome outcome = reeve(words, more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::string link = outcome.out.substr(0, outcome.out.find('\n'));
    const std::string answer = ask(port_, compose(port_, "GET", link.substr(link.find("/sign-in"))));
    EXPECT_EQ(status_of(answer), 303) << answer;
    const std::string cookie = header_of(answer, "Set-Cookie");
    const std::string place = header_of(answer, "Location");
    EXPECT_THAT(place, StartsWith("/#key="));
    return {cookie.substr(0, cookie.find(';')), place.substr(place.find('=') + 1)};
  }
  int status(const std::string& headers, const std::string& target = "/api/runs") const {
    return status_of(ask(port_, compose(port_, "GET", target, headers)));
  }
  std::string host() const { return fmt::format("http://127.0.0.1:{}", port_.number); }

  Port port_;
};

TEST_F(CredentialEnd, revoking_a_token_closes_everything_it_opened) {
  ASSERT_EQ(reeve({"run", "--detach", "--pty", "--", "cat"}).out, "TR-1\n");
  wait_for_status("TR-1", "running");
  const std::string watcher = make_token("watcher", "operate,approve");
  const auto other = listen(shown(make_token("other", "read")));
  const auto events = listen(shown(watcher));
  Client terminal(port_, "/api/runs/TR-1/terminal", shown(watcher));
  EXPECT_THAT(terminal.read_text().value_or(""), HasSubstr("attached"));
  std::vector<std::unique_ptr<RawSocket>> streams;
  streams.push_back(follow("/api/events", bearer(watcher) + "Accept: text/event-stream\r\n"));
  for (const char* target : {"/api/events?follow=1", "/api/log?follow=1", "/api/runs/TR-1/output?follow=1"}) {
    streams.push_back(follow(target, bearer(watcher)));
  }
  RawSocket waits(port_);
  ASSERT_TRUE(waits.send(compose(port_, "GET", "/api/runs/TR-1/wait?timeout=5m", bearer(watcher))));
  EXPECT_EQ(status(bearer(watcher)), 200);

  EXPECT_EQ(reeve({"token", "revoke", "watcher"}).code, 0);
  ASSERT_NO_FATAL_FAILURE(expect_closed(*events));
  EXPECT_THAT(events->close_reason(), HasSubstr("revoked"));
  // Typed input no longer reaches the run.
  terminal.send({Client::binary, "typed too late\n"});
  ASSERT_NO_FATAL_FAILURE(expect_closed(terminal));
  // Without the final chunk, so that the client can tell that the stream is incomplete.
  for (const auto& stream : streams) EXPECT_THAT(stream->read_to_end(), Not(HasSubstr("\r\n0\r\n\r\n")));
  const std::string answer = waits.read_answer();
  EXPECT_EQ(status_of(answer), 401) << answer;
  EXPECT_EQ(body_of(answer)["code"], "api.unauthorized");
  EXPECT_THAT(header_of(answer, "WWW-Authenticate"), StartsWith("Bearer"));

  // Other clients are not affected.
  EXPECT_EQ(reeve({"cancel", "TR-1", "--kill"}).code, 0);
  finish("TR-1");
  EXPECT_THAT(logs("TR-1"), Not(HasSubstr("too late")));
  EXPECT_THAT(other->read_text().value_or(""), HasSubstr("TR-1"));
}

// By time, and by a revocation through another daemon of the same store.
TEST_F(CredentialEnd, expired_token_closes_its_streams) {
  const std::string late = make_token("late", "read");
  const std::string elsewhere = make_token("elsewhere", "read");
  const auto other = listen(shown(own_token()));
  const auto first = listen(shown(late));
  const auto second = listen(shown(elsewhere));
  sql("UPDATE tokens SET expires_at = '2020-01-01T00:00:00.000Z' WHERE name = 'late'");
  ASSERT_NO_FATAL_FAILURE(expect_closed(*first));
  sql("UPDATE tokens SET revoked_at = '2020-01-01T00:00:00.000Z' WHERE name = 'elsewhere'");
  ASSERT_NO_FATAL_FAILURE(expect_closed(*second));
  EXPECT_EQ(reeve({"run", "--", "true"}).code, 0);
  EXPECT_THAT(other->read_text().value_or(""), HasSubstr("TR-1"));
}

TEST_F(CredentialEnd, signing_out_closes_the_browsers_streams) {
  const Browser browser = sign_in({"web"});
  const Browser second = sign_in({"web"});
  const auto socket = listen(shown(browser));
  const auto other = listen(shown(second));
  const auto stream = follow("/api/events?follow=1", page_headers(browser));
  EXPECT_EQ(status_of(ask(port_, compose(port_, "POST", "/api/sign-out", change_headers(browser), "{}"))), 200);
  ASSERT_NO_FATAL_FAILURE(expect_closed(*socket));
  EXPECT_THAT(stream->read_to_end(), Not(HasSubstr("\r\n0\r\n\r\n")));
  EXPECT_EQ(status(page_headers(browser)), 401);
  EXPECT_EQ(status(page_headers(second)), 200);
  EXPECT_EQ(reeve({"run", "--", "true"}).code, 0);
  EXPECT_THAT(other->read_text().value_or(""), HasSubstr("TR-1"));
}

// A session that a token opened lasts no longer than the token.
TEST_F(CredentialEnd, browser_session_ends_with_its_token) {
  for (const bool is_told : {true, false}) {
    const std::string name = is_told ? "revoked" : "expired";
    const Browser browser = sign_in({"--host", host(), "web"}, {{"REEVE_TOKEN", make_token(name, "admin")}});
    const auto socket = listen(shown(browser));
    if (is_told) {
      EXPECT_EQ(reeve({"token", "revoke", name}).code, 0);
    } else {
      sql("UPDATE tokens SET expires_at = '2020-01-01T00:00:00.000Z' WHERE name = '" + name + "'");
    }
    ASSERT_NO_FATAL_FAILURE(expect_closed(*socket));
    EXPECT_EQ(status(page_headers(browser)), 401) << name;
  }
}

TEST_F(CredentialEnd, rotating_the_daemon_token_ends_its_sessions) {
  const std::string before = own_token();
  const Browser by_socket = sign_in({"web"});
  const Browser by_token = sign_in({"--host", host(), "web"}, {{"REEVE_TOKEN", before}});
  const auto socket = listen(shown(before));
  const auto page = listen(shown(by_token));
  const auto owners = listen(shown(by_socket));
  const Outcome rotated = reeve({"token", "rotate"});
  EXPECT_EQ(rotated.code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, AllOf(HasSubstr("http.token"), Not(HasSubstr("reeve_"))));
  EXPECT_NE(own_token(), before);
  struct stat file{};
  ASSERT_EQ(::stat((state() / "http.token").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600);
  ASSERT_NO_FATAL_FAILURE(expect_closed(*socket));
  ASSERT_NO_FATAL_FAILURE(expect_closed(*page));
  EXPECT_EQ(status(bearer(before)), 401);
  EXPECT_EQ(status(bearer(own_token())), 200);
  EXPECT_EQ(status(page_headers(by_token)), 401);
  EXPECT_EQ(status(page_headers(by_socket)), 200);
  EXPECT_EQ(sql("SELECT count(*) FROM audit_log WHERE kind = 'token_revoked' AND data LIKE '%http.token%'"), "1");
  // The next daemon uses the new token.
  EXPECT_EQ(reeve({"stop"}).code, 0);
  port_ = open_port();
  EXPECT_EQ(status(bearer(before)), 401);
  EXPECT_EQ(status(bearer(own_token())), 200);
  // A client with the token may rotate it; a tool may not.
  const testing::Variables token = {{"REEVE_TOKEN", own_token()}};
  EXPECT_EQ(reeve({"--host", host(), "token", "rotate"}, token).code, 0);
  EXPECT_EQ(reeve({"run", "--", testing::reeve_binary(), "token", "rotate", "--state", state().string()}).code, 5);
}

}  // namespace
}  // namespace reeve
