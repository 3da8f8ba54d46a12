#include "spec/config_file.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "json/describe.h"
#include "json/encode.h"
#include "view/problem_text.h"

namespace reeve::spec {
namespace {

std::shared_ptr<const Source> file(const char* name, std::string text) {
  return std::make_shared<const Source>(name, std::move(text));
}

LoadedConfig load(ConfigSources sources) {
  sources.is_trusted = [](const std::string&) { return true; };
  auto loaded = parse_config(sources);
  if (loaded) return std::move(*loaded);
  ADD_FAILURE() << view::problems_text(loaded.error(), {});
  return {};
}

std::string first_code(ConfigSources sources) {
  sources.is_trusted = [](const std::string&) { return true; };
  const auto loaded = parse_config(sources);
  return loaded ? "" : loaded.error().list().front().code.text();
}

ConfigEntry entry_of(const LoadedConfig& loaded, std::string_view path) {
  for (const ConfigEntry& entry : loaded.entries()) {
    if (entry.path == path) return entry;
  }
  ADD_FAILURE() << "no entry " << path;
  return {};
}

// The block of SPEC §7 with a value for every key.
constexpr const char* every_key = R"(
store: sqlite
tools:
  claude: {command: [claude, -p, "{prompt}"], mode: pipe, timeout: 30m, no_output_timeout: 5m, on_stall: mark, liveness: activity, on_prompt: approve,
           resume: rerun, resume_args: [], on_interrupted: ask, pass_env: [ANTHROPIC_API_KEY], env: {}, secrets: [ANTHROPIC_API_KEY], headless: safe, sandbox: none,
           failure_markers: [], kill_grace: 5s, result_grace: 30s, keep_descendants: false, output_cap: 1GiB}
roles:
  implementer: {tool: claude, prompt: "Implement this: {input}", timeout: 1h, isolation: worktree, model: m, temperature: 0.2, max_tokens: 4096}
gates:
  test_gate: {command: [pytest, -q], timeout: 10m, env: {}, working_dir: ., depends_on: [], severity: error, on_fail: block, sandbox: guard}
policies:
  tools: {file_write: require_approval}
  roles: {mayor: {git_commit: auto_approve}}
supervision: {queue: off, poll_interval: 5s, approval_expiry: {question: 24h, tool_call: 24h, human: never}, resume_attempts: 3, max_parallel_runs: 16, idle_exit: 60s, lease: 15s, adopt_grace: 60s}
log: {rotate_size: 64MiB, rotate_keep: 10}
server: {http: off}
worktree: {setup: [[npm, ci]], copy: [.env.example], remote: origin}
notify: [{on: [approval_needed, stalled, failed, completed], command: [notify-send, "{summary}"]}, {on: [approval_needed], webhook: "https://x.example/h", secret_env: HOOK_SECRET}]
retention: {runs: 90d, keep_failed: true, output: 30d}
)";

// SPEC §7
TEST(ConfigFile, reads_every_key_of_the_specification) {
  const model::Config config = load({.project = file("c.yaml", every_key)}).config();
  EXPECT_EQ(config.tools.at("claude").command, (std::vector<std::string>{"claude", "-p", "{prompt}"}));
  EXPECT_EQ(config.roles.at("implementer").temperature, 0.2);
  EXPECT_EQ(config.roles.at("implementer").max_tokens, 4096);
  EXPECT_EQ(config.gates.at("test_gate").sandbox, model::Sandbox::guard);
  EXPECT_EQ(config.gates.at("test_gate").timeout, base::TimeLimit::of(std::chrono::minutes(10)));
  EXPECT_EQ(config.policies.roles.at("mayor").at("git_commit").front().policy, model::Policy::auto_approve);
  EXPECT_EQ(config.worktree.setup.front(), (std::vector<std::string>{"npm", "ci"}));
  EXPECT_EQ(config.notify[1].secret_env, "HOOK_SECRET");
}

// The values that SPEC §7 shows for supervision, log, server and tool settings are the defaults.
TEST(ConfigFile, defaults_match_the_specification) {
  const model::Config written = load({.project = file("c.yaml", every_key)}).config();
  const model::Config empty = load({}).config();
  EXPECT_EQ(empty.store, written.store);
  EXPECT_EQ(empty.supervision, written.supervision);
  EXPECT_EQ(empty.log, written.log);
  EXPECT_EQ(empty.server, written.server);
  EXPECT_EQ(empty.retention, written.retention);
  model::ToolProfile tool = written.tools.at("claude");
  tool.command.clear();
  tool.pass_env.clear();
  tool.secrets.clear();
  EXPECT_EQ(tool, model::ToolProfile{});
}

TEST(ConfigFile, nearer_layers_win_key_by_key) {
  const LoadedConfig loaded = load({
      .user = file("/home/u/config.yaml",
                   "tools:\n  claude:\n    command: [claude]\n    timeout: 1h\nlog: {rotate_keep: 3}\n"),
      .project = file(".reeve/config.yaml", "tools:\n  claude: {timeout: 2h}\nsupervision: {lease: 20s}\n"),
      .environment = {{"REEVE_SUPERVISION_LEASE", "30s"}, {"REEVE_UNRELATED", "x"}},
      .settings = {"supervision.max_parallel_runs=4", "worktree.copy=[a, b]"},
  });
  const model::Config& config = loaded.config();
  EXPECT_EQ(config.tools.at("claude").command, std::vector<std::string>{"claude"});
  EXPECT_EQ(config.tools.at("claude").timeout, base::TimeLimit::of(std::chrono::hours(2)));
  EXPECT_EQ(config.supervision.lease, std::chrono::seconds(30));
  EXPECT_EQ(config.supervision.max_parallel_runs, 4);
  EXPECT_EQ(config.worktree.copy, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(entry_of(loaded, "tools.claude.command").origin, "/home/u/config.yaml:3");
  EXPECT_EQ(entry_of(loaded, "tools.claude.timeout").origin, ".reeve/config.yaml:2");
  EXPECT_EQ(entry_of(loaded, "tools.claude.mode").origin, "default");
  EXPECT_EQ(entry_of(loaded, "supervision.lease").origin, "REEVE_SUPERVISION_LEASE");
  EXPECT_EQ(entry_of(loaded, "supervision.max_parallel_runs").origin, "--set supervision.max_parallel_runs");
  EXPECT_EQ(entry_of(loaded, "log.rotate_keep").origin, "/home/u/config.yaml:5");
  EXPECT_EQ(entry_of(loaded, "store").origin, "default");
}

// A mistake must not hide behind a later layer.
TEST(ConfigFile, validates_every_layer_separately) {
  EXPECT_EQ(
      first_code({.user = file("u", "log: {rotate_keep: many}\n"), .project = file("p", "log: {rotate_keep: 3}\n")}),
      "config.wrong_type");
  const auto loaded =
      parse_config({.user = file("u", "stoer: x\n"), .project = file("p", "lgo: {}\n"), .settings = {"nonsense"}});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().errors(), 3);
}

// Merging two rules would allow calls that neither file allows.
TEST(ConfigFile, policy_rules_are_replaced_as_a_whole) {
  const model::Config config =
      load({
               .user = file("u", "policies: {tools: {file_write: {policy: auto_approve, when: {path: 'docs/**'}}}}\n"),
               .project =
                   file("p", "policies: {tools: {file_write: {policy: require_approval}, git_add: auto_approve}}\n"),
           })
          .config();
  ASSERT_EQ(config.policies.tools.at("file_write").size(), 1);
  EXPECT_EQ(config.policies.tools.at("file_write").front(),
            (model::PolicyRule{.policy = model::Policy::require_approval}));
}

// TOOL-1: the ways to write a rule.
TEST(ConfigFile, parses_every_form_of_a_policy) {
  const model::Config config = load({.user = file("p", R"(
policies:
  tools:
    file_write: {require_approval, when: {path: "src/**"}}
    git_add: auto_approve
    git_push: [{policy: deny, when: {remote: origin}}, require_approval]
    file_delete: {policy: require_approval, even_if_denied: true}
)")})
                                   .config();
  const auto& tools = config.policies.tools;
  EXPECT_EQ(tools.at("file_write").front().when.at("path"), base::Value::string("src/**"));
  EXPECT_EQ(tools.at("file_write").front().policy, model::Policy::require_approval);
  EXPECT_EQ(tools.at("git_push").size(), 2);
  EXPECT_TRUE(tools.at("file_delete").front().even_if_denied);
}

// RUN-8: variables that change what programs load may come only from the user's own file.
TEST(ConfigFile, only_the_user_file_may_pass_dangerous_variables) {
  const std::string text = "tools: {t: {command: [t], pass_env: [LD_LIBRARY_PATH]}}\n";
  EXPECT_EQ(first_code({.user = file("u", text)}), "");
  EXPECT_EQ(first_code({.project = file("p", text)}), "config.dangerous_variable");
}

// RUN-8: also if the user's file gives the name and only the value is the project's.
TEST(ConfigFile, project_cannot_change_a_dangerous_variable_of_the_user) {
  const auto user = file("u", "tools: {t: {command: [t], env: {LD_PRELOAD: /user/ok.so}}}\n");
  EXPECT_EQ(first_code({.user = user}), "");
  EXPECT_EQ(first_code({.user = user, .project = file("p", "tools: {t: {env: {LD_PRELOAD: ./evil.so}}}\n")}),
            "config.dangerous_variable");
}

// TOOL-1: a role override that loosens a default deny is refused unless it says so.
TEST(ConfigFile, loosening_a_deny_needs_even_if_denied) {
  EXPECT_EQ(first_code({.project = file("p", "policies: {roles: {mayor: {force_push: auto_approve}}}\n")}),
            "config.loosens_deny");
  EXPECT_EQ(first_code(
                {.project = file(
                     "p", "policies: {roles: {mayor: {force_push: {policy: auto_approve, even_if_denied: true}}}}\n")}),
            "");
  EXPECT_EQ(first_code({.project = file("p", "policies: {roles: {mayor: {force_push: deny}}}\n")}), "");
  // AGT-3: a witness may not write files.
  EXPECT_EQ(first_code({.project = file("p", "policies: {roles: {witness: {file_write: auto_approve}}}\n")}),
            "config.loosens_deny");
  // An empty list would silently hide the default.
  EXPECT_EQ(first_code({.project = file("p", "policies: {tools: {delete: []}}\n")}), "config.no_rule");
}

TEST(ConfigFile, accepts_empty_and_comment_only_files) {
  EXPECT_EQ(load({.project = file("p", "")}).config(), model::Config{});
  EXPECT_EQ(load({.project = file("p", "# nothing\n\n   # here\n")}).config(), model::Config{});
  EXPECT_EQ(load({.project = file("p", "tools:\nroles:\n")}).config(), model::Config{});
}

TEST(ConfigFile, environment_variable_names_are_unique) {
  std::set<std::string> names;
  for (const auto& [name, path] : config_variables()) EXPECT_TRUE(names.insert(name).second) << name;
  EXPECT_TRUE(names.contains("REEVE_STORE"));
  EXPECT_TRUE(names.contains("REEVE_SERVER_HTTP"));
  EXPECT_TRUE(names.contains("REEVE_SUPERVISION_APPROVAL_EXPIRY_HUMAN"));
  EXPECT_FALSE(names.contains("REEVE_STATE"));
}

// What `config show` prints can be read again.
TEST(ConfigFile, shown_config_round_trips) {
  const model::Config config = load({.project = file("c.yaml", every_key)}).config();
  const std::string shown = json::encode(json::to_value(config));
  EXPECT_EQ(load({.project = file("again", shown)}).config(), config);
}

// TOOL-8
TEST(ConfigFile, conditions_are_texts_lists_or_argument_vectors) {
  const auto loaded = parse_config({.user = file("config.yaml", R"(
policies:
  tools:
    shell_execute:
      - {auto_approve, when: {argv: [git, status]}}
      - {auto_approve, when: {argv: [[make, -j4], [ls]], program: [git log, ls], role: coder}}
      - {deny, when: {program: python3}}
    file_write: {auto_approve, when: {path: ["src/**", "docs/**"], mode: 1}}
)")});
  ASSERT_TRUE(loaded);
  const auto& tools = loaded->config().policies.tools;
  const auto shown = [&](std::size_t rule, const char* name) {
    return json::encode(tools.at("shell_execute").at(rule).when.at(name));
  };
  EXPECT_EQ(shown(0, "argv"), R"(["git","status"])");
  EXPECT_EQ(shown(1, "argv"), R"([["make","-j4"],["ls"]])");
  EXPECT_EQ(shown(1, "program"), R"(["git log","ls"])");
  EXPECT_EQ(shown(2, "program"), R"("python3")") << "a rule that denies may name any program";
  EXPECT_EQ(tools.at("file_write").front().when.at("mode"), base::Value::string("1"));
}

// TOOL-8: the tool is never approved without saying what.
TEST(ConfigFile, shell_without_when_is_a_warning) {
  const auto loaded = parse_config({.user = file("config.yaml", "policies: {tools: {shell_execute: auto_approve}}\n")});
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->warnings().list().size(), 1U);
  EXPECT_EQ(loaded->warnings().list().front().code.text(), "config.shell_pattern");
}

}  // namespace
}  // namespace reeve::spec
