#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/port.h"

// Malicious requests at the daemon's port: each is refused with the right status, changes nothing, and the daemon
// serves the next one (API, SPEC §7).
namespace reeve {
namespace {

using ::testing::HasSubstr;
using testing::Port;
using testing::RawSocket;
using testing::status_of;

struct Tokens {
  std::string admin;
  std::string read;
  std::string operate;
  std::string approve;
  std::string expired;
  std::string revoked;
};

struct Hostile {
  std::string name;
  std::string bytes;
  int status = 400;
};

std::string repeat(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

class HttpHostile : public testing::PortTest {
 protected:
  void SetUp() override {
    port_ = open_port();
    EXPECT_EQ(ApprovalsTest::ask(), "AP-1");
    tokens_ = {.admin = own_token(),
               .read = make_token("reader", "read"),
               .operate = make_token("operator", "operate"),
               .approve = make_token("approver", "approve"),
               .expired = make_token("late", "admin"),
               .revoked = make_token("gone", "admin")};
    sql("UPDATE tokens SET expires_at = '2020-01-01T00:00:00.000Z' WHERE name = 'late'");
    EXPECT_EQ(reeve({"token", "revoke", "gone"}).code, 0);
    before_ = fingerprint();
  }

  // A request whose effect would be visible: it approves AP-1.
  std::string approve(const std::string& headers, const std::string& body = "{}") const {
    return compose(port_, "POST", "/api/approvals/AP-1/approve", headers, body);
  }
  std::string approve_as(const std::string& token, const std::string& headers = {}) const {
    return approve(bearer(token) + headers);
  }
  std::string get_as(const std::string& token, const std::string& target) const {
    return compose(port_, "GET", target, bearer(token));
  }
  std::string get(const std::string& target, const std::string& headers = {}) const {
    return compose(port_, "GET", target, bearer(tokens_.admin) + headers);
  }
  // With custom Host and other headers.
  std::string raw_approve(const std::string& headers, const std::string& body = "{}") const {
    return "POST /api/approvals/AP-1/approve HTTP/1.1\r\n" + bearer(tokens_.admin) + headers + "\r\n" + body;
  }
  // Correct except for the way the body is announced.
  std::string framed(const std::string& headers, const std::string& body, const std::string& version = "1.1") const {
    return fmt::format(
        "POST /api/approvals/AP-1/approve HTTP/{}\r\nHost: 127.0.0.1:{}\r\n{}Content-Type: "
        "application/json\r\n{}\r\n{}",
        version, port_.number, bearer(tokens_.admin), headers, body);
  }
  // Another request inside the body.
  std::string inner() const { return approve_as(tokens_.admin); }

  void expect_refused(const Hostile& hostile) const {
    SCOPED_TRACE(hostile.name);
    RawSocket peer(port_);
    peer.send(hostile.bytes);
    const std::string answer = peer.read_answer();
    EXPECT_EQ(status_of(answer), hostile.status) << answer.substr(0, 600);
    EXPECT_EQ(fingerprint(), before_);
  }
  void expect_refused(const std::vector<Hostile>& table) const {
    for (const Hostile& hostile : table) expect_refused(hostile);
    EXPECT_EQ(status_of(ask(port_, get("/healthz"))), 200);
    // The refused action is still possible.
    EXPECT_EQ(status_of(ask(port_, approve_as(tokens_.approve))), 200);
  }

  Port port_;
  Tokens tokens_;
  std::string before_;
};

TEST_F(HttpHostile, foreign_hosts_origins_and_bad_tokens_are_refused) {
  const std::string type = "Content-Type: application/json\r\nContent-Length: 2\r\n";
  const std::string host = fmt::format("Host: 127.0.0.1:{}\r\n", port_.number);
  expect_refused({
      {"foreign host", raw_approve("Host: evil.example\r\n" + type), 421},
      {"foreign host with our port", raw_approve(fmt::format("Host: evil.example:{}\r\n", port_.number) + type), 421},
      {"our host with another port", raw_approve("Host: 127.0.0.1:1\r\n" + type), 421},
      {"our host without a port", raw_approve("Host: localhost\r\n" + type), 421},
      {"no host", raw_approve(type), 400},
      {"empty host", raw_approve("Host: \r\n" + type), 400},
      {"two hosts", raw_approve(host + "Host: evil.example\r\n" + type), 400},
      {"two hosts alike", raw_approve(host + host + type), 400},
      {"HTTP/1.0 without a host",
       "POST /api/approvals/AP-1/approve HTTP/1.0\r\n" + bearer(tokens_.admin) + type + "\r\n{}", 400},
      {"foreign origin", approve_as(tokens_.admin, "Origin: http://evil.example\r\n"), 403},
      {"origin of another port", approve_as(tokens_.admin, "Origin: http://127.0.0.1:1\r\n"), 403},
      {"origin of a file", approve_as(tokens_.admin, "Origin: null\r\n"), 403},
      {"origin of another scheme",
       approve_as(tokens_.admin, fmt::format("Origin: https://127.0.0.1:{}\r\n", port_.number)), 403},
      {"a page of another site", approve_as(tokens_.admin, "Sec-Fetch-Site: cross-site\r\n"), 403},
      {"a page of another port", get("/api/runs", "Sec-Fetch-Site: same-site\r\n"), 403},
      {"an upgrade from a foreign page",
       get("/api/events", "Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: http://evil.example\r\n"), 403},
      {"an upgrade without a token",
       compose(port_, "GET", "/api/events", "Connection: Upgrade\r\nUpgrade: websocket\r\n"), 401},
      {"no token", approve(""), 401},
      {"no token for looking", compose(port_, "GET", "/api/runs"), 401},
      {"no token for what is not there", compose(port_, "GET", "/nothing"), 401},
      {"a body where none is open to all", compose(port_, "GET", "/healthz", "Content-Length: 5\r\n", "hello"), 401},
      {"an unknown token", approve_as("reeve_" + std::string(64, 'a')), 401},
      {"half a token", approve_as(tokens_.admin.substr(0, 40)), 401},
      {"an expired token", approve_as(tokens_.expired), 401},
      {"a revoked token", approve_as(tokens_.revoked), 401},
      {"a password", approve("Authorization: Basic cm9vdDpyb290\r\n"), 401},
      {"two tokens", approve(bearer(tokens_.admin) + bearer(tokens_.admin)), 400},
      {"a token in the target", compose(port_, "GET", "/api/runs?token=" + tokens_.admin), 401},
      {"a cookie that is none",
       compose(port_, "GET", "/api/runs", fmt::format("Cookie: reeve_session_{}=x\r\n", port_.number)), 401},
      {"a used-up code", compose(port_, "GET", "/sign-in?code=" + std::string(64, 'a')), 403},
  });
}

TEST_F(HttpHostile, requests_without_the_scope_get_403) {
  const auto post = [&](const std::string& token, const std::string& target, const std::string& body) {
    return compose(port_, "POST", target, bearer(token), body);
  };
  const std::string run = R"({"argv":["touch","made"],"cwd":"/tmp"})";
  const std::string token = R"({"name":"more","scopes":["admin"]})";
  expect_refused({
      {"a reader decides", approve_as(tokens_.read), 403},
      {"a reader starts", post(tokens_.read, "/api/runs", run), 403},
      {"a reader cancels", post(tokens_.read, "/api/runs/TR-1/cancel", "{}"), 403},
      {"a reader makes tokens", post(tokens_.read, "/api/tokens", token), 403},
      {"a reader sees tokens", compose(port_, "GET", "/api/tokens", bearer(tokens_.read)), 403},
      {"a reader stops the daemon", post(tokens_.read, "/api/daemon/stop", "{}"), 403},
      {"a reader lets a browser in", post(tokens_.read, "/api/web", "{}"), 403},
      {"an operator decides", approve_as(tokens_.operate), 403},
      {"an operator makes tokens", post(tokens_.operate, "/api/tokens", token), 403},
      {"an operator revokes", compose(port_, "DELETE", "/api/tokens/reader", bearer(tokens_.operate), "{}"), 403},
      {"an approver starts", post(tokens_.approve, "/api/runs", run), 403},
      {"a reader looks for secrets in frames", get_as(tokens_.read, "/api/runs/TR-1/output?format=frames"), 403},
      {"an operator types what may be an answer", post(tokens_.operate, "/api/runs/TR-1/input", R"({"text":"y"})"),
       403},
      {"an approver types", post(tokens_.approve, "/api/runs/TR-1/input", R"({"text":"x"})"), 403},
      {"an approver stops the daemon", post(tokens_.approve, "/api/daemon/stop", "{}"), 403},
  });
}

TEST_F(HttpHostile, malformed_requests_are_refused) {
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  expect_refused({
      {"two ways to end", framed("Content-Length: 2\r\n" + chunked, "0\r\n\r\n" + inner())},
      {"two ways to end, turned round", framed(chunked + "Content-Length: 2\r\n", "0\r\n\r\n" + inner())},
      {"two lengths", framed("Content-Length: 2\r\nContent-Length: 200\r\n", "{}" + inner())},
      {"two lengths alike", framed("Content-Length: 2\r\nContent-Length: 2\r\n", "{}" + inner())},
      {"a list of lengths", framed("Content-Length: 2, 2\r\n", "{}")},
      {"a length with a sign", framed("Content-Length: +2\r\n", "{}")},
      {"a length below nothing", framed("Content-Length: -1\r\n", "{}")},
      {"a length beyond numbers", framed("Content-Length: 99999999999999999999999\r\n", "{}")},
      {"a length in hexadecimal", framed("Content-Length: 0x2\r\n", "{}")},
      {"another encoding", framed("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 415},
      {"an encoding that is none", framed("Transfer-Encoding: identity\r\n", "{}"), 415},
      {"an encoding spelled oddly", framed("Transfer-Encoding: xchunked\r\n", "{}"), 415},
      {"two encodings", framed(chunked + chunked, "0\r\n\r\n")},
      {"chunks in HTTP/1.0", framed(chunked, "2\r\n{}\r\n0\r\n\r\n", "1.0")},
      {"a length before a colon and a blank", framed("Content-Length : 2\r\n", "{}")},
      {"a folded line", framed("Content-Length: 2\r\nX-A: b\r\n c\r\n", "{}")},
      {"a folded encoding", framed("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n")},
      {"bare line ends", "GET /healthz HTTP/1.1\nHost: 127.0.0.1\n\n"},
      {"a bare line end within", framed("X-A: b\nX-B: c\r\nContent-Length: 2\r\n", "{}")},
      {"a bare carriage return", framed("X-A: b\rX-B: c\r\nContent-Length: 2\r\n", "{}")},
      {"a NUL in a header", framed(std::string("X-A: b\0c\r\nContent-Length: 2\r\n", 29), "{}")},
      {"a chunk of no size", framed(chunked, "zz\r\n{}\r\n0\r\n\r\n")},
      {"a chunk below nothing", framed(chunked, "-2\r\n{}\r\n0\r\n\r\n")},
      {"a chunk longer than it says", framed(chunked, "2\r\n{}{}{}{}\r\n0\r\n\r\n")},
      {"a chunk with bare line ends", framed(chunked, "2\n{}\n0\n\n")},
      {"a chunk beyond numbers", framed(chunked, "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n")},
      {"another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n"},
      {"TLS", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15)},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"an absolute target", fmt::format("GET http://127.0.0.1:{}/api/runs HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}\r\n",
                                         port_.number, port_.number, bearer(tokens_.admin))},
      {"a target that is none", fmt::format("OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", port_.number)},
      {"a way through", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"},
      {"a header too many", get("/healthz", repeat("X-A: b\r\n", 99)), 431},
      {"100,000 headers", get("/healthz", repeat("X-A: b\r\n", 100'000)), 431},
      {"a header of 1 MiB", get("/healthz", "X-A: " + std::string(1'048'576, 'b') + "\r\n"), 431},
      {"a target of 1 MiB", get("/healthz?" + std::string(1'048'576, 'b')), 431},
  });
}

TEST_F(HttpHostile, unknown_paths_methods_and_media_types_are_refused) {
  const auto post = [&](const std::string& target, const std::string& body = "{}") {
    return compose(port_, "POST", target, bearer(tokens_.admin), body);
  };
  const auto typed = [&](const std::string& type) {
    return fmt::format(
        "POST /api/approvals/AP-1/approve HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}{}Content-Length: 2\r\n\r\n{{}}",
        port_.number, bearer(tokens_.admin), type);
  };
  expect_refused({
      {"a form", typed("Content-Type: application/x-www-form-urlencoded\r\n"), 415},
      {"a form with files", typed("Content-Type: multipart/form-data; boundary=x\r\n"), 415},
      {"JSON as text", typed("Content-Type: text/plain\r\n"), 415},
      {"JSON that is nearly named so", typed("Content-Type: application/jsonp\r\n"), 415},
      {"no type", typed(""), 415},
      {"deleting without a type",
       fmt::format("DELETE /api/tokens/reader HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}\r\n", port_.number,
                   bearer(tokens_.admin)),
       415},
      {"a change by GET", get("/api/approvals/AP-1/approve"), 405},
      {"a change by GET that says otherwise", get("/api/approvals/AP-1/approve", "X-HTTP-Method-Override: POST\r\n"),
       405},
      {"TRACE", compose(port_, "TRACE", "/api/runs", bearer(tokens_.admin)), 405},
      {"a method that is none", compose(port_, "BREW", "/api/runs", bearer(tokens_.admin)), 405},
      {"a folder up", get("/api/../api/runs"), 404},
      {"a folder up to a file", get("/api/../../../../etc/passwd"), 404},
      {"a folder up, escaped", post("/api/%2e%2e/api/approvals/AP-1/approve"), 404},
      {"a folder up, escaped twice", post("/api/%252e%252e/api/approvals/AP-1/approve"), 404},
      {"an escaped slash", post("/api/approvals%2FAP-1%2fapprove"), 400},
      {"slashes in a row", post("//api/approvals/AP-1/approve"), 404},
      {"a slash at the end", post("/api/approvals/AP-1/approve/"), 404},
      {"an id with SQL", post("/api/approvals/AP-1'%20OR%20'1'='1/approve"), 404},
      {"an id with a statement", post("/api/approvals/AP-1;DROP%20TABLE%20approvals/approve"), 404},
      {"an id with a line end", post("/api/approvals/AP-1%0d%0aX:%20y/approve"), 400},
      {"an id with an escape", get("/api/runs/TR-1%1b%5b2J"), 400},
      {"an id with a NUL", post("/api/approvals/AP-1%00/approve"), 400},
      {"an id that is no UTF-8", post("/api/approvals/AP-1%ff/approve"), 400},
      {"half an escape", post("/api/approvals/AP-1%4/approve"), 400},
      {"an id without end", get("/api/runs/TR-" + std::string(2'000, '9')), 404},
      {"a cursor with SQL", get("/api/runs?cursor=TR-1'%20OR%201=1"), 400},
      {"a token's name with SQL", post("/api/tokens/x'%20OR%20'1'='1/revoke"), 404},
      {"a token named like a run", post("/api/tokens", R"({"name":"TR-1"})"), 400},
      {"a token's name with a line end", post("/api/tokens", R"({"name":"a\nb"})"), 400},
      {"a scope that is none", post("/api/tokens", R"({"name":"more","scopes":["all"]})"), 400},
      {"no JSON", post("/api/approvals/AP-1/approve", "comment=yes"), 400},
      {"JSON twice", post("/api/approvals/AP-1/approve", "{}{}"), 400},
      {"JSON with a key twice", post("/api/approvals/AP-1/approve", R"({"comment":"a","comment":"b"})"), 400},
      {"JSON 100,000 deep", post("/api/approvals/AP-1/approve", std::string(100'000, '[')), 400},
      {"JSON of another kind", post("/api/approvals/AP-1/approve", "[]"), 400},
  });
}

// A second request inside what looks like the body of the first: one response, then the connection closes.
TEST_F(HttpHostile, smuggled_request_is_not_processed) {
  for (const std::string& bytes :
       {framed("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner()),
        framed("Content-Length: 0\r\nContent-Length: 2\r\n", inner()), compose(port_, "GET", "/api/runs") + inner()}) {
    RawSocket peer(port_);
    peer.send(bytes);
    peer.finish_sending();
    const std::string answers = peer.read_to_end();
    EXPECT_EQ(testing::count_of(answers, "X-Content-Type-Options: "), 1) << answers;
    EXPECT_EQ(fingerprint(), before_);
  }
}

// Pipelined requests are answered in order, each with its own credential.
TEST_F(HttpHostile, pipelined_requests_are_authorised_separately) {
  RawSocket peer(port_);
  ASSERT_TRUE(peer.send(get("/api/runs") + get("/healthz") + approve("")));
  EXPECT_EQ(status_of(peer.read_answer()), 200);
  EXPECT_EQ(status_of(peer.read_answer()), 200);
  EXPECT_EQ(status_of(peer.read_answer()), 401);
  EXPECT_EQ(peer.read_to_end(), "");
  EXPECT_EQ(fingerprint(), before_);
}

TEST_F(HttpHostile, announced_body_of_1_gib_gets_413) {
  const std::string announced = "Content-Length: 1073741824\r\n";
  RawSocket known(port_);
  ASSERT_TRUE(known.send(framed(announced, "")));
  EXPECT_EQ(status_of(known.read_answer()), 413);
  // Also without a token, before 100 Continue; and a smaller body is not read without a credential.
  RawSocket stranger(port_);
  ASSERT_TRUE(
      stranger.send(fmt::format("POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: "
                                "application/json\r\nExpect: 100-continue\r\n{}\r\n",
                                port_.number, announced)));
  EXPECT_EQ(status_of(stranger.read_answer()), 413);
  RawSocket modest(port_);
  ASSERT_TRUE(
      modest.send(fmt::format("POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: "
                              "application/json\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
                              port_.number)));
  EXPECT_EQ(status_of(modest.read_answer()), 401);
  EXPECT_EQ(fingerprint(), before_);
}

TEST_F(HttpHostile, chunked_body_of_1_gib_is_cut) {
  const std::string piece = fmt::format("10000\r\n{}\r\n", std::string(65'536, ' '));
  for (const bool is_known : {true, false}) {
    RawSocket peer(port_);
    ASSERT_TRUE(peer.send(is_known ? framed("Transfer-Encoding: chunked\r\n", "")
                                   : compose(port_, "GET", "/api/runs", "Transfer-Encoding: chunked\r\n")));
    for (int i = 0; i < 16'384 && !peer.is_readable(0); ++i) {
      if (!peer.send(piece)) break;
    }
    EXPECT_EQ(status_of(peer.read_answer()), is_known ? 413 : 401);
  }
  EXPECT_EQ(fingerprint(), before_);
  EXPECT_EQ(status_of(ask(port_, get("/healthz"))), 200);
}

// Sending one byte now and then holds a connection only for a limited time.
TEST_F(HttpHostile, slow_request_gets_408) {
  RawSocket slow(port_);
  RawSocket silent(port_);
  ASSERT_TRUE(slow.send("GET /api/runs HTTP/1.1\r\nX-A: "));
  int sent = 0;
  // Limits the test, not the daemon.
  while (sent < 300 && !slow.is_readable(100) && slow.send("a")) ++sent;
  EXPECT_LT(sent, 300);
  EXPECT_THAT(slow.read_to_end(), HasSubstr(" 408 "));
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_EQ(fingerprint(), before_);
}

// Idle connections make way for active clients, the oldest first.
TEST_F(HttpHostile, idle_connections_do_not_lock_out_clients) {
  std::vector<std::unique_ptr<RawSocket>> crowd;
  for (int i = 0; i < 200; ++i) crowd.push_back(std::make_unique<RawSocket>(port_));
  EXPECT_EQ(status_of(ask(port_, get("/api/runs"))), 200);
  EXPECT_EQ(crowd.front()->read_to_end(), "");
  EXPECT_EQ(fingerprint(), before_);
}

}  // namespace
}  // namespace reeve
