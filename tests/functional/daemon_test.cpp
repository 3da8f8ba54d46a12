#include "tests/support/daemon.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approvals.h"
#include "tests/support/socket.h"

// The daemon starts on demand and exits when idle; runs are not affected.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::RawSocket;
using ::testing::StartsWith;
using testing::Words;

class DaemonLife : public testing::DaemonTest {
 protected:
  int daemons() const {
    int count = 0;
    for (const auto& process : processes()) {
      count += process.command.starts_with(testing::reeve_binary() + " serve") ? 1 : 0;
    }
    return count;
  }
  std::string ask(const std::string& request) const {
    RawSocket peer(socket());
    EXPECT_TRUE(peer.send(request));
    return peer.read_answer();
  }
  std::string post_run(const std::string& key, const std::string& body) const {
    return ask("POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: " +
               key + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
};

// DESIGN §1: a client that finds no daemon starts one, under a guard.
TEST_F(DaemonLife, client_starts_the_daemon) {
  EXPECT_TRUE(processes().empty());
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(daemons(), 1);
  // Only the owner has access.
  struct stat status{};
  ASSERT_EQ(::stat(state().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_THAT(reeve({"stop"}).out, StartsWith("Stopped. "));
  EXPECT_FALSE(fs::exists(socket()));
  EXPECT_TRUE(eventually([&] { return processes().empty(); }));
  const Outcome again = reeve({"stop"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.out, HasSubstr("no daemon is running here"));
}

// SPEC §7: environment variables are not ignored.
TEST_F(DaemonLife, started_daemon_gets_the_clients_settings) {
  const Outcome refused = reeve({"run", "--", "/bin/true"}, {{"REEVE_STORE", "postgresql://nobody@127.0.0.1:1/none"}});
  EXPECT_EQ(refused.code, 6) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("store.unavailable"));
  EXPECT_FALSE(fs::exists(state() / "reeve.db"));
  const Outcome wrong = reeve({"run", "--", "/bin/true"}, {{"REEVE_SUPERVISION_LEASE", "soon"}});
  EXPECT_EQ(wrong.code, 2) << wrong.out;
  EXPECT_THAT(wrong.err, HasSubstr("REEVE_SUPERVISION_LEASE"));
}

// DESIGN §1: when many clients start it at once, one daemon starts and serves them all.
TEST_F(DaemonLife, concurrent_clients_start_one_daemon) {
  std::vector<std::unique_ptr<testing::Session>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(start(run_words({}, {"lines", "1"})));
  for (const auto& client : clients) {
    EXPECT_EQ(client->wait(), 0) << client->err();
    EXPECT_EQ(client->out(), "line 000001\n");
  }
  EXPECT_EQ(daemons(), 1);
  EXPECT_EQ(testing::count_of(reeve({"runs"}).out, "completed"), 8);
}

// RUN-12, RUN-13: a run survives its daemon, and the next one continues where it stopped.
TEST_F(DaemonLife, runs_survive_a_stop_and_are_adopted) {
  const std::string id = detach({}, {"wait-file", (project() / "go").string()});
  const std::string ended = detach({}, {"wait-file", (project() / "end").string()});
  wait_for_output(id, "waiting");
  wait_for_output(ended, "waiting");
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_TRUE(eventually([&] { return daemons() == 0; }));
  EXPECT_EQ(tools().size(), 2U);
  // One ends while no daemon runs.
  scratch().write("project/end", "");
  EXPECT_TRUE(eventually([&] { return tools().size() == 1U; }));
  EXPECT_EQ(show(id)["status"], "running");
  EXPECT_EQ(daemons(), 1);
  // Its keeper may still be writing the exit record.
  wait_for_status(ended, "completed");
  EXPECT_EQ(show(ended)["exit_code"], "0");
  EXPECT_EQ(logs(ended), "waiting\ngo\n");
  scratch().write("project/go", "");
  EXPECT_EQ(finish(id)["status"], "completed");
  EXPECT_EQ(logs(id), "waiting\ngo\n");
  EXPECT_EQ(show(id)["attempt"], "1");
  EXPECT_THAT(statuses_of(id), ::testing::ElementsAre("queued", "running", "completed"));
}

// RUN-12: the attached client continues too.
TEST_F(DaemonLife, client_survives_a_daemon_stop) {
  const auto client = start(run_words({}, {"wait-file", (project() / "go").string()}));
  ASSERT_TRUE(client->wait_for("waiting\n"));
  EXPECT_EQ(reeve({"stop"}).code, 0);
  scratch().write("project/go", "");
  EXPECT_EQ(client->wait(), 0) << client->err();
  EXPECT_EQ(client->out(), "waiting\ngo\n");
  EXPECT_EQ(client->err(), "");
  EXPECT_EQ(testing::read_text(state() / "logs/daemon.log"), "");
}

// DESIGN §1: one daemon per state folder.
TEST_F(DaemonLife, second_daemon_is_refused) {
  const auto first = start({"serve"});
  ASSERT_TRUE(first->wait_for_error("listening at " + socket().string()));
  const Outcome second = reeve({"serve"});
  EXPECT_EQ(second.code, 4);
  EXPECT_THAT(second.err, AllOf(HasSubstr("daemon.already_running"),
                                HasSubstr("another daemon (pid " + std::to_string(first->pid()) + ")"),
                                HasSubstr(state().string()), HasSubstr("reeve stop")));
  // The first daemon is not affected.
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait(), 0);
  EXPECT_FALSE(fs::exists(socket()));
}

TEST_F(DaemonLife, signal_stops_the_daemon_and_keeps_runs) {
  for (const int number : {SIGTERM, SIGINT}) {
    const auto daemon = start({"serve"});
    ASSERT_TRUE(daemon->wait_for_error("listening at"));
    const std::string id = detach({}, {"wait-file", (project() / "go").string()});
    wait_for_output(id, "waiting");
    daemon->signal(number);
    EXPECT_EQ(daemon->wait(), 0);
    EXPECT_EQ(tools().size(), 1U);
    scratch().write("project/go", "");
    EXPECT_EQ(finish(id)["status"], "completed");
    fs::remove(project() / "go");
    EXPECT_EQ(reeve({"stop"}).code, 0);
    EXPECT_TRUE(eventually([&] { return processes().empty(); }));
  }
}

// DESIGN §1: idle means no work and no clients.
TEST_F(DaemonLife, idle_daemon_exits) {
  configure("supervision: {idle_exit: 1s}\n");
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_TRUE(eventually([&] { return !fs::exists(socket()) && processes().empty(); }));
  EXPECT_EQ(show("TR-1")["status"], "completed");
}

// DESIGN §1: a run or a question counts as work.
TEST_F(DaemonLife, daemon_stays_while_a_run_is_active) {
  configure("supervision: {idle_exit: 500ms}\n");
  EXPECT_EQ(reeve({"runs"}).code, 0);
  const std::string pid = testing::read_text(state() / "reeve.lock");
  detach({}, {"silent", "3"});
  EXPECT_TRUE(eventually([&] { return tools().empty(); }));
  EXPECT_EQ(testing::read_text(state() / "reeve.lock"), pid);
  EXPECT_TRUE(testing::is_alive(std::stoi(pid)));
  EXPECT_TRUE(eventually([&] { return !testing::is_alive(std::stoi(pid)); }));
}

// §7: a client inside a managed run never starts a daemon.
TEST_F(DaemonLife, client_inside_a_run_starts_no_daemon) {
  const std::string other = scratch().path() / "other";
  const Outcome outcome = reeve({"run", "--", testing::reeve_binary(), "runs", "--state", other});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("clients inside a run do not start one"));
  EXPECT_FALSE(fs::exists(fs::path(other) / "reeve.sock"));
  // It may use the running daemon.
  EXPECT_THAT(
      reeve({"run", "--", "/bin/sh", "-c", testing::reeve_binary() + " show $REEVE_RUN_ID --state " + state().string()})
          .out,
      HasSubstr("TR-2"));
}

// Unix socket addresses are limited to 107 bytes; paths are not.
TEST_F(DaemonLife, long_state_path_works) {
  const std::string deep = (project() / std::string(100, 'a') / std::string(100, 'b') / "state").string();
  EXPECT_EQ(reeve({"run", "--state", deep, "--", testing::zoo_binary(), "exit", "7"}).code, 7);
  EXPECT_EQ(reeve({"stop", "--state", deep}).code, 0);
}

// §7
TEST_F(DaemonLife, health_and_error_responses_have_their_status) {
  EXPECT_EQ(reeve({"runs"}).code, 0);
  EXPECT_THAT(ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"), HasSubstr("HTTP/1.1 404"));
  EXPECT_THAT(ask("GET /api/runs/TR-9 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              AllOf(HasSubstr("HTTP/1.1 404"), HasSubstr("application/problem+json"), HasSubstr("run.not_found")));
  EXPECT_THAT(
      ask("POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}"),
      HasSubstr("HTTP/1.1 415"));
}

// §7, UX: the same request twice starts one run; another request with the same key is refused.
TEST_F(DaemonLife, repeated_request_starts_one_run) {
  EXPECT_EQ(reeve({"runs"}).code, 0);
  const std::string file = project() / "effects";
  const auto body = [&](const std::string& word) {
    return R"({"argv":[")" + testing::zoo_binary() + R"(","effect",")" + file + R"(",")" + word + R"("],"cwd":"/"})";
  };
  const std::string first = post_run("key-1", body("once"));
  EXPECT_THAT(first, AllOf(HasSubstr("HTTP/1.1 201"), HasSubstr(R"("tool_run_id":"TR-1")")));
  EXPECT_THAT(post_run("key-1", body("once")), HasSubstr(R"("tool_run_id":"TR-1")"));
  EXPECT_EQ(finish("TR-1")["status"], "completed");
  EXPECT_THAT(post_run("key-1", body("once")), HasSubstr(R"("tool_run_id":"TR-1")"));
  EXPECT_THAT(post_run("key-1", body("twice")), AllOf(HasSubstr("HTTP/1.1 422"), HasSubstr("api.key_reused")));
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(reeve({"runs"}).code, 0);
  EXPECT_THAT(post_run("key-1", body("once")), HasSubstr(R"("tool_run_id":"TR-1")")) << "a restart forgets no key";
  EXPECT_EQ(testing::lines_of(testing::read_text(file)).size(), 1U);
  EXPECT_THAT(post_run("key-2", body("once")), Not(HasSubstr(R"("tool_run_id":"TR-1")")));
  EXPECT_TRUE(eventually([&] { return testing::lines_of(testing::read_text(file)).size() == 2U; }));
  EXPECT_EQ(finish("@last")["status"], "completed");
}

// LOG-2: external rotation is detected.
TEST_F(DaemonLife, renamed_log_is_reopened) {
  EXPECT_EQ(run({}, {"lines", "1"}).code, 0);
  EXPECT_THAT(statuses_of("TR-1"), ::testing::Contains("completed"));
  const fs::path log = state() / "logs/combined.log";
  fs::rename(log, state() / "logs/combined.log.old");
  EXPECT_EQ(run({}, {"lines", "1", "--start", "2"}).code, 0);
  EXPECT_TRUE(eventually([&] { return fs::exists(log); }));
  EXPECT_THAT(statuses_of("TR-2"), ::testing::ElementsAre("queued", "running", "completed"));
  EXPECT_THAT(testing::read_text(log), Not(HasSubstr("TR-1")));
  EXPECT_THAT(testing::read_text(state() / "logs/combined.log.old"), Not(HasSubstr("TR-2")));
}

// LOG-2: rotation by size loses no line.
TEST_F(DaemonLife, growing_log_is_rotated) {
  configure("log: {rotate_size: 64KiB, rotate_keep: 100}\n");
  EXPECT_EQ(run({}, {"lines", "2000"}).code, 0);
  EXPECT_THAT(statuses_of("TR-1"), ::testing::Contains("completed"));
  int lines = 0;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(state() / "logs")) {
    if (!entry.path().filename().string().starts_with("combined.log")) continue;
    ++files;
    for (const std::string& line : testing::lines_of(testing::read_text(entry.path()))) {
      auto members = testing::parse_object(line);
      ASSERT_TRUE(members) << line;
      lines += (*members)["event"] == "tool_output" ? 1 : 0;
    }
  }
  EXPECT_EQ(lines, 2000);
  EXPECT_GE(files, 3);
}

// "Nothing hangs unseen": a FIFO in place of the config, with its other end held open, blocks nothing.
TEST_F(DaemonLife, fifo_as_config_does_not_block_the_daemon) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const fs::path config = project() / ".reeve/config.yaml";
  fs::create_directories(config.parent_path());
  fs::remove(config);
  ASSERT_EQ(::mkfifo(config.c_str(), 0600), 0);
  const int end = ::open(config.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(end, 0);
  const auto answer = testing::try_request(socket(), testing::make_request("GET", "/api/tools", ""));
  EXPECT_TRUE(answer && answer->contains("not a regular file")) << answer.value_or("none");
  const auto health = testing::try_request(socket(), testing::make_request("GET", "/healthz", ""));
  EXPECT_TRUE(health && health->starts_with("HTTP/1.1 200")) << health.value_or("none");
  ::close(end);
  fs::remove(config);
}

}  // namespace
}  // namespace reeve
