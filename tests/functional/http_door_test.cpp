#include <csignal>
#include <filesystem>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/port.h"

// The daemon's port: authentication, identity and scopes (API, SPEC §7).
namespace reeve {
namespace {

using ::testing::AllOf;
using testing::body_of;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::header_of;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Port;
using testing::RawSocket;
using ::testing::StartsWith;
using testing::status_of;

class HttpPort : public testing::PortTest {
 protected:
  static std::string question_of(const std::string& url) { return url.substr(url.find("/sign-in")); }
  // The link as printed, without line ends.
  std::string sign_in_link() const {
    const Outcome outcome = reeve({"web"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out.substr(0, outcome.out.find('\n'));
  }
};

TEST_F(HttpPort, port_is_closed_until_requested) {
  EXPECT_EQ(reeve({"runs"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(state() / "http.token"));
  const Port port = open_port();
  struct stat file{};
  ASSERT_EQ(::stat((state() / "http.token").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600);
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs"))), 401);
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", bearer(own_token())))), 200);
  // The next daemon uses the same port.
  EXPECT_EQ(open_port().number, port.number);
}

TEST_F(HttpPort, only_health_needs_no_token) {
  const Port port = open_port();
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/healthz"))), 200);
  for (const char* target : {"/", "/api/runs", "/api/tokens", "/metrics", "/readyz", "/api/events", "/nothing"}) {
    const std::string answer = ask(port, compose(port, "GET", target));
    EXPECT_EQ(status_of(answer), 401) << target;
    EXPECT_THAT(header_of(answer, "WWW-Authenticate"), StartsWith("Bearer")) << target;
    EXPECT_EQ(body_of(answer)["code"], "api.unauthorized") << target;
  }
}

TEST_F(HttpPort, every_response_has_security_headers) {
  const Port port = open_port();
  for (const std::string& request :
       {compose(port, "GET", "/healthz"), compose(port, "GET", "/api/runs"),
        compose(port, "GET", "/api/nothing", bearer(own_token())), std::string("no request\r\n\r\n")}) {
    const std::string answer = ask(port, request);
    EXPECT_THAT(header_of(answer, "Content-Security-Policy"),
                AllOf(HasSubstr("default-src 'none'"), HasSubstr("frame-ancestors 'none'")))
        << answer;
    EXPECT_EQ(header_of(answer, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(header_of(answer, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(header_of(answer, "Cache-Control"), "no-store");
    EXPECT_EQ(header_of(answer, "Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_EQ(header_of(answer, "Access-Control-Allow-Origin"), "");
  }
}

TEST_F(HttpPort, tokens_are_made_listed_and_revoked) {
  const Outcome made = reeve({"token", "create", "ci", "--scope", "operate,approve", "--expires", "90d"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, ContainsRegex("^reeve_[0-9a-f]{64}\n$"));
  const std::string secret = made.out.substr(0, made.out.find('\n'));
  EXPECT_THAT(reeve({"token", "list"}).out, AllOf(HasSubstr("ci\tactive\toperate,approve\t"), Not(HasSubstr(secret))));
  EXPECT_THAT(reeve({"token", "list", "--json"}).out, AllOf(HasSubstr(R"("expires_at":"2)"), Not(HasSubstr(secret))));
  EXPECT_EQ(sql("SELECT count(*) FROM tokens WHERE hash LIKE '%" + secret.substr(6) + "%'"), "0");

  const Outcome again = reeve({"token", "create", "ci"});
  EXPECT_EQ(again.code, 4) << again.err;
  EXPECT_THAT(again.err, HasSubstr("token.already_exists"));
  EXPECT_EQ(reeve({"token", "create", "x y"}).code, 2);
  EXPECT_EQ(reeve({"token", "create", "more", "--scope", "all"}).code, 2);
  EXPECT_EQ(reeve({"token", "create", "more", "--expires", "soon"}).code, 2);

  const Port port = open_port();
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", bearer(secret)))), 200);
  EXPECT_THAT(reeve({"token", "list", "--json"}).out, HasSubstr(R"("last_used_at":"2)"));
  // An open connection is authenticated again for each request.
  RawSocket peer(port);
  ASSERT_TRUE(peer.send(compose(port, "GET", "/api/runs", bearer(secret))));
  EXPECT_EQ(status_of(peer.read_answer()), 200);
  EXPECT_EQ(reeve({"token", "revoke", "ci"}).out, "ci is revoked\n");
  ASSERT_TRUE(peer.send(compose(port, "GET", "/api/runs", bearer(secret))));
  EXPECT_EQ(status_of(peer.read_answer()), 401);
  EXPECT_EQ(reeve({"token", "revoke", "ci"}).code, 0);
  EXPECT_EQ(reeve({"token", "revoke", "nobody"}).code, 3);
  // A name is never reused.
  EXPECT_EQ(reeve({"token", "create", "ci"}).code, 4);
  const std::string trail = reeve({"audit", "list", "--json"}).out;
  EXPECT_EQ(testing::count_of(trail, "\"token_created\""), 1) << trail;
  EXPECT_EQ(testing::count_of(trail, "\"token_revoked\""), 1) << trail;
  EXPECT_THAT(trail, Not(HasSubstr(secret)));
  EXPECT_EQ(reeve({"audit", "verify"}).code, 0);
}

// APR-12: the name of the token, whatever the body says.
TEST_F(HttpPort, decision_is_recorded_under_the_token_name) {
  const std::string approval = ApprovalsTest::ask();
  const Port port = open_port();
  const std::string anna = make_token("anna", "approve");
  const std::string answer = PortTest::ask(port, compose(port, "POST", "/api/approvals/" + approval + "/approve",
                                                         bearer(anna), R"({"decided_by":"the pope"})"));
  EXPECT_EQ(status_of(answer), 200) << answer;
  EXPECT_EQ(body_of(answer)["decided_by"], "anna");
  EXPECT_EQ(sql("SELECT actor FROM audit_log WHERE kind = 'approval_granted'"), "anna");
  finish("TR-1");
}

TEST_F(HttpPort, sign_in_link_works_once) {
  const std::string link = sign_in_link();
  ASSERT_THAT(link, ContainsRegex("^http://127.0.0.1:[0-9]+/sign-in\\?code=[0-9a-f]{64}$"));
  const Port port = open_port();
  const std::string answer = ask(port, compose(port, "GET", question_of(link)));
  EXPECT_EQ(status_of(answer), 303) << answer;
  // The session key is in the fragment, which only the page can see.
  const std::string place = header_of(answer, "Location");
  EXPECT_THAT(place, ContainsRegex("^/#key=[0-9a-f]{64}$"));
  const std::string key = fmt::format("Reeve-Request: {}\r\n", place.substr(place.find('=') + 1));
  const std::string set = header_of(answer, "Set-Cookie");
  EXPECT_THAT(set, AllOf(HasSubstr("; HttpOnly"), HasSubstr("; SameSite=Strict"), HasSubstr("; Path=/"),
                         Not(HasSubstr("Secure"))));
  const std::string cookie = "Cookie: other=1; " + set.substr(0, set.find(';')) + "\r\n";
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", question_of(link)))), 403);
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", cookie + key))), 200);
  EXPECT_THAT(ask(port, compose(port, "GET", "/", cookie)), HasSubstr("Welcome"));
  EXPECT_THAT(reeve({"audit", "list", "--json"}).out, HasSubstr("\"sign_in\""));

  // Another site's page can make the browser send the cookie, but neither of these headers.
  const std::string origin = fmt::format("Origin: http://127.0.0.1:{}\r\n", port.number);
  const std::string body = R"({"argv":["true"],"cwd":"/tmp"})";
  const auto start = [&](const std::string& headers) {
    return ask(port, compose(port, "POST", "/api/runs", cookie + headers, body));
  };
  const std::string before = fingerprint();
  EXPECT_EQ(body_of(start(""))["code"], "api.forged");
  EXPECT_EQ(body_of(start(origin))["code"], "api.forged");
  EXPECT_EQ(body_of(start(key))["code"], "api.forged");
  EXPECT_EQ(body_of(start(origin + "Reeve-Request: 1\r\n"))["code"], "api.forged");
  EXPECT_EQ(status_of(start("Origin: http://evil.example\r\n" + key)), 403);
  EXPECT_EQ(fingerprint(), before);
  EXPECT_EQ(status_of(start(origin + key)), 201);
  finish("TR-1");

  EXPECT_EQ(status_of(ask(port, compose(port, "POST", "/api/sign-out", cookie + origin + key, "{}"))), 200);
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", cookie + key))), 401);
}

// Cookies are sent to every port of a host, so another local server may have it. With the cookie alone it can neither
// read nor change anything.
TEST_F(HttpPort, cookie_without_the_session_key_opens_only_the_page) {
  const std::string link = sign_in_link();
  const std::string other_link = sign_in_link();
  const Port port = open_port();
  const auto enter = [&](const std::string& one) {
    const std::string answer = ask(port, compose(port, "GET", question_of(one)));
    const std::string set = header_of(answer, "Set-Cookie");
    EXPECT_THAT(set, StartsWith(fmt::format("reeve_session_{}=", port.number)));
    const std::string place = header_of(answer, "Location");
    return std::pair("Cookie: " + set.substr(0, set.find(';')) + "\r\n",
                     "Reeve-Request: " + place.substr(place.find('=') + 1) + "\r\n");
  };
  const auto [cookie, key] = enter(link);
  const std::string other_key = enter(other_link).second;
  const std::string upgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
      fmt::format("Origin: http://127.0.0.1:{}\r\n", port.number);
  const std::string before = fingerprint();
  for (const char* target : {"/api/runs", "/api/approvals", "/metrics", "/readyz", "/api/openapi.json", "/nothing"}) {
    for (const std::string& said : {std::string(), std::string("Reeve-Request: 1\r\n"), other_key}) {
      const std::string answer = ask(port, compose(port, "GET", target, cookie + said));
      EXPECT_EQ(status_of(answer), 403) << target << said;
      EXPECT_EQ(body_of(answer)["code"], "api.forged") << target << said;
    }
  }
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/events", cookie + upgrade))), 403);
  // A page sends the key where browsers allow it, not in this header.
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/events", cookie + key + upgrade))), 403);
  EXPECT_EQ(fingerprint(), before);
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", cookie + key))), 200);
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/", cookie))), 200);
}

TEST_F(HttpPort, wrong_tokens_are_rate_limited) {
  const Port port = open_port();
  const std::string good = make_token("good", "read");
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", bearer(good)))), 200);
  const std::string wrong = "reeve_" + std::string(64, '0');
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", bearer(wrong)))), 401) << i;
  }
  const std::string refused = ask(port, compose(port, "GET", "/api/runs", bearer(wrong)));
  EXPECT_EQ(status_of(refused), 429);
  EXPECT_GT(std::stoi("0" + header_of(refused, "Retry-After")), 0);
  // A client that was authenticated before is not locked out by a neighbour.
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", bearer(good)))), 200);
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", bearer(own_token())))), 200);
}

TEST_F(HttpPort, only_loopback_addresses_are_accepted) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:7433"}) {
    const Outcome outcome = reeve({"serve", "--http", address});
    EXPECT_EQ(outcome.code, 1) << address;
    EXPECT_THAT(outcome.err, HasSubstr("daemon.not_loopback")) << address;
  }
  for (const char* address : {"7433", "localhost", "example.org:80", "127.0.0.1:99999", "127.0.0.1:", "::1:80"}) {
    const Outcome outcome = reeve({"serve", "--http", address});
    EXPECT_EQ(outcome.code, 1) << address;
    EXPECT_THAT(outcome.err, HasSubstr("daemon.bad_address")) << address;
  }
}

// The printed address is the one that clients can connect to.
TEST_F(HttpPort, prints_the_address_it_listens_at) {
  for (const auto& [address, said] :
       {std::pair{"0.0.0.0:0", "listening at http://0.0.0.0:"}, std::pair{"[::]:0", "listening at http://[::]:"}}) {
    const auto daemon = start({"serve", "--http", address, "--behind-proxy"});
    ASSERT_TRUE(daemon->wait_for_error(said)) << address;
    EXPECT_TRUE(daemon->wait_for_error("addresses of this machine)")) << address;
    daemon->signal(SIGTERM);
    EXPECT_EQ(daemon->wait(), 0);
  }
}

// An encoded body is not parsed as if it were plain.
TEST_F(HttpPort, encoded_body_is_refused) {
  const Port port = open_port();
  const std::string body = R"({"argv":["true"],"cwd":"/"})";
  const auto send = [&](const std::string& coding) {
    return ask(port, compose(port, "POST", "/api/runs", bearer(own_token()) + coding, body));
  };
  const std::string refused = send("Content-Encoding: gzip\r\n");
  EXPECT_EQ(status_of(refused), 415);
  EXPECT_THAT(refused, HasSubstr("api.unsupported_media_type"));
  EXPECT_EQ(reeve({"runs"}).out, "");
  EXPECT_LT(status_of(send("Content-Encoding: identity\r\n")), 300);
}

TEST_F(HttpPort, port_in_use_is_reported) {
  const Port port = open_port();
  const std::string other = (scratch().path() / "other").string();
  const Outcome outcome = reeve({"serve", "--state", other, "--http", fmt::format("127.0.0.1:{}", port.number)});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("daemon.port_in_use"));
}

// Two state folders with one user config: the second daemon starts without the port.
TEST_F(HttpPort, background_daemon_starts_without_a_busy_port) {
  const Port port = open_port();
  const std::string other = (scratch().path() / "other").string();
  const testing::Variables wanted = {{"REEVE_SERVER_HTTP", fmt::format("127.0.0.1:{}", port.number)}};
  const Outcome outcome = reeve({"runs", "--state", other}, wanted);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(testing::read_text(other + "/logs/daemon.log"), HasSubstr("daemon.port_in_use"));
  EXPECT_EQ(reeve({"stop", "--state", other}).code, 0);
}

TEST_F(HttpPort, listens_at_the_given_address_and_checks_host_names) {
  configure("server: {allowed_hosts: [reeve.example, \"other.example:8443\"], behind_proxy: true}\n");
  const auto daemon = start({"serve", "--http", "[::1]:0"});
  ASSERT_TRUE(daemon->wait_for_error("listening at http://[::1]:"));
  daemon->signal(SIGTERM);
  EXPECT_EQ(daemon->wait(), 0);
  const Port port = open_port();
  const auto status = [&](const std::string& host, const std::string& more = {}) {
    return status_of(
        ask(port, fmt::format("GET /api/runs HTTP/1.1\r\nHost: {}\r\n{}{}\r\n", host, bearer(own_token()), more)));
  };
  EXPECT_EQ(status("reeve.example"), 200);
  EXPECT_EQ(status("REEVE.example:443"), 200);
  EXPECT_EQ(status("other.example:8443"), 200);
  EXPECT_EQ(status("other.example"), 421);
  EXPECT_EQ(status("evil.example"), 421);
  EXPECT_EQ(status(fmt::format("localhost:{}", port.number)), 200);
  EXPECT_EQ(status("reeve.example", "Origin: https://reeve.example\r\n"), 200);
  EXPECT_EQ(status("reeve.example", "Origin: https://evil.example\r\n"), 403);
}

// Tokens survive daemon restarts.
TEST_F(HttpPort, tokens_survive_a_daemon_restart) {
  open_port();
  const std::string own = own_token();
  const std::string reader = make_token("reader", "read");
  EXPECT_EQ(reeve({"stop"}).code, 0);
  const Port port = open_port();
  EXPECT_EQ(own_token(), own);
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", bearer(own)))), 200);
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", bearer(reader)))), 200);
  // A token file that others could read is replaced.
  EXPECT_EQ(reeve({"stop"}).code, 0);
  ASSERT_EQ(::chmod((state() / "http.token").c_str(), 0644), 0);
  open_port();
  EXPECT_NE(own_token(), own);
}

// APR-11 at the port: a tool can read the file, and is still recognised by its descent.
TEST_F(HttpPort, a_tool_cannot_decide_with_the_daemons_token) {
  const std::string approval = ApprovalsTest::ask();
  const Port port = open_port();
  const auto curl = [&](const std::string& target) {
    return fmt::format(
        "curl -s -H \"Authorization: Bearer $(cat '{}')\" -H 'Content-Type: application/json' -d '{{}}' "
        "http://127.0.0.1:{}{}",
        (state() / "http.token").string(), port.number, target);
  };
  const auto inside = [&](const std::string& script) { return reeve({"run", "--", "/bin/sh", "-c", script}).out; };
  const std::string approve = curl("/api/approvals/" + approval + "/approve");
  EXPECT_THAT(inside(approve), HasSubstr("approval.inside_run"));
  EXPECT_THAT(inside("env -i PATH=/usr/bin:/bin " + approve), HasSubstr("approval.inside_run"));
  EXPECT_THAT(inside(curl("/api/runs/TR-1/cancel")), HasSubstr("run.inside_run"));
  EXPECT_THAT(inside(curl("/api/tokens")), HasSubstr("approval.inside_run"));
  EXPECT_EQ(sql("SELECT status FROM approvals"), "pending");
  EXPECT_EQ(reeve({"reject", approval}).code, 0);
}

// APR-11: the client has disconnected, so its process can no longer be identified.
TEST_F(HttpPort, disconnected_client_cannot_decide) {
  const std::string approval = ApprovalsTest::ask();
  const Port port = open_port();
  // Stopped, so that the request is processed only after its sender is gone.
  pid_t daemon = 0;
  for (const testing::FoundProcess& process : processes()) {
    const bool is_daemon = process.command.contains(" serve ") && !process.command.contains(" guard ");
    if (is_daemon) daemon = process.pid;
  }
  ASSERT_GT(daemon, 0);
  ASSERT_EQ(::kill(daemon, SIGSTOP), 0);
  {
    RawSocket peer(port);
    EXPECT_TRUE(peer.send(compose(port, "POST", "/api/approvals/" + approval + "/approve", bearer(own_token()), "{}")));
  }
  ASSERT_EQ(::kill(daemon, SIGCONT), 0);
  // This request is processed after it.
  EXPECT_EQ(status_of(PortTest::ask(port, compose(port, "GET", "/api/runs", bearer(own_token())))), 200);
  EXPECT_EQ(sql("SELECT status FROM approvals"), "pending");
  EXPECT_EQ(reeve({"reject", approval}).code, 0);
}

// RUN-8: a tool can act only on its own run.
TEST_F(HttpPort, tool_can_cancel_only_its_own_run) {
  ASSERT_EQ(reeve({"run", "--detach", "--", "sleep", "1000"}).code, 0);
  const Outcome refused = reeve({"run", "--", testing::reeve_binary(), "cancel", "TR-1"});
  EXPECT_EQ(refused.code, 5) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("run.inside_run"));
  EXPECT_EQ(show("TR-1")["status"], "running");
  const Outcome own =
      reeve({"run", "--", "/bin/sh", "-c", testing::reeve_binary() + " cancel $REEVE_RUN_ID; sleep 1000"});
  EXPECT_EQ(own.code, 130) << own.err;
  EXPECT_EQ(reeve({"cancel", "TR-1", "--kill"}).code, 0);
  finish("TR-1");
}

}  // namespace
}  // namespace reeve
