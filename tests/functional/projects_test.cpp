#include "tests/support/projects.h"

#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

// SPEC §7: one daemon per user serves all projects of that user.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::lines_of;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using ::testing::StartsWith;
using testing::Variables;
using testing::Words;

constexpr const char* ask_once = R"(
id: ask
name: Ask
version: "1"
nodes:
  - {id: hold, type: human, label: Hold, human_config: {title: "Go on?"}}
edges: []
entry_point: hold
exit_points: [hold]
)";

class Projects : public testing::ProjectsTest {
 protected:
  // The common daemon's port, opened by this.
  std::string open_port() const {
    const Outcome opened = in("/", {"serve", "--http", "127.0.0.1:0", "--json"});
    EXPECT_EQ(opened.code, 0) << opened.err;
    return testing::parse_object(opened.out).value_or(testing::Members())["url"];
  }
  std::string make_token(const std::string& name, const std::string& scopes) const {
    const Outcome made = in("/", {"token", "create", name, "--scope", scopes});
    EXPECT_EQ(made.code, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }
  // A GET, or with a body a POST; returns the body of the answer.
  static std::string request(const std::string& url, const std::string& token, const std::string& target,
                             const std::string& body = {}) {
    testing::Launch call{.argv = {"curl", "-s", "-H", "Authorization: Bearer " + token, url + target}, .folder = "/"};
    if (!body.empty()) call.argv.insert(call.argv.end(), {"-H", "Content-Type: application/json", "-d", body});
    call.environment = {{"PATH", "/usr/bin:/bin"}};
    return run_program(call).out;
  }
};

TEST_F(Projects, all_projects_share_one_daemon_and_one_id_space) {
  EXPECT_EQ(in(shop(), {"run", "--detach", "--", "true"}).out, "TR-1\n");
  EXPECT_EQ(in(site(), {"run", "--detach", "--", "true"}).out, "TR-2\n");
  EXPECT_EQ(in("/", {"run", "--detach", "--", "true"}).out, "TR-3\n");
  EXPECT_TRUE(fs::exists(common() / "reeve.db"));
  EXPECT_FALSE(fs::exists(shop() / ".reeve/state"));
  EXPECT_FALSE(fs::exists(site() / ".reeve/state"));
}

TEST_F(Projects, records_name_their_project) {
  ask_in(shop());
  const Outcome run = in("/", {"show", "TR-1", "--json"});
  const std::string project = fmt::format(R"("project":{{"name":"shop","path":"{}"}})", shop().string());
  const auto compact = [](std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text;
  };
  EXPECT_THAT(compact(run.out), HasSubstr(project));
  EXPECT_THAT(compact(in("/", {"show", "AP-1", "--json"}).out), HasSubstr(project));
  EXPECT_THAT(in("/", {"runs"}).out, HasSubstr("\t" + shop().string() + "\n"));
  EXPECT_THAT(in("/", {"approvals"}).out, HasSubstr("\t" + shop().string() + "\n"));
  EXPECT_THAT(in("/", {"show", "AP-1"}).out, HasSubstr("project\t" + shop().string()));
}

TEST_F(Projects, a_workflow_names_its_project) {
  scratch().write("shop/.reeve/workflows/ask.yaml", ask_once);
  const Outcome started = in(shop(), {"flow", "run", "ask", "--detach"});
  ASSERT_EQ(started.code, 0) << started.err;
  EXPECT_THAT(in("/", {"flow", "list"}).out, HasSubstr("\t" + shop().string() + "\n"));
  EXPECT_TRUE(eventually([&] { return in("/", {"approvals"}).out.contains("Go on?"); }));
  EXPECT_THAT(in("/", {"approvals"}).out, HasSubstr("\t" + shop().string() + "\n"));
  EXPECT_THAT(in(site(), {"flow", "list", "--here"}).out, IsEmpty());
}

TEST_F(Projects, a_run_in_a_worktree_belongs_to_the_main_checkout) {
  const auto git = [&](const Words& words) {
    testing::Launch call{.argv = {"git", "-c", "user.name=A", "-c", "user.email=a@b.example"}, .folder = shop()};
    call.argv.insert(call.argv.end(), words.begin(), words.end());
    call.environment = {{"HOME", home().string()}, {"PATH", "/usr/bin:/bin"}};
    return run_program(call).code;
  };
  ASSERT_EQ(git({"init", "-q"}), 0);
  ASSERT_EQ(git({"commit", "-q", "--allow-empty", "-m", "first"}), 0);
  const fs::path tree = scratch().path() / "tree";
  ASSERT_EQ(git({"worktree", "add", "-q", tree.string()}), 0);
  ASSERT_EQ(in(tree, {"run", "--", "true"}).code, 0);
  EXPECT_THAT(in("/", {"runs"}).out, EndsWith("\t" + shop().string() + "\n"));
}

TEST_F(Projects, listings_show_all_projects_own_entries_first) {
  ask_in(shop());
  ask_in(site());
  EXPECT_THAT(first_fields(in(shop(), {"approvals"}).out), ::testing::ElementsAre("AP-1", "AP-2"));
  EXPECT_THAT(first_fields(in(site(), {"approvals"}).out), ::testing::ElementsAre("AP-2", "AP-1"));
  EXPECT_THAT(first_fields(in(site(), {"runs"}).out), ::testing::ElementsAre("TR-2", "TR-1"));
  EXPECT_THAT(first_fields(in(shop(), {"runs"}).out), ::testing::ElementsAre("TR-1", "TR-2"));
  EXPECT_THAT(first_fields(in(shop(), {}).out), ::testing::ElementsAre("AP-1", "AP-2"));
}

TEST_F(Projects, executions_are_listed_like_runs) {
  const fs::path own = make_project("lib", "state: project\n");
  for (const fs::path& folder : {shop(), site(), own}) {
    scratch().write(folder.filename() / ".reeve/workflows/ask.yaml", ask_once);
    const Outcome started = in(folder, {"flow", "run", "ask", "--detach"});
    ASSERT_EQ(started.code, 0) << started.err;
  }
  const auto ids = [&](const fs::path& folder, const Words& more) {
    Words words = {"flow", "list"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome listed = in(folder, words);
    EXPECT_EQ(listed.code, 0) << listed.err;
    return first_fields(listed.out);
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(ids("/", {}), ElementsAre("EX-2", "EX-1", "lib/EX-1"));
  EXPECT_THAT(ids(shop(), {}), ElementsAre("EX-1", "EX-2", "lib/EX-1")) << "its own first";
  EXPECT_THAT(ids(site(), {}), ElementsAre("EX-2", "EX-1", "lib/EX-1"));
  EXPECT_THAT(ids(own, {}), ElementsAre("EX-1", "common/EX-2", "common/EX-1"));
  EXPECT_THAT(ids(shop(), {"--here"}), ElementsAre("EX-1"));
  EXPECT_THAT(ids("/", {"--project", "site"}), ElementsAre("EX-2"));
  EXPECT_THAT(ids("/", {"--project", "lib"}), ElementsAre("lib/EX-1"));
  EXPECT_EQ(in("/", {"flow", "list", "--project", "libb"}).code, 3);
  const Outcome shown = in("/", {"flow", "show", "lib/EX-1", "--json"});
  EXPECT_THAT(shown.out, HasSubstr(own.string())) << shown.err;
  EXPECT_EQ(in("/", {"flow", "cancel", "lib/EX-1"}).code, 0);
  EXPECT_THAT(in("/", {"flow", "show", "EX-1"}).out, Not(HasSubstr("cancelled"))) << "another execution";
}

// SPEC §7: the common state folder is where the user's other programs keep their state.
TEST_F(Projects, xdg_state_home_moves_the_common_state) {
  const fs::path base = scratch().path() / "elsewhere";
  const Variables moved = {{"XDG_STATE_HOME", base.string()}};
  EXPECT_EQ(in(shop(), {"run", "--detach", "--", "true"}, moved).out, "TR-1\n");
  EXPECT_TRUE(fs::exists(base / "reeve/reeve.db"));
  EXPECT_TRUE(fs::exists(base / "reeve/known")) << "with the list of state folders";
  EXPECT_FALSE(fs::exists(home() / ".local/state"));
  EXPECT_EQ(in(site(), {"run", "--detach", "--", "true"}, moved).out, "TR-2\n") << "the same daemon";
  EXPECT_THAT(in(shop(), {"runs"}).out, IsEmpty()) << "another state folder";
}

TEST_F(Projects, a_listing_can_be_narrowed_to_one_project) {
  ask_in(shop());
  ask_in(site());
  const auto ids = [&](const fs::path& folder, const Words& words) { return first_fields(in(folder, words).out); };
  EXPECT_THAT(ids(site(), {"runs", "--here"}), ::testing::ElementsAre("TR-2"));
  EXPECT_THAT(ids("/", {"runs", "--project", "shop"}), ::testing::ElementsAre("TR-1"));
  EXPECT_THAT(ids("/", {"approvals", "--project", site().string()}), ::testing::ElementsAre("AP-2"));
  EXPECT_THAT(ids("/", {"--project", "shop"}), ::testing::ElementsAre("AP-1"));
  EXPECT_THAT(ids(shop(), {"--here"}), ::testing::ElementsAre("AP-1"));
  const Outcome unknown = in("/", {"runs", "--project", "shob"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean `shop`?"));
  EXPECT_EQ(in("/", {"runs", "--here"}).code, 2);
  EXPECT_EQ(in(shop(), {"runs", "--here", "--project", "site"}).code, 2);
  const fs::path twin = make_project("elsewhere/shop");
  ASSERT_EQ(in(twin, {"run", "--", "true"}).code, 0);
  EXPECT_THAT(in("/", {"runs", "--project", "shop"}).err,
              AllOf(HasSubstr("2 projects are called"), HasSubstr(twin.string())));
}

// SPEC §7: the common daemon has no project of its own. A token that can only read names the projects with records.
TEST_F(Projects, the_api_reads_the_workflows_of_known_projects_only) {
  scratch().write("shop/.reeve/workflows/ship.yaml", ask_once);
  scratch().write("site/.reeve/workflows/ship.yaml", ask_once);
  ASSERT_EQ(in(shop(), {"run", "--", "true"}).code, 0);
  const std::string url = open_port();
  const auto get = [&](const std::string& token, const std::string& target) { return request(url, token, target); };
  const std::string reader = make_token("reader", "read");
  EXPECT_THAT(get(reader, "/api/workflows?project=" + shop().string()), HasSubstr("ship.yaml"));
  EXPECT_THAT(get(reader, "/api/workflows/ask?project=" + shop().string()), HasSubstr("Go on?"));
  EXPECT_THAT(get(reader, "/api/tools?project=" + shop().string()), HasSubstr("\"items\""));
  EXPECT_THAT(get(reader, "/api/workflows"), AllOf(HasSubstr("`project` is missing"), HasSubstr("/api/projects")));
  const std::string refused = get(reader, "/api/workflows?project=" + site().string());
  EXPECT_THAT(refused, AllOf(HasSubstr("api.forbidden"), Not(HasSubstr("ship"))));
  const auto without_name = [](std::string text) { return text.substr(0, text.find("instance")); };
  EXPECT_EQ(without_name(refused), without_name(get(reader, "/api/workflows?project=/nowhere")))
      << "it cannot tell which folders exist";
  for (const std::string near : {"/", "/.", "/../shop", "%2F"}) {
    EXPECT_THAT(get(reader, "/api/workflows?project=" + shop().string() + near), HasSubstr("api.forbidden")) << near;
  }
  const std::string operates = make_token("operates", "operate");
  EXPECT_THAT(get(operates, "/api/workflows?project=" + site().string()), HasSubstr("ship.yaml"));
}

TEST_F(Projects, a_start_without_a_project_says_so) {
  ASSERT_EQ(in(shop(), {"run", "--", "true"}).code, 0);
  const std::string url = open_port();
  const std::string token = make_token("operates", "operate");
  for (const auto& [target, body] : Variables{{"/api/executions", R"({"workflow":"ship"})"},
                                              {"/api/pipelines", R"({"pipeline":"p","prompt":"x"})"}}) {
    EXPECT_THAT(request(url, token, target, body),
                AllOf(HasSubstr("`project` is missing"), HasSubstr("name one by its absolute path")))
        << target;
  }
}

TEST_F(Projects, a_key_of_the_daemon_in_a_project_is_an_error) {
  const fs::path folder = make_project("shop", "notify:\n  - {on: [failed], command: [evil]}\nstore: sqlite\n");
  const Outcome refused = in(folder, {"run", "--", "true"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("configures the daemon"), HasSubstr("move it to your own config"),
                                 Not(HasSubstr("config trust"))))
      << "trusting a refused key would not help";
  EXPECT_THAT(refused.err, Not(HasSubstr("ignored"))) << "it is refused, not ignored";
  EXPECT_THAT(in(folder, {"doctor"}).out, AllOf(HasSubstr("configures the daemon"), Not(HasSubstr("config trust"))));
  const Outcome trusted = in(folder, {"config", "trust", "--yes"});
  EXPECT_EQ(trusted.code, 2);
  EXPECT_THAT(trusted.err, HasSubstr("error[config.daemon_key]"));
  const Outcome shown = in(folder, {"config", "show"});
  EXPECT_EQ(shown.code, 2);
  EXPECT_THAT(shown.err, AllOf(HasSubstr("error[config.daemon_key]"), HasSubstr(".reeve/config.yaml:1:1"),
                               HasSubstr(".reeve/config.yaml:3:1"), HasSubstr("`state: project`")));
  EXPECT_THAT(in("/", {"runs"}).out, IsEmpty()) << "nothing was started";
}

TEST_F(Projects, a_project_may_keep_its_own_state) {
  const fs::path folder = make_project("shop", "state: project\nsupervision: {max_parallel_runs: 3}\n");
  ASSERT_EQ(in(folder, {"config", "trust", "--yes"}).code, 0);
  EXPECT_EQ(in(folder, {"run", "--detach", "--", "true"}).out, "TR-1\n");
  EXPECT_TRUE(fs::exists(folder / ".reeve/state/reeve.db"));
  EXPECT_THAT(in(folder, {"config", "show", "--origin"}).out, HasSubstr("supervision.max_parallel_runs\t3\t"));
  EXPECT_EQ(in(site(), {"run", "--detach", "--", "true"}).out, "TR-1\n") << "another id space";
}

TEST_F(Projects, an_existing_state_folder_keeps_working) {
  const fs::path folder = shop();
  ASSERT_EQ(in(folder, {"run", "--", "true"}, {{"REEVE_STATE", (folder / ".reeve/state").string()}}).code, 0);
  EXPECT_THAT(in(folder, {"runs"}).out, StartsWith("TR-1\t"));
  EXPECT_FALSE(fs::exists(common() / "reeve.db"));
}

TEST_F(Projects, listings_include_projects_with_their_own_state) {
  const fs::path own = make_project("shop", "state: project\n");
  ask_in(own);
  ask_in(site());
  EXPECT_THAT(first_fields(in(site(), {"approvals"}).out), ::testing::ElementsAre("AP-1", "shop/AP-1"));
  EXPECT_THAT(first_fields(in(site(), {"runs"}).out), ::testing::ElementsAre("TR-1", "shop/TR-1"));
  EXPECT_THAT(first_fields(in("/", {}).out), ::testing::ElementsAre("AP-1", "shop/AP-1"));
  EXPECT_THAT(first_fields(in(own, {"approvals"}).out), ::testing::ElementsAre("AP-1", "common/AP-1"));
  EXPECT_THAT(in("/", {"approvals", "--json"}).out,
              AllOf(HasSubstr(R"("state_folder")"), HasSubstr(R"("approval_id":"shop/AP-1")")));
  const Outcome shown = in("/", {"show", "shop/AP-1"});
  EXPECT_THAT(shown.out, HasSubstr(own.string())) << shown.err;
  // No decision may reach another question than the one that was named.
  EXPECT_THAT(in("/", {"reject", "shop/AP-1", "AP-1"}).err, HasSubstr("belong to different state folders"));
  EXPECT_THAT(in("/", {"--state", common().string(), "reject", "shop/AP-1"}).err, HasSubstr("cannot be combined"));
  EXPECT_THAT(in("/", {"reject", "shop/AP-1"}, {{"REEVE_HOST", "http://127.0.0.1:1"}}).err,
              HasSubstr("cannot be combined"));
  EXPECT_EQ(in("/", {"reject", "shop/AP-1"}).code, 0);
  EXPECT_THAT(first_fields(in("/", {"approvals"}).out), ::testing::ElementsAre("AP-1"));
  EXPECT_THAT(in("/", {"show", "nowhere/AP-1"}).err, HasSubstr("no state folder is called `nowhere`"));
}

TEST_F(Projects, a_project_that_cannot_be_reached_is_named) {
  const fs::path own = make_project("shop", "state: project\n");
  ASSERT_EQ(in(own, {"run", "--", "true"}).code, 0);
  ASSERT_EQ(in(own, {"stop"}).code, 0);
  ASSERT_EQ(in(site(), {"run", "--", "true"}).code, 0);
  const Outcome listed = in(site(), {"runs"});
  EXPECT_EQ(listed.code, 0);
  EXPECT_THAT(listed.err, AllOf(HasSubstr("not included: shop"), HasSubstr("--state")));
  EXPECT_THAT(in(site(), {"runs", "--here"}).err, Not(HasSubstr("not included")));
}

TEST_F(Projects, not_found_names_the_project_that_has_such_an_id) {
  const fs::path own = make_project("shop", "state: project\n");
  ask_in(own);
  ASSERT_EQ(in(site(), {"run", "--", "true"}).code, 0);
  const Outcome missing = in(site(), {"show", "ap-1"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("shop has an AP-1: reeve show shop/AP-1"));
}

// A decision meant for one question never reaches another.
TEST_F(Projects, deciding_commands_name_the_project_that_has_such_an_id) {
  const fs::path own = make_project("shop", "state: project\n");
  ask_in(own);
  ASSERT_EQ(in(site(), {"run", "--", "true"}).code, 0);
  for (const Words& words : {Words{"approve", "AP-1", "--yes"}, {"reject", "AP-1"}, {"answer", "AP-1", "x"}}) {
    const Outcome missing = in(site(), words);
    EXPECT_EQ(missing.code, 3) << missing.err;
    EXPECT_THAT(missing.err, HasSubstr("shop has an AP-1: reeve show shop/AP-1")) << words.front();
  }
  ask_in(site());
  const Outcome unknown = in(site(), {"approve", "AP-9", "--yes"});
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("`reeve approvals` lists what waits"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(in("/", {"show", "TR-9"}).err, Not(HasSubstr("an TR-")));
}

// SPEC §7: a record of a project with its own state is named with its prefix wherever it may be typed again.
TEST_F(Projects, hints_keep_the_prefix_of_an_id) {
  const fs::path own = make_project("shop", "state: project\n");
  ask_in(own);
  ask_in(site());
  testing::Session shown(launch_in("/", {"show", "shop/AP-1"}), testing::Session::Ends::terminal);
  EXPECT_TRUE(shown.wait_for("next: reeve approve shop/AP-1"));
  shown.wait();
  EXPECT_THAT(in("/", {"show", "shop/AP-1", "--json"}).out,
              AllOf(HasSubstr(R"("approval_id":"shop/AP-1")"), HasSubstr(R"("state_folder")")));
  const Outcome refused = in("/", {"approve", "shop/AP-1"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("reeve show shop/AP-1"));
  const Outcome approved = in("/", {"approve", "shop/AP-1", "--confirm=shop/AP-1"});
  EXPECT_EQ(approved.code, 0) << approved.err;
  EXPECT_THAT(approved.out, AllOf(StartsWith("shop/AP-1\tapproved\t"), HasSubstr("\tshop/TR-1\n")));
  EXPECT_THAT(in("/", {"show", "AP-1"}).out, HasSubstr("status\tpending"));
}

TEST_F(Projects, commands_that_wait_keep_the_prefix_of_an_id) {
  const fs::path own = make_project("shop", "state: project\n");
  ask_in(own);
  ask_in(site());
  EXPECT_THAT(in("/", {"show", "shop/AP-1"}).out,
              AllOf(StartsWith("approval_id\tshop/AP-1\n"), HasSubstr("\ntool_run_id\tshop/TR-1\n")));
  EXPECT_THAT(in("/", {"show", "shop/TR-1"}).out,
              AllOf(StartsWith("tool_run_id\tshop/TR-1\n"), HasSubstr("\nasks\tshop/AP-1 ")));
  const Outcome pending = in("/", {"approvals", "wait", "shop/AP-1", "--timeout", "100ms"});
  EXPECT_EQ(pending.code, 124) << pending.err;
  EXPECT_THAT(pending.err, AllOf(HasSubstr("shop/AP-1 asks: "), HasSubstr(" shop/AP-1"), Not(HasSubstr(" AP-1 ")),
                                 HasSubstr("shop/AP-1 is still pending")));
  for (const Words& words : {Words{"wait", "shop/TR-1"}, Words{"logs", "-f", "shop/TR-1"}}) {
    testing::Session waiting(launch_in("/", words), testing::Session::Ends::terminal);
    EXPECT_TRUE(waiting.wait_for("shop/AP-1 asks: ")) << words.front();
    EXPECT_TRUE(waiting.wait_for("reeve approve shop/AP-1")) << words.front();
  }
  const Outcome cancelled = in("/", {"cancel", "shop/TR-1"});
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  EXPECT_THAT(cancelled.out, AllOf(StartsWith("shop/TR-1 "), HasSubstr("\nshop/AP-1\tclosed\t")));
  EXPECT_THAT(in("/", {"show", "AP-1"}).out, HasSubstr("status\tpending"));
}

TEST_F(Projects, commands_that_act_on_a_run_accept_a_prefix) {
  const fs::path own = make_project("shop", "state: project\n");
  const Outcome started = in(own, {"run", "--detach", "--", "sleep", "600"});
  ASSERT_EQ(started.code, 0) << started.err;
  ASSERT_TRUE(eventually([&] { return in(own, {"show", "TR-1"}).out.contains("\npid\t"); }));
  const Outcome limited = in("/", {"limit", "shop/TR-1", "--timeout", "2h"});
  EXPECT_EQ(limited.code, 0) << limited.err;
  EXPECT_THAT(limited.out, StartsWith("shop/TR-1 timeout 2h"));
  const Outcome paused = in("/", {"pause", "shop/TR-1"});
  EXPECT_EQ(paused.code, 0) << paused.err;
  EXPECT_THAT(paused.out, StartsWith("shop/TR-1 paused: "));
  EXPECT_THAT(paused.err, HasSubstr("reeve resume shop/TR-1"));
  EXPECT_THAT(in("/", {"resume", "shop/TR-1"}).out, StartsWith("shop/TR-1 continues: "));
  ASSERT_EQ(in("/", {"cancel", "shop/TR-1", "--kill"}).code, 0);
  EXPECT_EQ(in("/", {"wait", "shop/TR-1"}).code, 130);
  EXPECT_EQ(in(own, {"run", "--", "false"}).code, 1);
  EXPECT_EQ(in("/", {"seen", "shop/TR-2"}).out, "shop/TR-2 dismissed\n");
  EXPECT_EQ(in("/", {"rerun", "shop/TR-2", "--detach"}).out, "shop/TR-3\n");
}

TEST_F(Projects, failures_of_every_state_folder_are_dismissed_together) {
  const fs::path own = make_project("shop", "state: project\n");
  ASSERT_EQ(in(own, {"run", "--", "false"}).code, 1);
  ASSERT_EQ(in(site(), {"run", "--", "false"}).code, 1);
  EXPECT_THAT(first_fields(in(site(), {}).out), ::testing::ElementsAre("TR-1", "shop/TR-1"));
  EXPECT_EQ(in(site(), {"seen", "--all"}).code, 0);
  EXPECT_THAT(in(site(), {}).out, IsEmpty());
}

// SPEC §7, item 3: what waits is shown although nothing runs.
TEST_F(Projects, overview_starts_a_stopped_daemon_in_which_something_waits) {
  const fs::path own = make_project("shop", "state: project\n");
  ask_in(own);
  ASSERT_EQ(in(own, {"stop"}).code, 0);
  const Outcome shown = in("/", {});
  EXPECT_THAT(first_fields(shown.out), ::testing::ElementsAre("shop/AP-1")) << shown.out << shown.err;
  EXPECT_THAT(shown.err, Not(HasSubstr("not included")));
  ASSERT_EQ(in("/", {"reject", "shop/AP-1"}).code, 0);
  ASSERT_EQ(in(own, {"stop"}).code, 0);
  const Outcome quiet = in("/", {});
  EXPECT_THAT(quiet.err, Not(HasSubstr("not included"))) << "nothing is open there";
  EXPECT_FALSE(fs::exists(own / ".reeve/state/reeve.sock")) << "and nothing was started";
}

TEST_F(Projects, a_listing_of_an_unknown_project_says_so) {
  ask_in(shop());
  const Outcome typo = in(scratch().path(), {"runs", "--project", "./shob"});
  EXPECT_EQ(typo.code, 3) << typo.err;
  EXPECT_THAT(typo.err, HasSubstr("project.unknown"));
  const fs::path own = make_project("own", "state: project\n");
  ASSERT_EQ(in(own, {"run", "--", "true"}).code, 0);
  EXPECT_THAT(in("/", {"token", "create", "ci", "--project", "own"}).err, HasSubstr("--state own"));
}

// Otherwise it would create a folder and start a daemon in it, and show nothing.
TEST_F(Projects, a_misspelt_state_is_refused) {
  const fs::path own = make_project("shop", "state: project\n");
  ask_in(own);
  const fs::path folder = site();
  const Outcome slip = in(folder, {"--state", "shpo", "approvals"});
  EXPECT_EQ(slip.code, 2);
  EXPECT_THAT(slip.err, AllOf(HasSubstr("no folder and no project called `shpo`"), HasSubstr("did you mean `shop`?"),
                              HasSubstr("--state ./shpo")));
  EXPECT_FALSE(fs::exists(folder / "shpo"));
  EXPECT_THAT(first_fields(in(folder, {"--state", "shop", "approvals"}).out), ::testing::ElementsAre("AP-1"));
  EXPECT_EQ(in(folder, {"--state", "./new", "run", "--", "true"}).code, 0);
  EXPECT_TRUE(fs::exists(folder / "new/reeve.db")) << "a path means a folder";
}

TEST_F(Projects, an_unknown_project_lists_each_known_one_once) {
  ask_in(shop());
  ask_in(site());
  const Outcome unknown = in("/", {"runs", "--project", "nosuch"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("known: shop, site\n"));
}

TEST_F(Projects, words_of_other_commands_are_not_ids) {
  EXPECT_EQ(in(shop(), {"run", "--", "echo", "feature/TR-12"}).out, "feature/TR-12\n");
}

TEST_F(Projects, a_project_called_common_is_told_apart) {
  const fs::path folder = make_project("common", "state: project\n");
  ask_in(folder);
  ask_in(site());
  const std::string name = scratch().path().filename().string() + "/common/AP-1";
  EXPECT_THAT(first_fields(in(site(), {"approvals"}).out), ::testing::ElementsAre("AP-1", name));
  EXPECT_EQ(in(site(), {"reject", name}).code, 0);
  EXPECT_THAT(first_fields(in(site(), {"approvals"}).out), ::testing::ElementsAre("AP-1"));
}

// APR-11: wherever the state of the project is kept.
TEST_F(Projects, sandbox_hides_every_state_folder_and_protects_every_config) {
  scratch().write("home/.config/reeve/config.yaml",
                  "tools: {kept: {command: [/bin/sh, -c], sandbox: guard}, free: {command: [/bin/sh, -c]}}\n");
  const fs::path own = make_project("own", "state: project\n");
  const fs::path folder = make_project("shop", "{}\n");
  ASSERT_EQ(in(own, {"run", "--", "true"}).code, 0);
  ASSERT_EQ(in(folder, {"run", "--", "true"}).code, 0);
  const auto attempt = [&](const std::string& tool, const fs::path& cwd, const std::string& script) {
    const std::string line = "( " + script + " ) >/dev/null 2>&1 && echo open || echo held";
    return in(folder, {"run", "--tool", tool, "--cwd", cwd.string(), "--", line}).out;
  };
  const auto expect_held = [&](const fs::path& cwd, const std::string& script) {
    EXPECT_EQ(attempt("free", cwd, script), "open\n") << script;
    EXPECT_EQ(attempt("kept", cwd, script), "held\n") << script;
  };
  expect_held(folder, ": >> .reeve/config.yaml");
  for (const char* script : {"cat home/.local/state/reeve/reeve.db", "cat own/.reeve/state/reeve.db",
                             ": >> shop/.reeve/config.yaml", "touch own/.reeve/more"}) {
    expect_held(scratch().path(), script);
  }
}

// APR-11: a folder that was put in the place of a state folder is not asked.
TEST_F(Projects, a_replaced_state_folder_is_not_read) {
  const fs::path own = make_project("shop", "state: project\n");
  ASSERT_EQ(in(own, {"run", "--", "true"}).code, 0);
  ASSERT_EQ(in(own, {"stop"}).code, 0);
  ASSERT_EQ(in(site(), {"run", "--", "true"}).code, 0);
  fs::rename(own / ".reeve/state", own / ".reeve/moved");
  fs::create_directories(own / ".reeve/state");
  scratch().write("shop/.reeve/state/reeve.lock", "");
  EXPECT_THAT(in(site(), {"runs"}).err, HasSubstr("not included: shop"));
}

// RUN-14
TEST_F(Projects, the_limit_for_parallel_runs_is_common) {
  scratch().write("home/.config/reeve/config.yaml", "supervision: {max_parallel_runs: 1}\n");
  const std::string go = (scratch().path() / "go").string();
  const Words waits = {"run", "--detach", "--queue", "--", testing::zoo_binary(), "wait-file", go};
  ASSERT_EQ(in(shop(), waits).out, "TR-1\n");
  ASSERT_TRUE(eventually([&] { return in(shop(), {"show", "TR-1"}).out.contains("status\trunning"); }));
  ASSERT_EQ(in(site(), waits).out, "TR-2\n");
  EXPECT_THAT(in(site(), {"show", "TR-2"}).out, HasSubstr("status\tqueued")) << "that of the other project counts";
  scratch().write("go", "x");
  EXPECT_EQ(in("/", {"wait", "TR-1", "TR-2"}).code, 0);
}

// Item 4: nothing acts on the original on behalf of a copy, with the state in the common folder.
TEST_F(Projects, a_copy_never_decides_for_the_original) {
  const fs::path folder = shop();
  ask_in(folder);
  fs::copy(folder, scratch().path() / "copy", fs::copy_options::recursive);
  const fs::path copy = scratch().path() / "copy";
  EXPECT_THAT(in(copy, {"runs", "--here"}).out, IsEmpty());
  EXPECT_EQ(in(copy, {"run", "--", "true"}).code, 4);
  ASSERT_EQ(in(copy, {"project", "copied", copy.string()}).code, 0);
  EXPECT_EQ(in(copy, {"run", "--", "true"}).code, 0);
  EXPECT_THAT(in(copy, {"runs", "--here"}).out, Not(HasSubstr("TR-1\t")));
  EXPECT_THAT(in(folder, {"show", "AP-1"}).out, HasSubstr("status\tpending"));
}

// SPEC §7: a project is known by its id, not by its path.
TEST_F(Projects, records_follow_a_moved_project) {
  const fs::path folder = shop();
  const std::string script = R"(if [ -n "$AUTO_APPROVAL" ]; then pwd; else exit 90; fi)";
  ASSERT_EQ(in(folder, {"run", "--detach", "--", "sh", "-c", script}).code, 0);
  ASSERT_TRUE(eventually([&] { return in(folder, {"show", "TR-1"}).out.contains("status\twaiting_approval"); }));
  const fs::path moved = scratch().path() / "moved";
  fs::rename(folder, moved);
  const Outcome told = in("/", {"project", "moved", moved.string()});
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(first_fields(in(moved, {"runs", "--here"}).out), ::testing::ElementsAre("TR-1"));
  ASSERT_EQ(in(moved, {"approve", "AP-1", "--yes"}).code, 0);
  EXPECT_EQ(in(moved, {"wait", "TR-1"}).code, 0);
  EXPECT_THAT(in(moved, {"logs", "TR-1"}).out, HasSubstr(moved.string())) << "it continues in the moved folder";
  EXPECT_THAT(in(moved, {"approvals", "--all"}).out, Not(HasSubstr("void")));
}

}  // namespace
}  // namespace reeve
