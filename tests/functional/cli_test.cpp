#include <cctype>
#include <filesystem>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/support/files.h"
#include "tests/support/program.h"

// The built program as a person uses it.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::ScratchFolder;
using ::testing::StartsWith;

constexpr const char* small_workflow = R"(id: small
name: Small
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: coder}}
  - {id: b, type: task, task_config: {role: coder}}
edges:
  - {id: e, source: a, target: b}
)";

class Cli : public ::testing::Test {
 protected:
  Outcome reeve(const std::vector<std::string>& words, const std::string& input = {},
                std::vector<std::pair<std::string, std::string>> more = {}) {
    testing::Launch launch{.argv = {testing::reeve_binary()}, .folder = scratch_.path(), .input = input};
    launch.argv.insert(launch.argv.end(), words.begin(), words.end());
    launch.environment = {
        {"HOME", (scratch_.path() / "home").string()}, {"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
    launch.environment.insert(launch.environment.end(), more.begin(), more.end());
    return testing::run_program(launch);
  }

  ScratchFolder scratch_;
};

TEST_F(Cli, version_prints_one_line_and_json) {
  const Outcome outcome = reeve({"version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, ContainsRegex("^reeve [0-9]+\\.[0-9]+\\.[0-9]+\n$"));
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(reeve({"--version"}).out, outcome.out);
  EXPECT_THAT(reeve({"version", "--json"}).out, StartsWith("{\"version\":\""));
}

TEST_F(Cli, without_arguments_suggests_what_to_do_next) {
  Outcome outcome = reeve({});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("reeve demo"), HasSubstr("reeve init")));
  outcome = reeve({"init"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("reeve demo"));
  outcome = reeve({});
  EXPECT_THAT(outcome.out, HasSubstr("is a Reeve project"));
  EXPECT_EQ(
      reeve({"--json"}).out,
      "{\"daemon\":false,\"counts\":{\"waiting_approval\":0,\"stalled\":0,\"failed\":0,\"paused\":0,\"running\":0,"
      "\"queued\":0,\"not_applied\":0},\"items\":[]}\n");
}

TEST_F(Cli, help_starts_with_examples_and_lists_every_command) {
  const Outcome all = reeve({"--help"});
  EXPECT_EQ(all.code, 0);
  for (const char* command :
       {"run", "runs", "show", "logs", "attach", "cancel", "wait", "events", "demo", "init", "flow validate",
        "flow graph", "run-graph", "config show", "doctor", "serve", "stop", "completion", "version"}) {
    EXPECT_THAT(all.out, HasSubstr(command));
    std::vector<std::string> words;
    for (std::string rest = command; !rest.empty();) {
      const std::size_t end = rest.find(' ');
      words.push_back(rest.substr(0, end));
      rest = end == std::string::npos ? "" : rest.substr(end + 1);
    }
    std::vector<std::string> brief = words;
    brief.emplace_back("-h");
    words.emplace_back("--help");
    const Outcome full = reeve(words);
    EXPECT_EQ(full.code, 0);
    EXPECT_LT(full.out.find("Examples"), full.out.find("Usage")) << command;
    EXPECT_LE(reeve(brief).out.size(), full.out.size());
  }
  EXPECT_EQ(reeve({"help", "flow", "graph"}).out, reeve({"flow", "graph", "--help"}).out);
  EXPECT_EQ(reeve({"flow", "-h"}).code, 0);
}

struct Mistake {
  std::vector<std::string> words;
  std::string message;
  std::string hint;
};

TEST_F(Cli, usage_errors_come_with_a_suggestion) {
  const std::vector<Mistake> mistakes = {
      {{"flwo"}, "unknown command `reeve flwo`", "did you mean `reeve flow`?"},
      {{"flow", "validat", "x"}, "unknown command `reeve flow validat`", "did you mean `reeve flow validate`?"},
      {{"flow"},
       "`reeve flow` needs a subcommand",
       "one of: apply, cancel, diff, graph, list, retry, run, schema, show, validate"},
      {{"flow", "graph", "x", "--fromat", "dot"}, "has no option `--fromat`", "did you mean `--format`?"},
      {{"flow", "graph", "x", "--format", "mermaidd"},
       "`mermaidd` is not a valid value for `--format`",
       "did you mean `mermaid`?"},
      {{"flow", "graph", "x", "--format=png"},
       "`png` is not a valid value for `--format`",
       "one of: text, list, mermaid, dot"},
      {{"flow", "graph", "x", "--format"}, "`--format` needs a value", "help: reeve flow graph -h"},
      {{"flow", "validate"}, "FILE is missing", "a workflow file"},
      {{"flow", "validate", "a", "b"}, "unexpected argument `b`", ""},
      {{"run-graph", "x"}, "`--workflow-id` is missing", "add --workflow-id LABEL"},
      {{"completion", "tcsh"}, "`tcsh` is not a valid value for SHELL", "bash"},
      {{"config", "show", "--color", "blue"}, "`blue` is not a valid value for `--color`", "auto"},
      {{"--nonsense"}, "unknown option `--nonsense`", ""},
      {{"version", "--jsn"}, "has no option `--jsn`", "did you mean `--json`?"},
      {{"flow", "graph", "x", "--columns", "ten"}, "--columns must be 40 to ", ""},
      {{"x\x1b[2J"}, "\\x1b[2J", ""},
      {{"run-graph", "x", "--workflow-id=", "--validate-only"}, "`--workflow-id` needs a value", ""},
      {{"version", "--json=false"}, "`--json` takes no value", ""},
      {{"--jsno"}, "unknown option `--jsno`", "did you mean `--json`?"},
      {{"help", "flo"}, "unknown command `flo`", "did you mean `reeve flow`?"},
      {{"--state"}, "`--state` needs a value", ""},
      {{"run"}, "no command to run", "reeve run -- COMMAND"},
      {{"run", "-j2", "--", "make"}, "has no option `-j2`", "own options after `--`"},
      {{"run", "make"}, "put the command after `--`: reeve run -- make", ""},
      {{"run", "--timeout", "soon", "--", "true"},
       "`soon` is not a valid value for `--timeout`",
       "90s, 5m, 2h, 3d, or off"},
      {{"run", "--on-prompt", "ask", "--", "true"}, "`ask` is not a valid value for `--on-prompt`", "answer=TEXT"},
      {{"run", "--env", "A", "--", "true"}, "`A` is not a valid value for `--env`", "NAME=VALUE"},
      {{"run", "--execution", "TR-1", "--", "true"}, "`TR-1` is not a valid value for `--execution`", "EX-9"},
      {{"runs", "--status", "runing"}, "`runing` is not a valid value for `--status`", "did you mean `running`?"},
      {{"runs", "--limit", "0"}, "--limit must be 1 to 10000", ""},
      {{"logs"}, "which run? Give an id (TR-17) or --all", "reeve logs --all"},
      {{"events", "--since", "-1x"}, "is not a valid event number", "0 for all"},
      // Commands of other tools.
      {{"ps"}, "unknown command `reeve ps`", "`reeve runs` lists runs"},
      {{"status", "EX-9"}, "unknown command `reeve status`", "`reeve flow show EX-9`"},
      {{"kill", "-9", "tr-5"}, "unknown command `reeve kill`", "`reeve cancel TR-5`"},
      {{"retry", "EX-9"}, "unknown command `reeve retry`", "`reeve flow retry EX-9`"},
      {{"watch", "TR-5"}, "unknown command `reeve watch`", "`reeve logs -f TR-5`"},
      {{"inbox"}, "unknown command `reeve inbox`", "`reeve approvals`"},
      {{"rm", "TR-5"}, "unknown command `reeve rm`", "records are kept"},
      {{"delete", "TR-5"}, "unknown command `reeve delete`", "`reeve prune`"},
      {{"history"}, "unknown command `reeve history`", "`reeve flow list`"},
      {{"dashboard"}, "unknown command `reeve dashboard`", "`reeve web`"},
      {{"flow", "ls"}, "unknown command `reeve flow ls`", "`reeve flow list`"},
      {{"flow", "rm", "EX-9"}, "unknown command `reeve flow rm`", "`reeve prune`"},
      {{"flow", "logs", "EX-9"}, "unknown command `reeve flow logs`", "`reeve logs EX-9`"},
      {{"help", "ps"}, "unknown command `ps`", "`reeve runs`"},
  };
  for (const Mistake& mistake : mistakes) {
    const Outcome outcome = reeve(mistake.words);
    EXPECT_EQ(outcome.code, 2) << mistake.message;
    EXPECT_EQ(outcome.out, "") << mistake.message;
    EXPECT_THAT(outcome.err, HasSubstr(mistake.message));
    EXPECT_THAT(outcome.err, HasSubstr(mistake.hint));
    EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
  }
}

TEST_F(Cli, common_options_may_precede_the_command) {
  scratch_.write("w.yaml", small_workflow);
  EXPECT_EQ(reeve({"--json", "flow", "validate", "w.yaml"}).out, reeve({"flow", "validate", "w.yaml", "--json"}).out);
  EXPECT_EQ(reeve({"--color", "never", "version"}).code, 0);
}

TEST_F(Cli, common_options_apply_to_usage_errors) {
  const Outcome wrong = reeve({"flow", "valdate", "--json"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err, "");
  EXPECT_THAT(wrong.out, HasSubstr(R"("status":400,"code":"cli.usage")"));
  EXPECT_THAT(wrong.out, HasSubstr("did you mean `reeve flow validate`?"));
  EXPECT_THAT(reeve({"--version", "--json"}).out, StartsWith("{\"version\":"));
  EXPECT_EQ(reeve({"--color=never", "--help"}).code, 0);
  EXPECT_THAT(reeve({"flow", "--color=always"}).err, HasSubstr("\x1b["));
}

// A failed write of hints to stderr does not affect the result.
TEST_F(Cli, works_without_stderr) {
  scratch_.write("w.yaml", small_workflow);
  const Outcome outcome =
      testing::run_program({.argv = {"sh", "-c",
                                     testing::reeve_binary() + " flow validate w.yaml 2>/dev/full && " +
                                         testing::reeve_binary() + " flow validate w.yaml 2>&-"},
                            .folder = scratch_.path(),
                            .environment = {{"PATH", "/usr/bin:/bin"}}});
  EXPECT_EQ(outcome.code, 0);
}

// SPEC §7: the config comes from the main checkout, never from a worktree.
TEST_F(Cli, linked_worktree_uses_the_main_checkouts_config) {
  scratch_.write("main/.reeve/config.yaml", "tools: {t: {command: [t], timeout: 3m}}\n");
  scratch_.write("main/.git/worktrees/EX-1/gitdir", (scratch_.path() / "tree/.git").string() + "\n");
  scratch_.write("tree/.git", "gitdir: " + (scratch_.path() / "main/.git/worktrees/EX-1").string() + "\n");
  scratch_.write("tree/.reeve/config.yaml", "tools: {t: {command: [t], timeout: 99m}}\n");
  scratch_.write("tree/deep/down/x", "");
  for (const char* folder : {"tree", "tree/deep/down", "main"}) {
    const Outcome outcome = testing::run_program(
        {.argv = {testing::reeve_binary(), "config", "show", "--origin"}, .folder = scratch_.path() / folder});
    EXPECT_THAT(outcome.out, HasSubstr("tools.t.timeout\t3m\t")) << folder;
  }
}

// A folder from an archive must not pass for a worktree of another project.
TEST_F(Cli, a_worktree_that_its_repository_does_not_know_is_not_one) {
  scratch_.write("main/.reeve/config.yaml", "tools: {t: {command: [t], timeout: 3m}}\n");
  scratch_.write("main/.git/worktrees/EX-1/gitdir", (scratch_.path() / "elsewhere/.git").string() + "\n");
  scratch_.write("tree/.git", "gitdir: " + (scratch_.path() / "main/.git/worktrees/EX-1").string() + "\n");
  scratch_.write("tree/.reeve/config.yaml", "tools: {t: {command: [t], timeout: 99m}}\n");
  const Outcome outcome =
      testing::run_program({.argv = {testing::reeve_binary(), "config", "show"}, .folder = scratch_.path() / "tree"});
  EXPECT_THAT(outcome.out, HasSubstr("tools.t.timeout\t99m\n"));
}

// A bare repository has no main checkout: people work in its worktrees.
TEST_F(Cli, a_worktree_of_a_bare_repository_is_a_project) {
  scratch_.write("tree/.git", "gitdir: " + (scratch_.path() / "repo.git/worktrees/tree").string() + "\n");
  scratch_.write("tree/.reeve/config.yaml", "tools: {t: {command: [t], timeout: 7m}}\n");
  scratch_.write(".reeve/config.yaml", "tools: {t: {command: [t], timeout: 99m}}\n");
  const Outcome outcome =
      testing::run_program({.argv = {testing::reeve_binary(), "config", "show"}, .folder = scratch_.path() / "tree"});
  EXPECT_THAT(outcome.out, HasSubstr("tools.t.timeout\t7m\n"));
}

TEST_F(Cli, flow_validate_accepts_a_good_file) {
  scratch_.write("w.yaml", small_workflow);
  const Outcome outcome = reeve({"flow", "validate", "w.yaml"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("✓ w.yaml  Small (small 1.0.0)"));
  EXPECT_THAT(outcome.out, HasSubstr("2 nodes, 1 edge, 2 levels, 0 loops"));
  EXPECT_EQ(outcome.err,
            "note: no project config found; roles and gates were not checked\n"
            "next: reeve flow graph w.yaml\n");
  const Outcome json = reeve({"flow", "validate", "w.yaml", "--json"});
  EXPECT_THAT(json.out, HasSubstr(R"("workflow_id":"small")"));
  EXPECT_THAT(json.out, HasSubstr(R"("levels":[["a"],["b"]])"));
  EXPECT_EQ(json.err, "");
}

TEST_F(Cli, flow_validate_reads_standard_input) {
  EXPECT_EQ(reeve({"flow", "validate", "-"}, small_workflow).code, 0);
  const Outcome outcome = reeve({"flow", "validate", "-"}, "id: [\n");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("<stdin>:"));
}

// GRF-1, UX
TEST_F(Cli, flow_validate_reports_all_errors) {
  scratch_.write(
      "w.yaml",
      "id: w\nname: W\nentry_point: a\nnodes:\n  - {id: a, type: taks}\nedges:\n  - {id: e, source: a, target: b}\n");
  const Outcome outcome = reeve({"flow", "validate", "w.yaml"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("error[flow.unknown_node_type]: unknown node type `taks`\n  w.yaml:5:19\n"));
  EXPECT_THAT(outcome.err, HasSubstr("error[flow.unknown_target]"));
  EXPECT_THAT(outcome.err, HasSubstr("2 errors, 0 warnings. Nothing was started.\n"));
  const Outcome json = reeve({"flow", "validate", "w.yaml", "--json"});
  EXPECT_EQ(json.code, 2);
  EXPECT_EQ(json.err, "");
  EXPECT_THAT(json.out, StartsWith(R"({"type":"urn:reeve:problem:flow.invalid")"));
  EXPECT_THAT(json.out, HasSubstr(R"("line":5,"column":19,"length":4,"hint":"did you mean `task`?")"));
}

TEST_F(Cli, unreadable_files_are_reported) {
  EXPECT_EQ(reeve({"flow", "validate", "gone.yaml"}).code, 3);
  EXPECT_THAT(reeve({"flow", "validate", "gone.yaml"}).err,
              AllOf(HasSubstr("error[file.not_found]: cannot read `gone.yaml`"), HasSubstr(".reeve/workflows/")));
  EXPECT_THAT(reeve({"flow", "validate", "gone.yaml", "--json"}).out, HasSubstr(R"("code":"file.not_found")"));
  EXPECT_EQ(reeve({"flow", "validate", "."}).code, 2);
  EXPECT_THAT(reeve({"flow", "validate", "."}).err, HasSubstr("it is a folder"));
  EXPECT_EQ(reeve({"flow", "validate", "/dev/zero"}).code, 2);
  EXPECT_EQ(reeve({"flow", "validate", "w.yaml/x"}).code, 3);
  const fs::path pipe = scratch_.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(reeve({"flow", "validate", "pipe"}).code, 2) << "a pipe that nobody writes to is empty, not a hang";
}

// S6 §1.5
TEST_F(Cli, run_graph_validates_with_the_legacy_output) {
  scratch_.write("w.yaml", small_workflow);
  const Outcome outcome = reeve({"run-graph", "w.yaml", "--workflow-id", "W1", "--validate-only"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "Workflow validation passed\n  Nodes: 2\n  Edges: 1\n");
  EXPECT_THAT(reeve({"run-graph", "w.yaml", "--workflow-id=W1", "--validate-only", "--json"}).out,
              HasSubstr(R"("label":"W1")"));
}

TEST_F(Cli, flow_graph_draws_every_format) {
  scratch_.write("w.yaml", small_workflow);
  EXPECT_THAT(reeve({"flow", "graph", "w.yaml"}).out, HasSubstr("▼"));
  EXPECT_THAT(reeve({"flow", "graph", "w.yaml", "--ascii"}).out, Not(HasSubstr("▼")));
  EXPECT_THAT(reeve({"flow", "graph", "w.yaml", "--format", "mermaid"}).out, HasSubstr("flowchart TD"));
  EXPECT_THAT(reeve({"flow", "graph", "w.yaml", "--format", "dot"}).out, StartsWith("digraph \"small\" {"));
  EXPECT_THAT(reeve({"flow", "graph", "w.yaml", "--format", "list"}).out, HasSubstr("→ b"));
  EXPECT_THAT(reeve({"flow", "graph", "w.yaml", "--json"}).out, HasSubstr(R"("critical_path":["a","b"])"));
}

TEST_F(Cli, dumb_terminal_gets_ascii) {
  scratch_.write("w.yaml", small_workflow);
  for (const auto& setting : std::vector<std::pair<std::string, std::string>>{{"TERM", "dumb"}, {"LC_ALL", "C"}}) {
    EXPECT_THAT(reeve({"flow", "graph", "w.yaml"}, "", {setting}).out, Not(HasSubstr("▼"))) << setting.first;
  }
}

// UX: colour only on a terminal, unless asked for.
TEST_F(Cli, colour_follows_flag_then_environment_then_terminal) {
  const auto has_color = [&](const std::vector<std::string>& words,
                             const std::vector<std::pair<std::string, std::string>>& more) {
    return reeve(words, "", more).err.find('\x1b') != std::string::npos;
  };
  const std::vector<std::string> wrong = {"flow", "validate", "gone"};
  const std::vector<std::string> always = {"flow", "validate", "gone", "--color=always"};
  const std::vector<std::string> never = {"flow", "validate", "gone", "--color=never"};
  EXPECT_FALSE(has_color(wrong, {}));
  EXPECT_TRUE(has_color(always, {}));
  EXPECT_TRUE(has_color(always, {{"NO_COLOR", "1"}}));
  EXPECT_TRUE(has_color(wrong, {{"CLICOLOR_FORCE", "1"}}));
  EXPECT_FALSE(has_color(never, {{"CLICOLOR_FORCE", "1"}}));
  EXPECT_FALSE(has_color(wrong, {{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}));
}

TEST_F(Cli, init_writes_valid_files_and_keeps_existing_ones) {
  const Outcome first = reeve({"init"});
  EXPECT_EQ(first.code, 0);
  EXPECT_THAT(first.out, HasSubstr("✓ .reeve/config.yaml"));
  EXPECT_EQ(reeve({"config", "show"}).code, 0);
  EXPECT_EQ(reeve({"flow", "validate", ".reeve/workflows/example.yaml"}).code, 0);
  scratch_.write(".reeve/config.yaml", "store: sqlite # mine\n");
  fs::remove(scratch_.path() / ".reeve/.gitignore");
  const Outcome second = reeve({"init", "--json"});
  EXPECT_EQ(second.out,
            R"({"created":[".reeve/.gitignore"],"kept":[".reeve/config.yaml",".reeve/workflows/hello.yaml",)"
            R"(".reeve/workflows/example.yaml",".reeve/schema/config.json",".reeve/schema/workflow.json"]})"
            "\n");
  EXPECT_EQ(testing::read_text(scratch_.path() / ".reeve/config.yaml"), "store: sqlite # mine\n");
  for (const auto& entry : fs::recursive_directory_iterator(scratch_.path() / ".reeve")) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr("draft")));
  }
}

// With a config that does not name their roles, the workflows could not run.
TEST_F(Cli, init_beside_an_own_config_writes_no_workflows) {
  scratch_.write(".reeve/config.yaml", "store: sqlite\n");
  const Outcome outcome = reeve({"init"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_FALSE(fs::exists(scratch_.path() / ".reeve/workflows/hello.yaml"));
  EXPECT_TRUE(fs::exists(scratch_.path() / ".reeve/schema/workflow.json"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("hello")));
}

// The schema that editors read is the one of this program, and the files name it.
TEST_F(Cli, init_stores_the_schemas_that_its_files_name) {
  ASSERT_EQ(reeve({"init"}).code, 0);
  const fs::path folder = scratch_.path() / ".reeve";
  const std::string mark = "# yaml-language-server: $schema=";
  for (const auto& [file, command] : std::map<std::string, std::string>{
           {"config.yaml", "config"}, {"workflows/hello.yaml", "flow"}, {"workflows/example.yaml", "flow"}}) {
    const std::string text = testing::read_text(folder / file);
    ASSERT_TRUE(text.starts_with(mark)) << file;
    const std::string schema = text.substr(mark.size(), text.find('\n') - mark.size());
    EXPECT_EQ(testing::read_text((folder / file).parent_path() / schema), reeve({command, "schema"}).out) << file;
  }
}

// With every commented key, the config that `init` writes is still valid.
TEST_F(Cli, uncommented_init_config_is_valid) {
  ASSERT_EQ(reeve({"init"}).code, 0);
  std::string text = testing::read_text(scratch_.path() / ".reeve/config.yaml");
  std::string bare;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    at = end + 1;
    // "# key: …" and "#   key: …" are config, "# Words …" are not.
    const bool is_key = line.starts_with("# ") && std::islower(static_cast<unsigned char>(line[2])) != 0 &&
                        line.substr(0, line.find(' ', 2)).ends_with(':') && !line.contains("$schema=");
    const bool is_config = line.starts_with("#   ") || is_key;
    if (is_config || !line.starts_with('#')) bare += line.substr(is_config ? 2 : 0) + "\n";
  }
  scratch_.write(".reeve/config.yaml", bare);
  const Outcome outcome = reeve({"config", "show"});
  EXPECT_EQ(outcome.code, 0) << outcome.err << bare;
  EXPECT_THAT(outcome.out, HasSubstr("roles.implementer.tool\tscript\n"));
  EXPECT_THAT(outcome.out, HasSubstr("tools.claude.on_stall\tmark\n"));
  EXPECT_THAT(outcome.out, HasSubstr("gates.test_gate.timeout\t10m\n"));
  EXPECT_THAT(outcome.out, HasSubstr("policies.roles.mayor.git_commit\t"));
}

// DESIGN §1: a client inside a run starts no daemon.
TEST_F(Cli, starts_no_daemon_inside_a_run) {
  const Outcome outcome = reeve({"runs", "--state", "./s"}, "", {{"REEVE_RUN_ID", "TR-1"}});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("clients inside a run do not start one"));
  EXPECT_FALSE(fs::exists(scratch_.path() / "s"));
}

TEST_F(Cli, overview_stop_and_doctor_start_no_daemon_in_an_unused_folder) {
  EXPECT_THAT(reeve({"--json", "--state", "./s"}).out,
              AllOf(HasSubstr(R"("daemon":false)"), HasSubstr(R"("items":[])")));
  EXPECT_THAT(reeve({"--state", "./s"}).out, HasSubstr("reeve demo"));
  EXPECT_EQ(reeve({"stop", "--state=./s"}).out, "no daemon is running here\n");
  EXPECT_THAT(reeve({"stop", "--state=./s", "--json"}).out, HasSubstr(R"("was_running":false)"));
  EXPECT_THAT(reeve({"doctor", "--state=./s"}).out, HasSubstr("daemon\tok\tnot running"));
  EXPECT_THAT(reeve({"doctor", "--state=./s"}).out, HasSubstr("git\tok\t/"));
  EXPECT_FALSE(fs::exists(scratch_.path() / "s"));
}

// LOG, STO: the library's known bug and a damaged file are reported; the checks change nothing.
TEST_F(Cli, doctor_checks_the_database) {
  EXPECT_THAT(reeve({"doctor", "--state=./s"}).out, HasSubstr("(not created yet)"));
  const bool has_bug = ::sqlite3_libversion_number() / 1'000 == 3'040;
  EXPECT_THAT(reeve({"doctor", "--state=./s"}).out, HasSubstr(has_bug ? "sqlite\twarn\t3.40" : "sqlite\t"));
  fs::create_directory(scratch_.path() / "s");
  fs::permissions(scratch_.path() / "s", fs::perms::owner_all);
  const fs::path file = scratch_.path() / "s/reeve.db";
  sqlite3* database = nullptr;
  ASSERT_EQ(::sqlite3_open(file.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(::sqlite3_exec(
                database,
                "PRAGMA journal_mode=WAL; CREATE TABLE t (a PRIMARY KEY, b); WITH RECURSIVE n(x) AS (SELECT 1 "
                "UNION ALL SELECT x + 1 FROM n WHERE x < 2000) INSERT INTO t SELECT x, hex(randomblob(40)) FROM n;",
                nullptr, nullptr, nullptr),
            SQLITE_OK);
  ::sqlite3_close(database);
  const Outcome sound = reeve({"doctor", "--state=./s"});
  EXPECT_THAT(sound.out, AllOf(HasSubstr("database\tok\t"), HasSubstr("quick_check found no errors")));
  // Overwrite a page in the middle.
  const std::string bytes = testing::read_text(file);
  std::string broken = bytes;
  for (std::size_t i = 5 * 4096; i < 7 * 4096; ++i) broken[i] = 'x';
  scratch_.write("s/reeve.db", broken);
  const Outcome damaged = reeve({"doctor", "--state=./s"});
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.out, AllOf(HasSubstr("database\tfail\t"), HasSubstr("is damaged"), HasSubstr(".recover")));
  EXPECT_EQ(testing::read_text(file), broken);
  fs::remove(file);
  fs::create_symlink("/etc/passwd", file);
  EXPECT_THAT(reeve({"doctor", "--state=./s"}).out, HasSubstr("database\tfail\t"));
}

TEST_F(Cli, doctor_names_the_fix) {
  scratch_.write("s/reeve.lock", "");
  const Outcome outcome = reeve({"doctor", "--state", "./s"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("reeve state adopt "));
  EXPECT_THAT(reeve({"doctor", "--state", "./s", "--json"}).out,
              HasSubstr(R"({"name":"state folder","status":"fail","detail":)"));
}

// SPEC §7: a config that prevents a daemon from starting is reported by doctor.
TEST_F(Cli, doctor_checks_the_config) {
  scratch_.write(".reeve/config.yaml", "tools: {a: {command: [a]}}\n");
  EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("config\tok\tvalid"));
  scratch_.write(".reeve/config.yaml", "tools:\n  a: {comand: [a]}\n");
  const Outcome outcome = reeve({"doctor"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("config\tfail\t"), HasSubstr("config.yaml:2: "), HasSubstr("`comand`"),
                                 HasSubstr("reeve config show")));
}

TEST_F(Cli, init_reports_an_unwritable_folder) {
  scratch_.write(".reeve", "a file where the folder belongs");
  const Outcome outcome = reeve({"init"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("error[file.unwritable]"));
}

TEST_F(Cli, config_show_names_the_origin_of_values) {
  scratch_.write(".reeve/config.yaml", "log: {rotate_keep: 3}\nstate: project\n");
  scratch_.write("home/.config/reeve/config.yaml", "supervision:\n  lease: 20s\n");
  scratch_.write("sub/folder/x", "");
  ASSERT_EQ(reeve({"config", "trust", "--yes"}).code, 0);
  const Outcome outcome = reeve({"config", "show", "--origin", "--set", "supervision.max_parallel_runs=2"}, "",
                                {{"REEVE_STORE", "postgresql://u:pw@h/d"}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("log.rotate_keep\t3\t.reeve/config.yaml:1\n"));
  EXPECT_THAT(outcome.out, HasSubstr("supervision.lease\t20s\t" +
                                     (scratch_.path() / "home/.config/reeve/config.yaml").string() + ":2\n"));
  EXPECT_THAT(outcome.out, HasSubstr("supervision.max_parallel_runs\t2\t--set supervision.max_parallel_runs\n"));
  EXPECT_THAT(outcome.out, HasSubstr("store\tpostgresql://u:***@h/d\tREEVE_STORE\n")) << "a password is not shown";
  EXPECT_THAT(outcome.out, HasSubstr("log.rotate_size\t64MiB\tdefault\n"));
}

// LOG-4
TEST_F(Cli, config_show_hides_secrets) {
  scratch_.write(
      ".reeve/config.yaml",
      "tools:\n  t:\n    command: [t]\n    secrets: [PIN]\n    env: {API_KEY: hunter2, PIN: '12345', PLAIN: seen}\n"
      "notify: [{on: [failed], webhook: 'https://u:hunter2@h/x?token=hunter2'}]\n"
      "store: postgresql://u@h/d?password=hunter2\n"
      "state: project\n");
  // Before and after it is trusted: ignored keys are listed too.
  for (const std::vector<std::string>& words : {std::vector<std::string>{"config", "show", "--origin"},
                                                {"config", "show", "--json"},
                                                {"config", "trust", "--yes"},
                                                {"config", "show", "--origin"},
                                                {"config", "show", "--json"}}) {
    const Outcome outcome = reeve(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("hunter2")));
    if (words[1] == "trust") continue;
    EXPECT_THAT(outcome.out, Not(HasSubstr("12345")));
    EXPECT_THAT(outcome.out, HasSubstr("seen"));
  }
}

TEST_F(Cli, config_show_refuses_a_broken_config) {
  scratch_.write(".reeve/config.yaml", "stor: sqlite\n");
  const Outcome outcome = reeve({"config", "show"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean `store`?"));
  EXPECT_THAT(reeve({"config", "show", "--json"}).out, HasSubstr(R"("code":"config.invalid")"));
}

TEST_F(Cli, flow_validate_uses_the_config_of_the_files_project) {
  scratch_.write("p/.reeve/config.yaml", "gates: {test_gate: {command: [pytest]}}\n");
  scratch_.write("p/w.yaml",
                 "id: w\nname: W\nentry_point: a\nnodes:\n  - {id: a, type: gate, gate_config: {gate_type: "
                 "tset_gate}}\nedges: []\n");
  scratch_.write("w.yaml", testing::read_text(scratch_.path() / "p/w.yaml"));
  EXPECT_THAT(reeve({"flow", "validate", "p/w.yaml"}).err, HasSubstr("did you mean `test_gate`?"));
  EXPECT_EQ(reeve({"flow", "validate", "w.yaml"}).code, 0) << "outside a project there is nothing to hold it against";
  scratch_.write("p/.reeve/config.yaml", "gatse: {}\n");
  const Outcome both = reeve({"flow", "validate", "p/w.yaml"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("p/.reeve/config.yaml:1:1"));
}

// GRF-11
TEST_F(Cli, subgraphs_are_found_in_the_project_and_next_to_the_file) {
  const std::string parent =
      "id: p\nname: P\nentry_point: a\nnodes:\n  - {id: a, type: subgraph, subgraph_config: {workflow_name: "
      "small}}\nedges: []\n";
  scratch_.write("w.yaml", parent);
  EXPECT_THAT(reeve({"flow", "validate", "w.yaml"}).err, HasSubstr("flow.unknown_subgraph"));
  scratch_.write("child.yaml", small_workflow);
  EXPECT_EQ(reeve({"flow", "validate", "w.yaml"}).code, 0);
  fs::remove(scratch_.path() / "child.yaml");
  scratch_.write(".reeve/workflows/any.yaml", small_workflow);
  EXPECT_EQ(reeve({"flow", "validate", "w.yaml"}).code, 0);
}

TEST_F(Cli, failed_write_to_stdout_exits_1) {
  scratch_.write("w.yaml", small_workflow);
  // The first prints nothing else, the second a hint after its result.
  for (const char* command : {"graph", "validate"}) {
    const Outcome outcome = testing::run_program({.argv = {testing::reeve_binary(), "flow", command, "w.yaml"},
                                                  .folder = scratch_.path(),
                                                  .out_file = "/dev/full"});
    EXPECT_EQ(outcome.code, 1) << command;
    EXPECT_THAT(outcome.err, HasSubstr("error[cli.output]"));
  }
}

}  // namespace
}  // namespace reeve
