#include "spec/config_trust.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/describe.h"
#include "spec/config_file.h"
#include "view/problem_text.h"

// SPEC §7, "Trust".
namespace reeve::spec {
namespace {

using model::Policy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::shared_ptr<const Source> file(const char* name, std::string text) {
  return std::make_shared<const Source>(name, std::move(text));
}

bool trusted(const std::string&) { return true; }

LoadedConfig load(std::string user, std::string project, TrustJudge judge = {},
                  DaemonKeys daemon_keys = DaemonKeys::count) {
  auto loaded = parse_config({.user = user.empty() ? nullptr : file("u", std::move(user)),
                              .project = file("p", std::move(project)),
                              .is_trusted = std::move(judge),
                              .daemon_keys = daemon_keys});
  if (loaded) return std::move(*loaded);
  ADD_FAILURE() << view::problems_text(loaded.error(), {});
  return {};
}

std::vector<std::string> ignored(const LoadedConfig& loaded) {
  std::vector<std::string> paths;
  for (const IgnoredValue& value : loaded.project_trust().ignored) paths.push_back(value.path);
  return paths;
}

Policy tool_policy(const LoadedConfig& loaded, const std::string& tool) {
  const auto& tools = loaded.config().policies.tools;
  return tools.contains(tool) ? tools.at(tool).front().policy : model::default_policies().at(tool);
}

TEST(ConfigTrust, daemon_keys_are_ignored_until_trusted) {
  const std::string text =
      "store: postgresql://u@attacker/db\nserver: {http: '0.0.0.0:1', behind_proxy: true}\nlog: {rotate_keep: 1}\n"
      "notify: [{on: [failed], command: [evil]}]\nsupervision: {max_parallel_runs: 999}\n";
  const LoadedConfig clone = load("log: {rotate_keep: 5}\n", text);
  EXPECT_EQ(clone.config().store, "sqlite");
  EXPECT_EQ(clone.config().server, model::ServerSettings());
  EXPECT_EQ(clone.config().log.rotate_keep, 5);
  EXPECT_THAT(clone.config().notify, IsEmpty());
  EXPECT_EQ(clone.config().supervision, model::Supervision());
  EXPECT_THAT(ignored(clone), ElementsAre("store", "server.http", "server.behind_proxy", "log.rotate_keep", "notify",
                                          "supervision.max_parallel_runs"));
  EXPECT_EQ(clone.warnings().list().size(), 6U);
  EXPECT_EQ(clone.warnings().list().front().code.text(), "config.not_trusted");
  const LoadedConfig known = load("log: {rotate_keep: 5}\n", text, trusted);
  EXPECT_EQ(known.config().store, "postgresql://u@attacker/db");
  EXPECT_EQ(known.config().log.rotate_keep, 1);
  EXPECT_THAT(ignored(known), IsEmpty());
}

TEST(ConfigTrust, keys_equal_to_the_default_are_not_reported) {
  EXPECT_THAT(ignored(load("", "store: sqlite\nsupervision: {max_parallel_runs: 16}\n")), IsEmpty());
}

// APR-3: only the user's own config lowers a risk, even if the project is trusted.
TEST(ConfigTrust, project_can_only_raise_risks) {
  using model::Risk;
  const std::string lower = "risk: {question: low, git_push: medium, changes: high, reading: medium}\n";
  for (const TrustJudge& judge : {TrustJudge(), TrustJudge(trusted)}) {
    const LoadedConfig loaded = load("", lower, judge);
    EXPECT_EQ(loaded.config().risk.question, Risk::medium);
    EXPECT_EQ(loaded.config().risk.git_push, Risk::high);
    EXPECT_EQ(loaded.config().risk.changes, Risk::high);
    EXPECT_EQ(loaded.config().risk.reading, Risk::medium);
    EXPECT_THAT(ignored(loaded), ElementsAre("risk.question", "risk.git_push"));
    EXPECT_EQ(loaded.warnings().list().front().code.text(), "config.not_yours");
  }
  EXPECT_EQ(load("risk: {question: low, git_push: low}\n", "").config().risk.git_push, Risk::low);
  const LoadedConfig both = load("risk: {question: high, prompt: low}\n", "risk: {question: medium, prompt: medium}\n");
  EXPECT_EQ(both.config().risk.question, Risk::high) << "compared with the user's level, not with the default";
  EXPECT_EQ(both.config().risk.prompt, Risk::medium);
  EXPECT_EQ(load("risk: {question: high}\n", "risk:\n", trusted).config().risk.question, Risk::high);
}

// Another project's daemon ignores these keys.
TEST(ConfigTrust, daemon_keys_count_only_in_the_daemons_own_project) {
  const LoadedConfig loaded = load("", "store: postgresql://u@h/db\n", trusted, DaemonKeys::ignored);
  EXPECT_EQ(loaded.config().store, "sqlite");
  EXPECT_THAT(ignored(loaded), ElementsAre("store"));
}

TEST(ConfigTrust, untrusted_clone_gets_no_variables_and_no_automatic_commands) {
  const LoadedConfig clone =
      load("tools: {mine: {command: [mine], pass_env: [A, B]}}\nworktree: {setup: [[npm, ci]]}\n",
           R"(
tools:
  theirs: {command: [theirs], pass_env: [AWS_SECRET], on_interrupted: rerun, keep_descendants: true}
  mine: {pass_env: [B]}
worktree: {setup: [[npm, ci], [evil]], copy: [.env], remote: origin}
)");
  const model::Config& config = clone.config();
  EXPECT_THAT(config.tools.at("theirs").command, ElementsAre("theirs"));
  EXPECT_THAT(config.tools.at("theirs").pass_env, IsEmpty());
  EXPECT_EQ(config.tools.at("theirs").on_interrupted, model::OnInterrupted::ask);
  EXPECT_FALSE(config.tools.at("theirs").keep_descendants);
  EXPECT_THAT(config.tools.at("mine").pass_env, ElementsAre("B")) << "fewer is stricter";
  EXPECT_THAT(config.worktree.setup, ElementsAre(ElementsAre("npm", "ci")));
  EXPECT_THAT(config.worktree.copy, IsEmpty());
  EXPECT_FALSE(config.worktree.remote);
  EXPECT_THAT(ignored(clone), UnorderedElementsAre("tools.theirs.pass_env", "tools.theirs.on_interrupted",
                                                   "tools.theirs.keep_descendants", "worktree.setup", "worktree.copy",
                                                   "worktree.remote"));
}

// A name defined in the user's config keeps the user's definition.
TEST(ConfigTrust, untrusted_clone_cannot_redefine_the_users_names) {
  const std::string user = R"(
tools: {claude: {command: [claude], sandbox: guard, secrets: [KEY], timeout: 1h}, other: {command: [other]}}
roles: {implementer: {tool: claude, isolation: worktree}}
gates: {test_gate: {command: [pytest]}}
)";
  const LoadedConfig clone = load(user, R"(
tools:
  claude: {command: [evil], sandbox: none, secrets: [MORE], env: {PATH: ./bin}}
  other: {sandbox: guard}
roles: {implementer: {tool: other, isolation: none}}
gates: {test_gate: {command: ["true"], on_fail: warn}}
)");
  model::Config expected = load(user, "{}").config();
  expected.tools.at("claude").secrets = {"MORE", "KEY"};
  expected.tools.at("other").sandbox = model::Sandbox::guard;
  EXPECT_EQ(clone.config(), expected);
  EXPECT_EQ(ignored(clone).size(), 7U);
}

// An empty block overrides nothing of the user's.
TEST(ConfigTrust, an_empty_block_of_a_clone_erases_nothing) {
  const std::string user =
      "tools: {t: {command: [t], sandbox: guard}}\ngates: {g: {command: [g]}}\n"
      "policies: {tools: {git_push: deny}, roles: {mayor: {git_add: deny}}}\nworktree: {setup: [[a]]}\n";
  const model::Config expected = load(user, "{}").config();
  for (const char* text :
       {"policies:\n", "policies: {tools: }\n", "policies: {roles: }\n", "policies: {roles: {mayor: }}\n", "tools:\n",
        "tools: {t: }\n", "gates:\n", "gates: {g: }\n", "worktree:\n", "worktree: {setup: []}\npolicies:\n"}) {
    model::Config config = load(user, text).config();
    if (std::string_view(text).contains("setup")) config.worktree = expected.worktree;
    EXPECT_EQ(config, expected) << text;
  }
}

// TOOL-1
TEST(ConfigTrust, a_clones_policies_only_tighten) {
  const LoadedConfig clone = load("policies: {tools: {git_push: deny}, roles: {deacon: {git_add: deny}}}\n", R"(
policies:
  tools:
    shell_execute: auto_approve
    git_commit: deny
    git_push: require_approval
    file_read: [{policy: deny, when: {path: "**/.env"}}, auto_approve]
    file_write: [{policy: auto_approve, when: {path: "**"}}, deny]
  roles:
    mayor: {git_commit: deny, git_add: auto_approve, git_push: require_approval}
    deacon: {git_add: [{policy: deny, when: {path: x}}]}
)");
  EXPECT_EQ(tool_policy(clone, "shell_execute"), Policy::require_approval);
  EXPECT_EQ(tool_policy(clone, "git_commit"), Policy::deny);
  EXPECT_EQ(tool_policy(clone, "git_push"), Policy::deny);
  EXPECT_EQ(clone.config().policies.tools.at("file_read").size(), 2U);
  EXPECT_EQ(tool_policy(clone, "file_write"), Policy::require_approval);
  const auto& roles = clone.config().policies.roles;
  EXPECT_EQ(roles.at("mayor").at("git_commit").front().policy, Policy::deny);
  EXPECT_FALSE(roles.at("mayor").contains("git_add"));
  EXPECT_FALSE(roles.at("mayor").contains("git_push"));
  EXPECT_TRUE(roles.at("deacon").at("git_add").front().when.empty()) << "a rule for some calls would allow all others";
  EXPECT_THAT(ignored(clone), UnorderedElementsAre("policies.tools.shell_execute", "policies.tools.git_push",
                                                   "policies.tools.file_write", "policies.roles.mayor.git_add",
                                                   "policies.roles.mayor.git_push", "policies.roles.deacon.git_add"));
}

// TOOL-8: what a clone says about commands and paths needs trust as well.
TEST(ConfigTrust, a_clones_conditions_approve_nothing) {
  const std::string text = R"(
policies:
  tools:
    shell_execute: {auto_approve, when: {argv: [git, status]}}
    file_write: [{auto_approve, when: {path: "**"}}, require_approval]
    git_commit: {deny, when: {role: "*"}}
  roles:
    coder: {shell_execute: {auto_approve, when: {program: [ls]}}}
agents: {fallback_tools: {Bash: [evil]}}
)";
  // A plain rule of the user approves no command, so a clone's rule would be looser.
  for (const char* user : {"", "policies: {tools: {shell_execute: auto_approve}}\n"}) {
    const LoadedConfig clone = load(user, text);
    EXPECT_THAT(ignored(clone), ::testing::IsSupersetOf({"policies.tools.shell_execute", "policies.tools.file_write",
                                                         "policies.roles.coder.shell_execute"}));
    EXPECT_TRUE(clone.config().agents.fallback_tools.empty());
    EXPECT_FALSE(clone.config().policies.tools.contains("file_write"));
  }
  const LoadedConfig loaded = load("", text, trusted);
  EXPECT_FALSE(loaded.config().policies.tools.at("shell_execute").front().when.empty());
  EXPECT_FALSE(loaded.config().agents.fallback_tools.empty());
}

// A role's default that is looser than the tool's rule: the mayor commits without approval.
TEST(ConfigTrust, tool_rule_is_compared_with_every_role) {
  const std::string user = "policies: {roles: {mayor: {git_push: [{policy: deny, when: {remote: x}}]}}}\n";
  EXPECT_THAT(ignored(load(user, "policies: {tools: {git_push: require_approval}}\n")),
              ElementsAre("policies.tools.git_push"))
      << "the mayor's call might be denied or need approval; which one the rule would change is unknown";
  EXPECT_THAT(ignored(load(user, "policies: {tools: {git_push: deny}}\n")), IsEmpty());
}

// TOOL-1, SPEC §7: even_if_denied takes effect only in the user's config, trusted or not.
TEST(ConfigTrust, even_if_denied_counts_only_from_the_user_config) {
  const std::string text =
      "policies: {roles: {mayor: {force_push: {policy: auto_approve, even_if_denied: true}}},"
      " tools: {delete: {policy: auto_approve, even_if_denied: true}}}\n";
  for (const TrustJudge& judge : {TrustJudge(), TrustJudge(trusted)}) {
    const LoadedConfig loaded = load("", text, judge);
    EXPECT_FALSE(loaded.config().policies.roles.contains("mayor") &&
                 loaded.config().policies.roles.at("mayor").contains("force_push"));
    EXPECT_FALSE(loaded.config().policies.tools.contains("delete"));
    EXPECT_THAT(ignored(loaded), UnorderedElementsAre("policies.roles.mayor.force_push", "policies.tools.delete"));
    EXPECT_THAT(view::problems_text(loaded.warnings(), {}), HasSubstr("config.not_yours"));
  }
  const auto own = parse_config({.user = file("u", text)});
  ASSERT_TRUE(own);
  EXPECT_EQ(own->config().policies.tools.at("delete").front().policy, Policy::auto_approve);
}

// One digest over exactly these keys: values matter, locations do not.
TEST(ConfigTrust, digest_covers_exactly_the_trusted_keys) {
  const auto digest = [](const std::string& user, const std::string& text) {
    return load(user, text).project_trust().digest;
  };
  const std::string text = "store: postgresql://u@h/d\ntools: {t: {command: [t], pass_env: [A]}}\n";
  EXPECT_EQ(digest("", text), digest("",
                                     "# again\ntools:\n  t:\n    pass_env:\n      - A\n    timeout: 3m\n"
                                     "    command: [t]\nstore: postgresql://u@h/d\n"));
  EXPECT_NE(digest("", text), digest("", "store: postgresql://u@g/d\ntools: {t: {command: [t], pass_env: [A]}}\n"));
  EXPECT_NE(digest("", text), digest("", "store: postgresql://u@h/d\ntools: {t: {command: [t], pass_env: [A, B]}}\n"));
  EXPECT_NE(digest("", text), digest("", "store: postgresql://u@h/d\ntools: {s: {command: [t], pass_env: [A]}}\n"));
  EXPECT_NE(digest("", text), digest("", "store: postgresql://u@h/d\ntools: {t: {command: [evil], pass_env: [A]}}\n"))
      << "the receiver of a variable is part of what is trusted";
  EXPECT_NE(digest("", text), digest("", "store: postgresql://u@h/d\n"));
  // Without keys that need trust, the digest is constant.
  EXPECT_EQ(digest("", "tools: {t: {command: [t]}}\n"), digest("", "# nothing\n"));
  // Names with dots are not paths.
  EXPECT_NE(digest("", "policies: {tools: {a.b: deny}}\n"), digest("", "policies: {tools: {a: deny}}\n"));
  // A key that later clashes with the user's config needs trust.
  EXPECT_NE(digest("", "tools: {t: {command: [t]}}\n"),
            digest("tools: {t: {command: [u]}}\n", "tools: {t: {command: [t]}}\n"));
}

TEST(ConfigTrust, trust_check_receives_the_displayed_digest) {
  std::string heard;
  const LoadedConfig loaded = load("", "store: postgresql://u@h/d\n", [&](const std::string& digest) {
    heard = digest;
    return false;
  });
  EXPECT_EQ(heard, loaded.project_trust().digest);
  EXPECT_EQ(loaded.project_trust().keys.size(), 1U);
}

TEST(ConfigTrust, commands_defined_by_the_project_are_listed) {
  const LoadedConfig loaded = load("tools: {mine: {command: [mine]}}\n", R"(
tools: {theirs: {command: [theirs]}, mine: {command: [evil]}}
gates: {check: {command: [check]}}
worktree: {setup: [[evil]]}
)");
  std::vector<std::string> paths;
  for (const ProjectValue& value : loaded.project_trust().commands) paths.push_back(value.path);
  EXPECT_THAT(paths, ElementsAre("tools.theirs.command", "gates.check.command"));
  EXPECT_NE(loaded.project_trust().commands_digest,
            load("", "tools: {theirs: {command: [other]}}\n").project_trust().commands_digest);
}

// Errors are reported, also in ignored settings.
TEST(ConfigTrust, untrusted_config_is_still_validated) {
  const auto wrong = parse_config({.project = file("p", "tools: {t: {command: [t], pass_env: [LD_PRELOAD]}}\n")});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().list().front().code.text(), "config.dangerous_variable");
  EXPECT_FALSE(parse_config({.project = file("p", "supervision: {lease: 1ms}\n")}));
}

// A new key needs trust until someone decides otherwise.
TEST(ConfigTrust, every_tool_and_gate_key_is_safe_or_needs_trust) {
  const auto needs_trust = [](const std::string& area, const base::Value& block) {
    std::vector<std::string> keys;
    for (const base::Member& member : *block.as_object()) {
      // Any value: its validity is not checked.
      base::Problems problems;
      const auto document = parse_yaml(file("p", area + ": {x: {" + member.key + ": [strange]}}\n"), problems);
      const JudgedProject judged = judge_project(document->root, nullptr, {}, DaemonKeys::count);
      if (!judged.trust.keys.empty()) keys.push_back(member.key);
    }
    return keys;
  };
  EXPECT_THAT(needs_trust("tools", json::to_value(model::ToolProfile())),
              UnorderedElementsAre("on_interrupted", "pass_env", "secrets", "sandbox", "keep_descendants"));
  EXPECT_THAT(needs_trust("gates", json::to_value(model::Gate())), ::testing::IsSubsetOf({"sandbox"}));
}

}  // namespace
}  // namespace reeve::spec
