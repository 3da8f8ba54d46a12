#include <csignal>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/port.h"

// Restrictions on authenticated clients of the port (API, SPEC §7).
namespace reeve {
namespace {

using testing::body_of;
using ::testing::HasSubstr;
using testing::header_of;
using ::testing::Not;
using testing::Outcome;
using testing::Port;
using testing::RawSocket;
using ::testing::StartsWith;
using testing::status_of;

// Sanitizers delay the release of freed memory.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr long max_mib = 320;
#else
constexpr long max_mib = 128;
#endif

class PortMisuse : public testing::PortTest {};

// A client with the read scope learns nothing about the machine's folders: existing and missing paths get the same
// response.
TEST_F(PortMisuse, reader_cannot_probe_paths) {
  const Port port = open_port();
  const std::string reader = make_token("reader", "read");
  const std::string approver = make_token("approver", "approve");
  // Next to the file: a workflow that the other one refers to.
  scratch().write("there/inner.yaml", chain("inner", {{"a", "true"}}));
  scratch().write("there/.reeve/workflows/inner.yaml", chain("inner", {{"a", "true"}}));
  const std::string there = (scratch().path() / "there").string();
  const std::string missing = (scratch().path() / "nowhere").string();
  const auto plain = [](std::string answer, const std::string& path) {
    answer = answer.substr(answer.find("\r\n\r\n"));
    for (std::size_t at = 0; (at = answer.find(path)) != std::string::npos;) answer.replace(at, path.size(), "PATH");
    return answer;
  };
  const std::string outer =
      "id: outer\\nname: Outer\\nentry_point: s\\nnodes:\\n  - {id: s, type: subgraph, subgraph_config: "
      "{workflow_name: "
      "inner}}\\n";
  struct Case {
    const char* name;
    const char* method;
    std::string target;
    std::string body;
  };
  // PATH is replaced by an existing path, then by a missing one.
  const std::vector<Case> cases = {
      {"workflows", "GET", "/api/workflows?project=PATH", ""},
      {"one workflow", "GET", "/api/workflows/inner?project=PATH", ""},
      {"a drawing", "GET", "/api/workflows/inner/graph?project=PATH", ""},
      {"a file beside others", "POST", "/api/workflows/validate",
       R"({"source":")" + outer + R"(","file":"PATH/outer.yaml"})"},
      {"a run", "POST", "/api/runs", R"({"argv":["true"],"cwd":"PATH"})"},
      {"an execution", "POST", "/api/executions", R"({"workflow":"inner","project":"PATH"})"},
      {"a pipeline", "POST", "/api/pipelines", R"({"pipeline":"p","prompt":"x","project":"PATH"})"},
      {"a database", "POST", "/api/import", R"({"path":"PATH/inner.yaml"})"},
  };
  const auto with = [](std::string text, const std::string& path) {
    const std::size_t at = text.find("PATH");
    return at == std::string::npos ? text : text.replace(at, 4, path);
  };
  for (const Case& one : cases) {
    for (const std::string& token : {reader, approver}) {
      const auto answer = [&](const std::string& path) {
        return plain(ask(port, compose(port, one.method, with(one.target, path), bearer(token), with(one.body, path))),
                     path);
      };
      EXPECT_EQ(answer(there), answer(missing)) << one.name;
    }
  }
  // Databases are imported only through the unix socket, whatever the token.
  const std::string import = compose(port, "POST", "/api/import", bearer(own_token()), R"({"path":"/etc/passwd"})");
  EXPECT_EQ(body_of(ask(port, import))["code"], "import.not_here");
  // A client that may start commands anywhere may also read there.
  const std::string target = "/api/workflows/inner?project=" + there;
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", target, bearer(make_token("operator", "operate"))))), 200);
  EXPECT_THAT(request("GET", target), StartsWith("HTTP/1.1 200 "));
  // The daemon's own project is not a secret.
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/workflows?project=" + project().string(), bearer(reader)))),
            200);
}

// Two clients that choose the same key do not share a response.
TEST_F(PortMisuse, idempotency_key_belongs_to_its_token) {
  const Port port = open_port();
  const std::string anna = make_token("anna", "operate");
  const std::string ben = make_token("ben", "operate");
  const auto start = [&](const std::string& token) {
    const std::string headers = bearer(token) + "Idempotency-Key: the-first\r\n";
    return ask(port, compose(port, "POST", "/api/runs", headers, R"({"argv":["true"],"cwd":"/"})"));
  };
  const std::string first = start(anna);
  const std::string second = start(ben);
  EXPECT_EQ(status_of(first), 201) << first;
  EXPECT_EQ(status_of(second), 201) << second;
  EXPECT_NE(body_of(first)["tool_run_id"], body_of(second)["tool_run_id"]);
  const std::string again = start(anna);
  EXPECT_EQ(body_of(again)["tool_run_id"], body_of(first)["tool_run_id"]);
  EXPECT_EQ(header_of(again, "Idempotency-Replayed"), "true");
  EXPECT_EQ(header_of(second, "Idempotency-Replayed"), "");
  for (const char* run : {"TR-1", "TR-2"}) finish(run);
}

// HEAD of a stream is answered at once, and the connection stays open.
TEST_F(PortMisuse, head_of_a_stream_has_no_body) {
  const Port port = open_port();
  RawSocket peer(port);
  for (const char* accepted : {"text/event-stream", "application/x-ndjson"}) {
    for (const char* target : {"/api/events", "/api/events?follow=1", "/api/log?follow=1", "/api/log"}) {
      // Without a body: no length is announced.
      ASSERT_TRUE(peer.send(fmt::format("HEAD {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}Accept: {}\r\n\r\n", target,
                                        port.number, bearer(own_token()), accepted)));
      EXPECT_THAT(peer.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 ")) << target << accepted;
    }
  }
  ASSERT_TRUE(peer.send(compose(port, "GET", "/healthz")));
  EXPECT_EQ(status_of(peer.read_answer()), 200);
}

// APR-12: a name in the audit log is either a person's or a token's.
TEST_F(PortMisuse, token_cannot_have_the_name_of_a_user) {
  const Outcome refused = reeve({"token", "create", "root"});
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("user on this machine"));
  EXPECT_EQ(sql("SELECT count(*) FROM tokens"), "0");
}

// A log that a client does not read costs one chunk of memory, however often it is requested.
TEST_F(PortMisuse, unread_log_uses_little_memory) {
  const Port port = open_port();
  {
    std::ofstream log(state() / "logs/combined.log", std::ios::app);
    const std::string line =
        R"({"event":"filler","timestamp":"2026-01-01T00:00:00.000Z","text":")" + std::string(1'000, 'x') + "\"}\n";
    for (int i = 0; i < 16'000; ++i) log << line;
  }
  pid_t daemon = 0;
  for (const testing::FoundProcess& process : processes()) {
    const bool is_daemon = process.command.contains(" serve ") && !process.command.contains(" guard ");
    if (is_daemon) daemon = process.pid;
  }
  ASSERT_GT(daemon, 0);
  const auto resident_mib = [daemon] {
    const std::string status = testing::read_text(fmt::format("/proc/{}/status", daemon));
    const std::size_t at = status.find("VmRSS:");
    return std::stol(status.substr(at + 6)) / 1024;
  };
  const auto before = resident_mib();
  std::vector<std::unique_ptr<RawSocket>> deaf;
  for (int i = 0; i < 24; ++i) {
    deaf.push_back(std::make_unique<RawSocket>(port));
    ASSERT_TRUE(deaf.back()->send(compose(port, "GET", "/api/log", bearer(own_token()))));
    EXPECT_THAT(deaf.back()->read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_EQ(status_of(ask(port, compose(port, "GET", "/api/runs", bearer(own_token())))), 200);
  // Buffering the whole log would take 16 MiB for each.
  EXPECT_LT(resident_mib() - before, max_mib);
}

}  // namespace
}  // namespace reeve
