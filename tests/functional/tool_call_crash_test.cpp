#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/socket.h"
#include "tests/support/tool_calls.h"

// A thousand calls of several agents while the daemon dies at every crash point in turn: each is executed at most once,
// and none without its yes (TOOL-4, TOOL-9, APR-7). Runs on SQLite, and again on PostgreSQL (tests/CMakeLists.txt).
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

constexpr int runs = 5;
// Of each run, for each crash point.
constexpr int allowed_calls = 7;
constexpr int denied_calls = 2;
constexpr int asked_calls = 2;
constexpr int written_files = 2;
constexpr int commands = 1;
constexpr auto points = std::to_array<const char*>(
    {"call.before_store", "call.after_store", "call.after_begin", "call.before_end", "approval.after_decide",
     "approval.after_use", "run.after_tx_spawned", "run.after_assign", "run.before_tx_exit", "run.after_tx_exit",
     "recovery.after_each_run", "output.after_log_before_tx", "group.before_commit",
     "group.after_commit_before_publish"});
constexpr int phases = points.size();
constexpr int calls_per_run = phases * (allowed_calls + denied_calls + asked_calls + written_files + commands);
// Of the run that prints its calls, and of the one that leaves while its call waits.
constexpr int printed_calls = 2;
constexpr int released_calls = 1;
static_assert(runs * calls_per_run + phases * (printed_calls + released_calls) >= 1'000);

class ToolCallCrash : public testing::ToolCallsTest {
 protected:
  ToolCallCrash() {
    fs::create_directory(project() / "free");
    configure(store_line() +
              "tools:\n"
              "  agent: {command: [/bin/sh, -c], resume: live}\n"
              "  lines: {command: [/bin/sh, -c], resume: live, mode: stream, speaks: reeve}\n"
              "  released: {command: [/bin/sh, -c]}\n"
              "policies:\n"
              "  tools: {probe: auto_approve, forbidden: deny, file_write: {policy: auto_approve, when: {path: "
              "'free/**'}}}\n");
  }

  // A new database on the server that ctest has started.
  static std::string store_line() {
    const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
    if (server == nullptr) return "store: sqlite\n";
    const std::string database = fmt::format("tool_call_crash_{}", ::getpid());
    const Outcome made = testing::run_program(
        {.argv = {"createdb", "-h", server, "-U", "reeve", database}, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(made.code, 0) << made.err;
    return fmt::format("store: 'postgresql:///{}?host={}&user=reeve'\n", database, server);
  }

  // In every phase it makes calls of every kind at the same time; their ids begin with the kind and name the run.
  std::string agent() const {
    const std::string effects = (scratch().path() / "effects").string();
    const auto calls = [&](const std::string& kind, int count, const std::string& call, const std::string& options) {
      return fmt::format("'{}' calls {}-$REEVE_RUN_ID-$phase {} {} {} &\n", testing::zoo_binary(), kind, count, call,
                         options);
    };
    const std::string own = "--effect '" + effects + "' ";
    return fmt::format("for phase in $(seq 0 {}); do wait_file go-$phase\n", phases - 1) +
           calls("allowed", allowed_calls, "probe '{\"n\":{n}}'", own + "--lanes 2") +
           calls("denied", denied_calls, "forbidden '{\"n\":{n}}'", own) +
           calls("asked", asked_calls, "ask_me '{\"n\":{n}}'", own + "--lanes 2") +
           calls("file", written_files,
                 "file_write '{\"path\":\"free/'$REEVE_RUN_ID-$phase'-{n}\",\"content\":\"{n}\"}'", "--execute") +
           calls("command", commands,
                 fmt::format(
                     "shell_execute '{{\"argv\":[\"{}\",\"effect\",\"{}\",\"command-'$REEVE_RUN_ID-$phase'-{{n}}\"]}}'",
                     testing::zoo_binary(), effects),
                 "--execute") +
           "wait; done; echo > over-$REEVE_RUN_ID\n";
  }
  // Prints its calls, and reads one answer for each.
  std::string line_agent() const {
    const std::string effects = (scratch().path() / "effects").string();
    return fmt::format(
        "use() {{ printf '{{\"event\":\"tool_use\",\"id\":\"%s\",\"tool\":\"%s\",\"arguments\":%s}}\\n' \"$@\"; }}\n"
        "for phase in $(seq 0 {}); do wait_file go-$phase; end=$REEVE_RUN_ID-$phase-0\n"
        "use file-$end file_write '{{\"path\":\"free/'$end'\",\"content\":\"0\"}}'\n"
        "use command-$end shell_execute '{{\"argv\":[\"{}\",\"effect\",\"{}\",\"command-'$end'\"]}}'\n"
        // After a crash, an answer can come twice.
        "f=; c=; until [ \"$f\" ] && [ \"$c\" ]; do read -r answer || break; case \"$answer\" in\n"
        "*file-$end*) f=1;; *command-$end*) c=1;; esac; done; done; echo > over-$REEVE_RUN_ID\n",
        phases - 1, testing::zoo_binary(), effects);
  }
  // Ends while its call waits, and continues where it was.
  std::string released_agent() const {
    const std::string effects = (scratch().path() / "effects").string();
    return fmt::format(
        "at=$(cat at-$REEVE_RUN_ID || echo 0)\n"
        "for phase in $(seq $at {}); do wait_file go-$phase; echo $phase >at-$REEVE_RUN_ID\n"
        "'{}' call asked-$REEVE_RUN_ID-$phase-0 ask_me '{{}}' --once --defer --effect '{}'\n"
        "[ $? = 90 ] && exit 90; done; echo > over-$REEVE_RUN_ID\n",
        phases - 1, testing::zoo_binary(), effects);
  }
  bool are_over() const {
    return std::ranges::all_of(ids_, [&](const std::string& id) { return fs::exists(project() / ("over-" + id)); });
  }

  // Every second question is approved, and every command.
  static bool is_yes(const std::string& call) {
    return call.starts_with("command-") || std::stoi(call.substr(call.rfind('-') + 1)) % 2 == 0;
  }
  // Without starting a daemon: nothing happens if there is none.
  void answer_some(std::size_t most) const {
    const auto listed =
        testing::try_request(socket(), testing::make_request("GET", "/api/approvals?status=pending", ""));
    if (!listed || !listed->contains("\r\n\r\n")) return;
    Members page = testing::parse_object(listed->substr(listed->find("\r\n\r\n") + 4)).value_or(Members());
    for (const std::string& item : testing::parse_array(page["items"]).value_or(Words())) {
      if (most-- == 0) return;
      Members approval = testing::parse_object(item).value_or(Members());
      testing::try_request(socket(), testing::make_request("POST",
                                                           "/api/approvals/" + approval["approval_id"] +
                                                               (is_yes(approval["tool_ref"]) ? "/approve" : "/reject"),
                                                           "{}"));
    }
  }
  // A daemon that dies there, with new calls to come there.
  void kill_at(const std::string& point, int phase) const {
    const bool dies_early = point.starts_with("recovery.");
    if (dies_early) let(fmt::format("go-{}", phase));
    const auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", point}});
    if (!dies_early) daemon->wait_for_error("listening");
    let(fmt::format("go-{}", phase));
    const bool is_dead = testing::eventually([&] {
      answer_some(2);
      return daemon->is_over();
    });
    EXPECT_TRUE(is_dead) << "it never came to " << point;
    if (!is_dead) daemon->signal(SIGKILL);
    EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  }

  void check(const std::string& run, const std::map<std::string, int>& done, int expected) const {
    const auto count = [&](const std::string& id) { return done.contains(id) ? done.at(id) : 0; };
    const std::vector<Members> calls = calls_of(run);
    EXPECT_EQ(calls.size(), static_cast<std::size_t>(expected));
    std::set<std::string> seen;
    for (const Members& call : calls) {
      const std::string& id = call.at("native_id");
      EXPECT_TRUE(seen.insert(id).second) << id << " is there twice";
      const bool is_allowed = call.at("answer") == "allow";
      if (!is_allowed) EXPECT_EQ(count(id), 0) << id << " was executed without a yes";
      if (id.starts_with("allowed-")) EXPECT_EQ(count(id), 1) << id;
      if (id.starts_with("asked-")) EXPECT_EQ(count(id), is_yes(id) ? 1 : 0) << id;
      if (call.at("outcome") == "ran" && id.starts_with("command-")) EXPECT_EQ(count(id), 1) << id;
      if (id.starts_with("denied-")) EXPECT_FALSE(is_allowed) << id;
      EXPECT_LE(count(id), 1) << id;
    }
  }

  std::vector<std::string> ids_;
};

TEST_F(ToolCallCrash, thousand_calls_are_executed_at_most_once_and_none_without_its_yes) {
  for (int i = 0; i < runs; ++i) ids_.push_back(begin(agent()));
  const std::string printing = ids_.emplace_back(begin(line_agent(), "lines"));
  const std::string leaving = ids_.emplace_back(begin(released_agent(), "released"));
  for (const std::string& id : ids_) wait_for_status(id, "running");
  ASSERT_EQ(reeve({"stop"}).code, 0);
  int phase = 0;
  for (const char* point : points) {
    SCOPED_TRACE(point);
    kill_at(point, phase++);
  }
  EXPECT_EQ(reeve({"runs"}).code, 0);
  EXPECT_TRUE(testing::eventually([&] {
    answer_some(100);
    return are_over();
  })) << logs(ids_.front());
  std::map<std::string, int> done;
  for (const std::string& id : executed()) ++done[id];
  for (const std::string& id : ids_) {
    expect_completed(id);
    EXPECT_THAT(logs(id), Not(HasSubstr("refused 1"))) << logs(id);
    const bool is_plain = id != printing && id != leaving;
    check(id, done, is_plain ? calls_per_run : phases * (id == printing ? printed_calls : released_calls));
    EXPECT_EQ(question_count(id), is_plain ? phases * (asked_calls + commands) : phases);
  }
  expect_audit_intact();
}

}  // namespace
}  // namespace reeve
