#include "client/daemon.h"

#include <cstdlib>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/frames.h"
#include "client/refusal.h"
#include "client/runs.h"
#include "tests/support/files.h"
#include "tests/support/socket.h"

namespace reeve::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string answer(int status, std::string_view body) {
  return fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status, body.size(), body);
}

std::string frame(std::string_view bytes) {
  std::string text(FrameDecoder::header_bytes, '\0');
  text[0] = static_cast<char>(bytes.size());
  return text.append(bytes);
}

// Thinks about it for longer than a timeout of 100 ms, and then is gone.
constexpr std::string_view late_and_lost = "late and lost";

class DaemonTest : public ::testing::Test {
 protected:
  DaemonPlace place() const {
    return {.folder = scratch_.path(), .socket = scratch_.path() / "reeve.sock", .no_start = "none may be started"};
  }

  // Answers one question a connection, each with the next of these, and then is gone for good.
  void play(std::vector<std::string> answers) {
    os::Fd listener(testing::listen_at(place().socket));
    questions_ = std::async(std::launch::async, [answers = std::move(answers), listener = std::move(listener)] {
      std::vector<std::string> all;
      for (const std::string& text : answers) {
        testing::RawSocket socket(listener.get());
        all.push_back(socket.read_until("\r\n\r\n"));
        if (text == late_and_lost) {
          static_cast<void>(socket.is_readable(150));
        } else {
          socket.send(text);
        }
      }
      return all;
    });
  }

  // A keeper that is this shell script.
  DaemonPlace place_with_keeper(const std::string& script) const {
    const auto keeper = scratch_.write("bin/reeve-keeper", "#!/bin/sh\n" + script);
    std::filesystem::permissions(keeper, std::filesystem::perms::owner_all);
    const auto folder = scratch_.path() / "deep" / "state";
    return {.folder = folder,
            .socket = folder / "reeve.sock",
            .programs = {.reeve = "/opt/reeve", .keeper = keeper},
            .prepare = [folder] { std::filesystem::create_directories(folder); },
            .timeout = std::chrono::seconds(2)};
  }

  testing::ScratchFolder scratch_;
  std::future<std::vector<std::string>> questions_;
};

TEST_F(DaemonTest, retries_after_a_lost_connection) {
  play({"", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"a\"", answer(200, R"({"a":1})")});
  Daemon daemon(place());
  EXPECT_EQ(*daemon.get("/healthz").find("a")->as_integer(), 1);
  EXPECT_THAT(questions_.get(),
              ElementsAre(StartsWith("GET /healthz "), StartsWith("GET /healthz "), StartsWith("GET /healthz ")));
}

// Whether the first was acted on is not known: the key tells the daemon that the second is the same.
TEST_F(DaemonTest, change_is_retried_with_the_same_idempotency_key) {
  play({"", answer(201, "{}"), answer(201, "{}")});
  Daemon daemon(place());
  daemon.post("/api/runs", base::Value::object());
  daemon.post("/api/runs", base::Value::object());
  const std::vector<std::string> questions = questions_.get();
  const auto key = [&](std::size_t i) {
    const std::size_t at = questions[i].find("Idempotency-Key: ");
    return questions[i].substr(at, questions[i].find("\r\n", at) - at);
  };
  EXPECT_THAT(key(0), ::testing::ContainsRegex("^Idempotency-Key: [0-9a-f]{8}-[0-9a-f]{4}-"));
  EXPECT_EQ(key(0), key(1));
  EXPECT_NE(key(1), key(2));
}

TEST_F(DaemonTest, retry_timeout_starts_when_the_connection_is_lost) {
  play({std::string(late_and_lost), answer(200, "{}")});
  DaemonPlace wanted = place();
  wanted.timeout = std::chrono::milliseconds(100);
  EXPECT_NO_THROW(Daemon(wanted).get("/api/runs/TR-1/wait?timeout=30s"));
}

TEST_F(DaemonTest, change_without_a_key_is_not_retried) {
  play({""});
  Daemon daemon(place());
  try {
    daemon.ask({.method = "POST", .target = "/api/daemon/stop"});
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), "daemon.unavailable");
    EXPECT_THAT(error.message(), HasSubstr("is unknown"));
  }
}

TEST_F(DaemonTest, unready_daemon_is_retried) {
  play({answer(503, "{}"), answer(409, R"({"code":"request.in_progress"})"), answer(200, "{}")});
  EXPECT_EQ(Daemon(place()).ask({.target = "/x"}).status, 200);
}

TEST_F(DaemonTest, refusal_becomes_an_error_with_the_daemons_message) {
  play({answer(404, R"({"code":"run.not_found","title":"t","detail":"there is no run TR-9","fix":"reeve runs"})")});
  Daemon daemon(place());
  try {
    get_run(daemon, base::RunId(9));
    FAIL();
  } catch (const Refusal& refusal) {
    EXPECT_EQ(refusal.status(), 404);
    EXPECT_EQ(refusal.code(), "run.not_found");
    EXPECT_EQ(refusal.message(), "there is no run TR-9");
    EXPECT_EQ(refusal.fix(), "reeve runs");
  }
}

// RUN-12: every byte once, wherever the connection breaks.
TEST_F(DaemonTest, output_resumes_where_it_was_cut) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nReeve-Attempt: 1\r\nReeve-Offset: ";
  const auto chunk = [](const std::string& bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); };
  const std::string one = frame("one ");
  const std::string two = frame("two ");
  const std::string three = frame("three");
  play({head + "0\r\n\r\n" + chunk(one + two.substr(0, 18)),
        head + "20\r\n\r\n" + chunk(two) + "7f\r\n" + three.substr(0, 5),
        head + "100\r\n\r\n" + chunk(three) + "0\r\n\r\n"});
  Daemon daemon(place());
  std::string out;
  std::uint64_t missing = 0;
  OutputPlace output;
  follow_output(
      daemon, base::RunId(1), output,
      [&](model::Stream, std::string_view bytes) {
        out += bytes;
        return true;
      },
      [&](std::uint64_t bytes) { missing += bytes; });
  EXPECT_EQ(out, "one two three");
  EXPECT_EQ(missing, 60U) << "what was dropped meanwhile is told";
  EXPECT_THAT(questions_.get(), ElementsAre(HasSubstr("from=0&"), HasSubstr("from=20&"), HasSubstr("from=40&")));
}

TEST_F(DaemonTest, no_daemon_is_started_when_forbidden) {
  try {
    Daemon(place()).connect();
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), "daemon.unavailable");
    EXPECT_THAT(error.message(), HasSubstr("none may be started"));
  }
}

TEST_F(DaemonTest, failed_daemon_start_reports_the_reason) {
  ::setenv("REEVE_TEST_SECRET", "x", 1);
  const DaemonPlace wanted =
      place_with_keeper("echo \"$@\" > $7/words; env > $7/environment; echo 'the config is not valid' >&2; exit 2\n");
  try {
    Daemon(wanted).connect();
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), "daemon.unavailable");
    EXPECT_THAT(error.message(), HasSubstr("the config is not valid"));
  }
  const std::string folder = wanted.folder.string();
  EXPECT_EQ(testing::read_text(wanted.folder / "words"),
            "guard " + folder + "/reeve.lock -- /opt/reeve serve --state " + folder + " --background\n");
  EXPECT_THAT(testing::read_text(wanted.folder / "environment"),
              AllOf(HasSubstr("PATH="), Not(HasSubstr("REEVE_TEST_SECRET"))));
}

// Two clients start one each; the slower one's daemon finds the folder taken and both use the other.
TEST_F(DaemonTest, lost_start_uses_the_other_daemon) {
  const DaemonPlace wanted = place_with_keeper("touch $7/started; echo 'error[daemon.already_running]: taken'\n");
  auto other = std::async(std::launch::async, [&] {
    while (!std::filesystem::exists(wanted.folder / "started")) std::this_thread::yield();
    const os::Fd listener(testing::listen_at(wanted.socket));
    const testing::RawSocket socket(listener.get());
  });
  EXPECT_NO_THROW(Daemon(wanted).connect());
  other.get();
}

TEST_F(DaemonTest, gives_up_on_a_daemon_that_never_starts) {
  DaemonPlace wanted = place_with_keeper("exit 0\n");
  wanted.timeout = std::chrono::milliseconds(150);
  EXPECT_THROW(Daemon(wanted).connect(), base::Error);
}

}  // namespace
}  // namespace reeve::client
