#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approvals.h"
#include "tests/support/websocket_client.h"

// /api/runs/ID/terminal: a run's raw output and its input over a WebSocket (SPEC §7).
namespace reeve {
namespace {

using Client = testing::WebSocketClient;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::StartsWith;

class TerminalSocket : public testing::ApprovalsTest {
 protected:
  struct Heard {
    // All output, and the position to resume at.
    std::string output;
    std::string next;
    // The other messages.
    std::vector<Members> said;
  };

  Client attach(const std::string& run, const std::string& query = {}) const {
    return Client(socket(), fmt::format("/api/runs/{}/terminal{}", run, query));
  }
  // Reads one message; false at the end.
  static bool hear(Client& client, Heard& heard) {
    const auto message = client.read_message();
    if (!message) return false;
    if (message->opcode == Client::binary) {
      heard.output += message->payload;
      return true;
    }
    Members said = testing::parse_object(message->payload).value_or(Members());
    if (said["type"] == "position") {
      heard.next = said["next"];
    } else {
      heard.said.push_back(std::move(said));
    }
    return true;
  }
  static Heard hear_all(Client& client) {
    Heard heard;
    while (hear(client, heard)) {
    }
    return heard;
  }
  static void hear_until(Client& client, Heard& heard, const std::string& text) {
    while (!heard.output.contains(text)) ASSERT_TRUE(hear(client, heard)) << heard.output;
  }
};

TEST_F(TerminalSocket, delivers_output_and_exit_status) {
  EXPECT_EQ(reeve({"run", "--", "sh", "-c", "printf 'a\\001b\\377c\\n'; exit 3"}).code, 3);
  Client client = attach("TR-1");
  ASSERT_TRUE(client.is_open()) << client.head();
  Heard heard = hear_all(client);
  EXPECT_EQ(heard.output,
            "a\x01"
            "b\xff"
            "c\n");
  ASSERT_EQ(heard.said.size(), 2U);
  EXPECT_EQ(heard.said[0]["type"], "attached");
  EXPECT_EQ(heard.said[0]["position"], "0");
  EXPECT_EQ(heard.said[1]["type"], "end");
  EXPECT_EQ(heard.said[1]["status"], "failed");
  EXPECT_EQ(heard.said[1]["exit_code"], "3");
  EXPECT_EQ(client.close_code(), 1000);
  // Resuming at the end yields only the end message again.
  Client again = attach("TR-1", "?from=" + heard.next);
  Heard rest = hear_all(again);
  EXPECT_EQ(rest.output, "");
  EXPECT_EQ(rest.said.back()["type"], "end");
}

TEST_F(TerminalSocket, typed_input_reaches_a_live_terminal) {
  const std::string id = detach({"--pty"}, {"echo-tty"});
  Client client = attach(id);
  ASSERT_TRUE(client.is_open()) << client.head();
  client.send({Client::binary, "hel"});
  client.send({Client::binary, "lo\r"});
  Heard heard;
  hear_until(client, heard, "echo: hello\r\n");
  // An invalid message gets an error, and the connection stays open.
  client.send_text(R"({"type":"resize","rows":0,"columns":77})");
  client.send_text("nonsense");
  client.send({Client::binary, "quit\r"});
  while (hear(client, heard)) {
  }
  EXPECT_EQ(client.close_code(), 1000);
  ASSERT_EQ(heard.said.size(), 4U);
  EXPECT_EQ(heard.said[0]["may_type"], "true");
  EXPECT_EQ(heard.said[1]["code"], "api.bad_request");
  EXPECT_EQ(heard.said[2]["code"], "api.bad_request");
  EXPECT_EQ(heard.said[3]["type"], "end");
  EXPECT_EQ(heard.said[3]["status"], "completed");
  EXPECT_EQ(heard.said[3]["exit_code"], "0");
}

TEST_F(TerminalSocket, size_follows_the_attached_client) {
  const std::string id = detach({"--pty"}, {"size"});
  Client client = attach(id);
  Heard heard;
  hear_until(client, heard, "24x80");
  client.send_text(R"({"type":"resize","rows":33,"columns":66})");
  hear_until(client, heard, "33x66");
  client.send({Client::binary, "\x04"});
  while (hear(client, heard)) {
  }
  EXPECT_EQ(heard.said.back()["status"], "completed");
}

// RUN-9: a run without a terminal refuses input with an error, and is not affected.
TEST_F(TerminalSocket, run_without_a_terminal_refuses_input) {
  const std::string id = detach({}, {"wait-file", (project() / "go").string()});
  Client client = attach(id);
  Heard heard;
  hear_until(client, heard, "waiting");
  client.send({Client::binary, "x"});
  while (heard.said.size() < 2) ASSERT_TRUE(hear(client, heard));
  EXPECT_EQ(heard.said[1]["code"], "run.no_input");
  scratch().write("project/go", "");
  while (hear(client, heard)) {
  }
  EXPECT_EQ(heard.said.back()["type"], "end");
}

// Back-pressure: unread output stays in the files, and is delivered completely.
TEST_F(TerminalSocket, slow_reader_gets_everything) {
  constexpr std::size_t bytes = 8UZ * 1024 * 1024;
  const std::string id = detach({}, {"binary", std::to_string(bytes)});
  Client client = attach(id);
  finish(id);
  const Heard heard = hear_all(client);
  EXPECT_EQ(heard.output.size(), bytes);
  EXPECT_EQ(client.close_code(), 1000);
}

// Resuming at a reported position neither repeats nor loses output.
TEST_F(TerminalSocket, resumes_from_a_position) {
  EXPECT_EQ(reeve({"run", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done"}).code, 0);
  Client first = attach("TR-1");
  Heard all;
  while (all.next.empty()) ASSERT_TRUE(hear(first, all));
  const std::size_t so_far = all.output.size();
  while (hear(first, all)) {
  }
  EXPECT_THAT(all.output, EndsWith("line 9\n"));
  Client second = attach("TR-1", "?from=" + all.next);
  Heard rest = hear_all(second);
  EXPECT_EQ(rest.output, "");
  Client back = attach("TR-1", "?from=-1");
  EXPECT_THAT(hear_all(back).output, EndsWith("line 9\n"));
  EXPECT_LE(so_far, all.output.size());
}

TEST_F(TerminalSocket, invalid_attach_requests_are_refused) {
  EXPECT_EQ(reeve({"run", "--", "true"}).code, 0);
  EXPECT_THAT(attach("TR-99").head(), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(attach("nonsense").head(), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(attach("TR-1", "?attempt=9").head(), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(attach("TR-1", "?from=x").head(), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(request("GET", "/api/runs/TR-1/terminal"), StartsWith("HTTP/1.1 426 "));
  Client over = attach("TR-1");
  over.send({Client::binary, "typed too late"});
  const Heard heard = hear_all(over);
  EXPECT_EQ(over.close_code(), 1000);
}

// APR-11: a process inside a run cannot attach to a terminal, not even its own.
TEST_F(TerminalSocket, a_process_inside_a_run_is_refused) {
  scratch().write(
      "project/attach.py",
      "import os, socket\n"
      "s = socket.socket(socket.AF_UNIX)\n"
      "s.connect(os.environ['DAEMON'])\n"
      "s.sendall(b'GET /api/runs/TR-1/terminal HTTP/1.1\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n"
      "Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n')\n"
      "print(s.recv(4096).decode())\n");
  const auto outcome = reeve({"run", "--env", "DAEMON=" + socket().string(), "--", "python3", "attach.py"});
  EXPECT_THAT(outcome.out, HasSubstr("HTTP/1.1 403 "));
  EXPECT_THAT(outcome.out, HasSubstr("approval.inside_run"));
}

}  // namespace
}  // namespace reeve
