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

// The daemon comes when it is needed, leaves when it is not, and what runs does not notice.
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
TEST_F(DaemonLife, a_client_starts_it) {
  EXPECT_TRUE(processes().empty());
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(daemons(), 1);
  // Only the owner may look in.
  struct stat status{};
  ASSERT_EQ(::stat(state().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_THAT(reeve({"stop"}).out, HasSubstr("stopped"));
  EXPECT_FALSE(fs::exists(socket()));
  EXPECT_TRUE(eventually([&] { return processes().empty(); }));
  const Outcome again = reeve({"stop"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.out, HasSubstr("no daemon runs here"));
}

// SPEC §7: what a variable sets is not passed over.
TEST_F(DaemonLife, one_that_is_started_has_the_settings_of_its_client) {
  const Outcome refused = reeve({"run", "--", "/bin/true"}, {{"REEVE_STORE", "postgresql://nobody@127.0.0.1:1/none"}});
  EXPECT_EQ(refused.code, 6) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("store.unavailable"));
  EXPECT_FALSE(fs::exists(state() / "reeve.db"));
  const Outcome wrong = reeve({"run", "--", "/bin/true"}, {{"REEVE_SUPERVISION_LEASE", "soon"}});
  EXPECT_EQ(wrong.code, 2) << wrong.out;
  EXPECT_THAT(wrong.err, HasSubstr("REEVE_SUPERVISION_LEASE"));
}

// DESIGN §1: of many who want to start it at once one does, and all are served.
TEST_F(DaemonLife, many_clients_at_once_start_one) {
  std::vector<std::unique_ptr<testing::Session>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(start(run_words({}, {"lines", "1"})));
  for (const auto& client : clients) {
    EXPECT_EQ(client->wait(), 0) << client->err();
    EXPECT_EQ(client->out(), "line 000001\n");
  }
  EXPECT_EQ(daemons(), 1);
  EXPECT_EQ(testing::count_of(reeve({"runs"}).out, "completed"), 8);
}

// RUN-12, RUN-13: a run outlives its daemon, and the next one goes on where the last stopped.
TEST_F(DaemonLife, runs_outlive_it_and_are_taken_over) {
  const std::string id = detach({}, {"wait-file", (project() / "go").string()});
  const std::string ended = detach({}, {"wait-file", (project() / "end").string()});
  wait_for_output(id, "waiting");
  wait_for_output(ended, "waiting");
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_TRUE(eventually([&] { return daemons() == 0; }));
  EXPECT_EQ(tools().size(), 2U);
  // One ends while nobody is there.
  scratch().write("project/end", "");
  EXPECT_TRUE(eventually([&] { return tools().size() == 1U; }));
  EXPECT_EQ(show(id)["status"], "running");
  EXPECT_EQ(daemons(), 1);
  // Its keeper may be writing the record of its end while the daemon looks.
  wait_for_status(ended, "completed");
  EXPECT_EQ(show(ended)["exit_code"], "0");
  EXPECT_EQ(logs(ended), "waiting\ngo\n");
  scratch().write("project/go", "");
  EXPECT_EQ(finish(id)["status"], "completed");
  EXPECT_EQ(logs(id), "waiting\ngo\n");
  EXPECT_EQ(show(id)["attempt"], "1");
  EXPECT_THAT(statuses_of(id), ::testing::ElementsAre("queued", "running", "completed"));
}

// RUN-12: neither does the person who sits there.
TEST_F(DaemonLife, a_client_outlives_it) {
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
TEST_F(DaemonLife, a_second_one_is_refused) {
  const auto first = start({"serve"});
  ASSERT_TRUE(first->wait_for_error("listening at " + socket().string()));
  const Outcome second = reeve({"serve"});
  EXPECT_EQ(second.code, 4);
  EXPECT_THAT(second.err, AllOf(HasSubstr("daemon.already_running"),
                                HasSubstr("another daemon (pid " + std::to_string(first->pid()) + ")"),
                                HasSubstr(state().string()), HasSubstr("reeve stop")));
  // The first goes on as if nothing had been.
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait(), 0);
  EXPECT_FALSE(fs::exists(socket()));
}

TEST_F(DaemonLife, a_signal_stops_it_and_leaves_what_runs) {
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

// DESIGN §1: idle means nothing to do and nobody there.
TEST_F(DaemonLife, it_leaves_when_it_is_idle) {
  configure("supervision: {idle_exit: 1s}\n");
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_TRUE(eventually([&] { return !fs::exists(socket()) && processes().empty(); }));
  EXPECT_EQ(show("TR-1")["status"], "completed");
}

// DESIGN §1: a run, or a question, is something to do.
TEST_F(DaemonLife, it_stays_while_there_is_something_to_do) {
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
TEST_F(DaemonLife, a_client_inside_a_run_starts_none) {
  const std::string other = scratch().path() / "other";
  const Outcome outcome = reeve({"run", "--", testing::reeve_binary(), "runs", "--state", other});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("a client inside a run starts none"));
  EXPECT_FALSE(fs::exists(fs::path(other) / "reeve.sock"));
  // It may ask the one that is there.
  EXPECT_THAT(
      reeve({"run", "--", "/bin/sh", "-c", testing::reeve_binary() + " show $REEVE_RUN_ID --state " + state().string()})
          .out,
      HasSubstr("TR-2"));
}

// Unix sockets end at 107 bytes; folders do not.
TEST_F(DaemonLife, a_long_path_is_no_obstacle) {
  const std::string deep = (project() / std::string(100, 'a') / std::string(100, 'b') / "state").string();
  EXPECT_EQ(reeve({"run", "--state", deep, "--", testing::zoo_binary(), "exit", "7"}).code, 7);
  EXPECT_EQ(reeve({"stop", "--state", deep}).code, 0);
}

// §7
TEST_F(DaemonLife, it_answers_for_its_health) {
  EXPECT_EQ(reeve({"runs"}).code, 0);
  EXPECT_THAT(ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"), HasSubstr("HTTP/1.1 404"));
  EXPECT_THAT(ask("GET /api/runs/TR-9 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              AllOf(HasSubstr("HTTP/1.1 404"), HasSubstr("application/problem+json"), HasSubstr("run.not_found")));
  EXPECT_THAT(
      ask("POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}"),
      HasSubstr("HTTP/1.1 415"));
}

// §7, UX: the same request twice is one run; another one under the same key is refused.
TEST_F(DaemonLife, a_repeated_request_runs_once) {
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

// LOG-2: somebody else's rotation is noticed.
TEST_F(DaemonLife, a_log_that_was_renamed_is_opened_anew) {
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
TEST_F(DaemonLife, a_log_that_grows_is_rotated) {
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

// «Nothing hangs unseen»: a pipe in the place of the config, whose other end somebody holds, holds up nobody.
TEST_F(DaemonLife, a_pipe_in_the_place_of_the_config_holds_up_nobody) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const fs::path config = project() / ".reeve/config.yaml";
  fs::create_directories(config.parent_path());
  fs::remove(config);
  ASSERT_EQ(::mkfifo(config.c_str(), 0600), 0);
  const int end = ::open(config.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(end, 0);
  const auto answer = testing::try_request(socket(), testing::make_request("GET", "/api/tools", ""));
  EXPECT_TRUE(answer && answer->contains("no regular file")) << answer.value_or("none");
  const auto health = testing::try_request(socket(), testing::make_request("GET", "/healthz", ""));
  EXPECT_TRUE(health && health->starts_with("HTTP/1.1 200")) << health.value_or("none");
  ::close(end);
  fs::remove(config);
}

}  // namespace
}  // namespace reeve
