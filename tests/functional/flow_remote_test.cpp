#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"

// ISO-1, GRF-13: two daemons with a clone each, one PostgreSQL (tests/CMakeLists.txt) and a shared bare repository: the
// nodes of one execution alternate between them. The user's checkout is that of A.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::Words;

class SharedRemote : public testing::FlowTest {
 protected:
  void SetUp() override {
    const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
    if (server == nullptr) GTEST_SKIP() << "no PostgreSQL server was started";
    static int count = 0;
    const std::string database = fmt::format("shared_remote_{}_{}", ::getpid(), ++count);
    const Outcome made = testing::run_program(
        {.argv = {"createdb", "-h", server, "-U", "reeve", database}, .environment = {{"PATH", "/usr/bin:/bin"}}});
    ASSERT_EQ(made.code, 0) << made.err;
    configure(
        fmt::format("store: 'postgresql:///{}?host={}&user=reeve'\n"
                    "supervision: {{poll_interval: 100ms, lease: 2s, adopt_grace: 2s}}\n"
                    "worktree: {{remote: origin}}\n"
                    "tools:\n  sh: {{command: [sh, -c, \"{{prompt}}\"]}}\n",
                    database, server));
    git(project(), {"init", "-q", "-b", "main"});
    scratch().write("project/.gitignore", ".reeve/state\n.worktrees\n");
    git(project(), {"init", "-q", "--bare", bare().string()});
    git(project(), {"remote", "add", "origin", bare().string()});
  }
  void TearDown() override {
    if (fs::exists(other() / ".reeve/state/reeve.sock")) EXPECT_EQ(at_b({"stop"}).code, 0);
    FlowTest::TearDown();
  }

  fs::path other() const { return scratch().path() / "other"; }
  fs::path bare() const { return scratch().path() / "bare.git"; }
  static std::string git(const fs::path& folder, const Words& words) {
    Words argv = {"git", "-C", folder.string(), "-c", "user.name=Ana", "-c", "user.email=ana@example.org"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Outcome outcome = testing::run_program({.argv = argv, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  // Both have it in their own clones. It is not pushed: only A has the base commit, and B has the one before.
  void clone_and_commit(const std::string& name, const std::string& yaml) const {
    git(project(), {"add", "-A"});
    git(project(), {"commit", "-qm", "first"});
    git(project(), {"clone", "-q", project().string(), other().string()});
    git(other(), {"remote", "set-url", "origin", bare().string()});
    EXPECT_EQ(at_b({"config", "trust", "--yes"}).code, 0);
    write_workflow(name, yaml);
    git(project(), {"add", "-A"});
    git(project(), {"commit", "-qm", name});
  }
  Outcome at_b(const Words& words) const {
    testing::Launch made = launch(words);
    made.folder = other();
    for (auto& [key, value] : made.environment) {
      if (key == "REEVE_STATE") value = (other() / ".reeve/state").string();
    }
    return testing::run_program(made);
  }
  // A node that records where it ran, and adds a change on top of the previous ones.
  std::string step(const std::string& name) const {
    return fmt::format("ls *.txt | wc -l >> {0}; pwd >> {0}; echo {1} > {1}.txt", places().string(), name);
  }
  fs::path places() const { return scratch().path() / "places"; }
  std::string ask_b(const Words& words) const { return at_b(words).out; }
  std::string branches_there() const {
    return git(bare(), {"for-each-ref", "--format=%(refname)", "refs/heads/reeve"});
  }
  static std::string first_word(const std::string& text) { return text.substr(0, text.find_first_of("\t\n")); }

  // Waits for a question, as seen by A or by B.
  std::string wait_for_question(const std::function<Outcome(const Words&)>& at) const {
    std::string id;
    EXPECT_TRUE(eventually([&] {
      id = first_word(at({"approvals"}).out);
      return id.starts_with("AP-");
    })) << "nobody asks";
    return id;
  }
  std::function<Outcome(const Words&)> a() const {
    return [this](const Words& words) { return reeve(words); };
  }
  std::function<Outcome(const Words&)> b() const {
    return [this](const Words& words) { return at_b(words); };
  }
  bool is_in_checkout(const std::string& file) const { return fs::exists(project() / file); }
  // A dies at this point, while it accepts the change of the first node.
  void die_at(const std::string& point) const {
    auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", point}});
    daemon->wait_for_error("listening");
    const auto client = start({"flow", "run", "one", "--detach"});
    EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
    // The client would restart the daemon.
    client->signal(SIGKILL);
    client->wait();
  }
};

TEST_F(SharedRemote, nodes_alternate_between_hosts_and_the_result_is_applied_once) {
  clone_and_commit("turns", chain("turns", {{"a", step("a")},
                                            {"ask1", "human On?"},
                                            {"b", step("b")},
                                            {"ask2", "human On?"},
                                            {"c", step("c")},
                                            {"ask3", "human On?"},
                                            {"d", step("d")}}));
  const std::string id = begin("turns");
  std::string question = wait_for_question(a());
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(branches_there(), "refs/heads/reeve/" + id + "\n");

  ASSERT_EQ(at_b({"approve", "--yes", question}).code, 0);
  question = wait_for_question(b());
  ASSERT_EQ(at_b({"stop"}).code, 0);

  ASSERT_EQ(reeve({"approve", "--yes", question}).code, 0);
  question = wait_for_question(a());
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_FALSE(is_in_checkout("a.txt")) << "it is not over";

  // The execution ends at B while A is away: nothing is applied there.
  ASSERT_EQ(at_b({"approve", "--yes", question}).code, 0);
  EXPECT_EQ(at_b({"wait", id}).code, 0) << ask_b({"flow", "show", id});
  EXPECT_TRUE(eventually([&] { return !fs::exists(other() / ".worktrees" / id); })) << "B does not tidy up";
  EXPECT_FALSE(fs::exists(other() / "a.txt"));
  EXPECT_EQ(branches_there(), "refs/heads/reeve/" + id + "\n") << "A has not got it yet";

  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  EXPECT_TRUE(eventually([&] { return branches_there().empty(); })) << "A does not bring it home";
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(is_in_checkout(std::string(name) + ".txt")) << name;
  const std::string here = fmt::format("{}/.worktrees/{}\n", project().string(), id);
  const std::string there = fmt::format("{}/.worktrees/{}\n", other().string(), id);
  EXPECT_EQ(testing::read_text(places()), "0\n" + here + "1\n" + there + "2\n" + here + "3\n" + there)
      << "each at its place, on top of all before it";
  EXPECT_EQ(git(project(), {"status", "--porcelain"}), "");
  EXPECT_EQ(git(project(), {"log", "--format=%s", "--", "b.txt"}), id + " b\n") << "once";
  EXPECT_TRUE(eventually([&] { return git(other(), {"for-each-ref", "refs/heads/reeve", "refs/reeve"}).empty(); }));
  EXPECT_FALSE(fs::exists(project() / ".worktrees" / id));
}

// GRF-11: subgraphs move with their execution.
TEST_F(SharedRemote, subgraph_continues_on_the_other_host) {
  write_workflow("inner", chain("inner", {{"a", step("a")}, {"ask", "human On?"}, {"b", step("b")}}));
  clone_and_commit("outer",
                   "id: outer\nname: Outer\nentry_point: sub\nnodes:\n"
                   "  - {id: sub, type: subgraph, subgraph_config: {workflow_name: inner}}\n"
                   "  - id: last\n    type: task\n    task_config: {role: coder, task_template: '" +
                       step("c") + "'}\nedges: [{id: e, source: sub, target: last}]\n");
  const std::string id = begin("outer");
  const std::string question = wait_for_question(a());
  ASSERT_EQ(reeve({"stop"}).code, 0);
  ASSERT_EQ(at_b({"approve", "--yes", question}).code, 0);
  EXPECT_EQ(at_b({"wait", id}).code, 0) << ask_b({"flow", "show", id});
  const std::string there = fmt::format("{}/.worktrees/{}\n", other().string(), id);
  EXPECT_THAT(testing::read_text(places()), HasSubstr("1\n" + there + "2\n" + there));
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  EXPECT_TRUE(eventually([&] { return is_in_checkout("c.txt") && branches_there().empty(); })) << "A is back";
}

// GRF-13, ISO-1: between the merge and the push, and between the push and the store.
TEST_F(SharedRemote, kill_around_the_push_is_recovered) {
  clone_and_commit("one", chain("one", {{"a", step("a")}}));
  int commits = 0;
  for (const char* point : {"isolation.after_merge", "isolation.after_published"}) {
    fs::remove(places());
    git(project(), {"commit", "-q", "--allow-empty", "-m", fmt::format("round {}", ++commits)});
    die_at(point);
    ASSERT_EQ(reeve({"flow", "list"}).code, 0);
    ASSERT_TRUE(eventually([&] { return is_in_checkout("a.txt") && branches_there().empty(); })) << point;
    EXPECT_EQ(testing::lines_of(testing::read_text(places())).size(), 2U) << "it ran once: " << point;
    ASSERT_EQ(reeve({"stop"}).code, 0);
    git(project(), {"rm", "-q", "a.txt"});
    git(project(), {"commit", "-qm", "out"});
  }
}

// GRF-13: A never comes back in time. Another host continues from the store, and A's late result changes nothing.
TEST_F(SharedRemote, unpushed_work_of_a_dead_host_is_repeated_elsewhere) {
  clone_and_commit("one", chain("one", {{"a", step("a")}}));
  die_at("isolation.after_published");
  ASSERT_EQ(at_b({"flow", "list"}).code, 0);
  std::string id;
  ASSERT_TRUE(eventually([&] {
    const std::string listed = ask_b({"flow", "list"});
    id = first_word(listed);
    return listed.contains("failed");
  })) << ask_b({"flow", "list"});
  EXPECT_THAT(ask_b({"flow", "show", id}), HasSubstr("ended on another host"));
  EXPECT_EQ(at_b({"flow", "retry", id}).code, 0);
  EXPECT_EQ(at_b({"wait", id}).code, 0) << ask_b({"flow", "show", id});
  EXPECT_THAT(testing::read_text(places()), HasSubstr(fmt::format("{}/.worktrees/{}\n", other().string(), id)));
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  EXPECT_TRUE(eventually([&] { return is_in_checkout("a.txt") && branches_there().empty(); })) << "A is back";
  EXPECT_EQ(git(project(), {"log", "--format=%s", "--", "a.txt"}), id + " a\n") << "once";
}

// A gate changes nothing, so the result of a host that is gone stays valid.
TEST_F(SharedRemote, gate_result_of_a_dead_host_stays_valid) {
  configure(testing::read_text(project() / ".reeve/config.yaml") +
            fmt::format("gates:\n  g: {{command: [sh, -c, 'echo judged >> {}']}}\n", places().string()));
  clone_and_commit("one",
                   "id: one\nname: One\nentry_point: check\nnodes:\n"
                   "  - {id: check, type: gate, gate_config: {gate_type: g}}\n"
                   "  - id: last\n    type: task\n    task_config: {role: coder, task_template: '" +
                       step("a") + "'}\nedges: [{id: e, source: check, target: last}]\n");
  die_at("node.before_conclude");
  ASSERT_EQ(at_b({"flow", "list"}).code, 0);
  const std::string id = first_word(ask_b({"flow", "list"}));
  EXPECT_EQ(at_b({"wait", id}).code, 0) << ask_b({"flow", "show", id});
  EXPECT_EQ(testing::count_of(testing::read_text(places()), "judged"), 1);
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  EXPECT_TRUE(eventually([&] { return is_in_checkout("a.txt") && branches_there().empty(); })) << "A is back";
}

// GRF-13: A and its keeper die while the step runs. B asks, following on_interrupted, and reruns it in its own clone.
TEST_F(SharedRemote, step_of_a_dead_host_asks_and_reruns_elsewhere) {
  const std::string go = (scratch().path() / "go").string();
  clone_and_commit("one", chain("one", {{"a", step("a") + "; " + held_until(go)}}));
  const std::string id = begin("one");
  ASSERT_TRUE(eventually([&] { return fs::exists(places()); }));
  // The whole host at once: guard, daemon, keeper and tool.
  ASSERT_TRUE(eventually([&] {
    const auto left = processes();
    for (const testing::FoundProcess& process : left) ::kill(process.pid, SIGKILL);
    return left.empty();
  }));
  scratch().write("go", "");
  const std::string question = wait_for_question(b());
  EXPECT_EQ(at_b({"approve", "--yes", question}).code, 0);
  EXPECT_EQ(at_b({"wait", id}).code, 0) << ask_b({"flow", "show", id});
  EXPECT_THAT(testing::read_text(places()), HasSubstr(fmt::format("{}/.worktrees/{}\n", other().string(), id)));
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  EXPECT_TRUE(eventually([&] { return is_in_checkout("a.txt") && branches_there().empty(); })) << "A is back";
}

TEST_F(SharedRemote, missing_remote_is_refused_before_anything_starts) {
  clone_and_commit("one", chain("one", {{"a", step("a")}}));
  git(project(), {"remote", "remove", "origin"});
  const Outcome unknown = reeve({"flow", "run", "one"});
  EXPECT_EQ(unknown.code, 2) << unknown.err;
  EXPECT_THAT(unknown.err, HasSubstr("git.no_remote"));
  git(project(), {"remote", "add", "origin", (scratch().path() / "gone.git").string()});
  const Outcome gone = reeve({"flow", "run", "one"});
  EXPECT_EQ(gone.code, 2) << gone.err;
  EXPECT_THAT(gone.err, HasSubstr("git.remote_failed"));
  EXPECT_EQ(reeve({"flow", "list"}).out, "");
}

// ISO-3: a node with `apply` writes to the checkout of its host, so such an execution stays there and is not pushed.
TEST_F(SharedRemote, execution_that_applies_midway_stays_on_its_host) {
  std::string yaml = chain("stays", {{"a", step("a")}, {"ask", "human On?"}, {"b", step("b")}});
  const std::string id_of_a = "  - id: a\n    type: task\n";
  yaml.replace(yaml.find(id_of_a), id_of_a.size(), id_of_a + "    apply: true\n");
  clone_and_commit("stays", yaml);
  const std::string id = begin("stays");
  const std::string question = wait_for_question(a());
  EXPECT_TRUE(is_in_checkout("a.txt"));
  EXPECT_EQ(branches_there(), "");
  ASSERT_EQ(at_b({"approve", "--yes", question}).code, 0);
  EXPECT_EQ(wait_for(id), 0);
  EXPECT_TRUE(eventually([&] { return is_in_checkout("b.txt"); }));
  EXPECT_FALSE(testing::read_text(places()).contains(other().string()));
}

}  // namespace
}  // namespace reeve
