#include "spec/config_trust.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "json/describe.h"
#include "json/encode.h"
#include "model/config.h"
#include "spec/bind.h"

namespace reeve::spec {

namespace {

using base::ErrorCode;
using base::Value;
using model::Policy;
using model::PolicyRule;
using Path = std::vector<std::string>;

constexpr std::string_view not_trusted = "this project's config is not trusted";
constexpr std::string_view looser = "it allows more than your own config, and this project's config is not trusted";
constexpr std::string_view users_name = "your own config defines it, and this project's config is not trusted";
constexpr std::string_view users_only = "`even_if_denied` takes effect only in your own config";
constexpr std::string_view lower_risk = "only your own config may lower a risk";
constexpr std::string_view elsewhere = "it configures the daemon, whose state folder is not this project's";

// Keys of a tool that the project defines: what it runs and how it is supervised. Such a tool runs only when a user
// starts it. Any other key, including future ones, needs trust.
constexpr auto own_tool_keys = std::to_array<std::string_view>(
    {"command", "mode", "timeout", "no_output_timeout", "on_stall", "liveness", "on_prompt", "resume", "resume_args",
     "env", "headless", "failure_markers", "kill_grace", "result_grace", "output_cap", "speaks", "agent",
     "release_after", "model"});
constexpr auto own_gate_keys =
    std::to_array<std::string_view>({"command", "timeout", "env", "working_dir", "depends_on", "severity", "on_fail"});
// The identity of a tool that receives the user's variables: a user who trusts `pass_env` also reviews these keys.
constexpr auto receiver_keys = std::to_array<std::string_view>({"command", "resume_args", "env"});
constexpr auto daemon_keys =
    std::to_array<std::string_view>({"store", "server", "log", "notify", "supervision", "retention"});

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

const YamlNode* find_at(const YamlNode* root, std::initializer_list<std::string_view> path) {
  for (const std::string_view name : path) {
    if (root != nullptr) root = root->find(name);
  }
  return root;
}

// Compares the data, not the location.
bool is_same(const YamlNode& one, const YamlNode& other) { return to_value(one) == to_value(other); }

// Whether every item of `list` is also in `whole`.
bool is_part(const YamlNode& list, const YamlNode* whole) {
  if (list.kind != YamlKind::sequence) return false;
  return std::ranges::all_of(list.items, [&](const YamlNode& item) {
    return whole != nullptr && whole->kind == YamlKind::sequence &&
           std::ranges::any_of(whole->items, [&](const YamlNode& other) { return is_same(item, other); });
  });
}

// The possible outcomes of a policy, over all arguments.
struct PolicyRange {
  Policy loosest;
  Policy strictest;
};

bool is_plain(const PolicyRule& rule) { return rule.when.empty(); }

// The strictest that the rule can give: nothing approves a shell command without saying which.
Policy outcome_of(const PolicyRule& rule, const std::string& tool) {
  const bool never_approves = tool == "shell_execute" && is_plain(rule) && rule.policy == Policy::auto_approve;
  return never_approves ? Policy::require_approval : rule.policy;
}

// `fallback` applies if no rule matches.
PolicyRange range_of(const std::string& tool, const std::vector<PolicyRule>* rules, PolicyRange fallback,
                     Policy least) {
  if (rules == nullptr || rules->empty()) return fallback;
  const bool has_plain = std::ranges::any_of(*rules, is_plain);
  PolicyRange range = has_plain ? PolicyRange{Policy::deny, Policy::auto_approve} : fallback;
  for (const PolicyRule& rule : *rules) {
    range.loosest = std::min(range.loosest, std::max(rule.policy, least));
    range.strictest = std::max(range.strictest, std::max(outcome_of(rule, tool), least));
  }
  return range;
}

const std::vector<PolicyRule>* find_rules(const model::ToolPolicies& tools, const std::string& tool) {
  const auto found = tools.find(tool);
  return found != tools.end() ? &found->second : nullptr;
}

// Same order as engine::resolve_policy(): the role's rules, then the stricter of the tool's rules and the role's
// default.
PolicyRange range_of(const model::Policies& policies, const std::string& role, const std::string& tool) {
  const auto by_default = model::default_policies().find(tool);
  Policy fallback = by_default != model::default_policies().end() ? by_default->second : Policy::require_approval;
  Policy least = Policy::auto_approve;
  if (const auto of_role = model::default_role_policies().find(role); of_role != model::default_role_policies().end()) {
    if (const auto found = of_role->second.find(tool); found != of_role->second.end()) {
      fallback = least = found->second;
    }
  }
  const PolicyRange of_tool = range_of(tool, find_rules(policies.tools, tool), {fallback, fallback}, least);
  const auto of_role = policies.roles.find(role);
  return of_role == policies.roles.end()
             ? of_tool
             : range_of(tool, find_rules(of_role->second, tool), of_tool, Policy::auto_approve);
}

// One value that needs trust.
struct Finding {
  Path path;
  const YamlNode* value = nullptr;
  // Empty if the value only tightens.
  std::string_view reason;
  // Takes effect only in the user's file, whether or not the project is trusted.
  bool is_users_only = false;
};

// Finds the values in a project's file that need trust.
class Search {
 public:
  Search(const YamlNode& project, const YamlNode* user) : project_(project), user_(user) {
    // Errors are reported when the files are parsed.
    base::Problems ignored;
    if (const YamlNode* policies = find_at(user, {"policies"})) {
      Binder(config_codes, ignored).bind(*policies, users_policies_);
    }
    policies_ = users_policies_;
    model::RiskLevels levels;
    if (const YamlNode* risk = find_at(user, {"risk"})) Binder(config_codes, ignored).bind(*risk, levels);
    users_levels_ = json::to_value(levels);
  }

  std::vector<Finding> take() {
    for_each(project_, {}, [&](const Path& path, const YamlNode& value) {
      const std::string& key = path.back();
      if (key == "tools" || key == "gates" || key == "roles") return search_named(path, value);
      if (key == "policies") return search_policies(path, value);
      if (key == "worktree") return search_worktree(path, value);
      if (key == "risk") return search_risk(path, value);
      // Needs no trust: the folder is one that Reeve creates, never one that came with a clone.
      if (key == "state") return;
      add(path, value, not_trusted);
    });
    return std::move(findings_);
  }

 private:
  // An empty block would remove everything that the user's file has in its place.
  template <class Visit>
  void for_each(const YamlNode& mapping, const Path& path, Visit visit) {
    if (mapping.kind != YamlKind::mapping) {
      if (!path.empty()) add(path, mapping, not_trusted);
      return;
    }
    for (std::size_t i = 0; i < mapping.member_count(); ++i) {
      Path inner = path;
      inner.push_back(mapping.key(i).text);
      visit(inner, mapping.value(i));
    }
  }

  void add(const Path& path, const YamlNode& value, std::string_view reason, bool is_users_only = false) {
    findings_.push_back({path, &value, reason, is_users_only});
  }

  // Tools, gates and roles, by name.
  void search_named(const Path& area, const YamlNode& block) {
    for_each(block, area, [&](const Path& path, const YamlNode& value) {
      const YamlNode* users = find_at(user_, {path[0], path[1]});
      for_each(value, path, [&](const Path& inner, const YamlNode& item) { search_key(inner, item, value, users); });
    });
  }

  // `users` is the entry of the same name in the user's file, if any.
  void search_key(const Path& path, const YamlNode& value, const YamlNode& block, const YamlNode* users) {
    const std::string& area = path[0];
    const std::string& key = path.back();
    const YamlNode* theirs = users != nullptr ? users->find(key) : nullptr;
    const bool is_users = users != nullptr;
    if (theirs != nullptr && is_same(value, *theirs)) return add(path, value, {});
    if (key == "sandbox" && area != "roles") {
      // A tool defined by the project has no sandbox by default; a gate inherits that of the work it checks.
      const bool is_default = area == "tools" && theirs == nullptr && value.text == "none";
      return add(path, value, value.text == "guard" || is_default ? std::string_view() : looser);
    }
    if (area == "tools" && key == "pass_env") return add(path, value, is_part(value, theirs) ? "" : looser);
    // Both lists apply: see join_secrets().
    if (area == "tools" && key == "secrets") return add(path, value, {});
    if (is_users) return add(path, value, users_name);
    if (area == "tools" && !contains(own_tool_keys, key)) return add(path, value, tightens(key, value) ? "" : looser);
    if (area == "gates" && !contains(own_gate_keys, key)) return add(path, value, looser);
    const YamlNode* passed = block.find("pass_env");
    const bool is_receiver = passed != nullptr && (passed->kind != YamlKind::sequence || !passed->items.empty());
    if (area == "tools" && is_receiver && contains(receiver_keys, key)) add(path, value, {});
  }

  static bool tightens(std::string_view key, const YamlNode& value) {
    if (key == "on_interrupted") return value.text == "ask" || value.text == "fail";
    return key == "keep_descendants" && value.text == "false";
  }

  void search_policies(const Path& area, const YamlNode& block) {
    for_each(block, area, [&](const Path& path, const YamlNode& value) {
      if (path.back() == "tools") return search_rules(path, value, "");
      if (path.back() == "roles") {
        return for_each(value, path,
                        [&](const Path& inner, const YamlNode& rules) { search_rules(inner, rules, inner.back()); });
      }
      add(path, value, not_trusted);
    });
  }

  // A rule is accepted or ignored as a whole: it takes effect if it cannot make the result of any call looser.
  void search_rules(const Path& area, const YamlNode& block, const std::string& role) {
    const bool is_of_role = area.size() == 3;
    for_each(block, area, [&](const Path& path, const YamlNode& value) {
      const std::string& tool = path.back();
      std::vector<PolicyRule> rules;
      base::Problems ignored;
      Binder(config_codes, ignored).bind(value, rules);
      const bool says_even = std::ranges::any_of(rules, &PolicyRule::even_if_denied);
      const bool is_wrong = ignored.has_errors() || rules.empty();
      const bool is_stricter = !is_wrong && try_rules(is_of_role ? &role : nullptr, tool, std::move(rules));
      add(path, value, is_stricter ? std::string_view() : looser, !is_stricter && says_even);
    });
  }

  // Replaces the user's rules by these; if it returns false, nothing changes. Without a role they are the tool's rules
  // and apply to every role.
  bool try_rules(const std::string* role, const std::string& tool, std::vector<PolicyRule> rules) {
    model::ToolPolicies& tools = role != nullptr ? policies_.roles[*role] : policies_.tools;
    const auto users = role != nullptr ? users_policies_.roles.find(*role) : users_policies_.roles.end();
    const auto* theirs = role == nullptr                        ? find_rules(users_policies_.tools, tool)
                         : users != users_policies_.roles.end() ? find_rules(users->second, tool)
                                                                : nullptr;
    if (theirs != nullptr && *theirs == rules) return true;
    std::optional<std::vector<PolicyRule>> before;
    if (const auto* known = find_rules(tools, tool)) before = *known;
    tools[tool] = std::move(rules);
    const bool is_stricter = role != nullptr ? is_within(*role, tool) : is_within_every_role(tool);
    if (is_stricter && role != nullptr) roles_of_[tool].insert(*role);
    if (is_stricter) return true;
    if (before)
      tools[tool] = std::move(*before);
    else
      tools.erase(tool);
    return false;
  }

  bool is_within(const std::string& role, const std::string& tool) const {
    return range_of(policies_, role, tool).loosest >= range_of(users_policies_, role, tool).strictest;
  }

  bool is_within_every_role(const std::string& tool) const {
    std::set<std::string> roles = {""};
    for (const auto& [role, _] : model::default_role_policies()) roles.insert(role);
    for (const auto& [role, _] : users_policies_.roles) roles.insert(role);
    if (const auto found = roles_of_.find(tool); found != roles_of_.end()) {
      roles.insert(found->second.begin(), found->second.end());
    }
    return std::ranges::all_of(roles, [&](const std::string& role) {
      const auto users = users_policies_.roles.find(role);
      const auto* theirs = users != users_policies_.roles.end() ? find_rules(users->second, tool) : nullptr;
      // The tool's rules are irrelevant if the user's rules for the role match every call.
      const bool is_decided = theirs != nullptr && std::ranges::any_of(*theirs, is_plain);
      return is_decided || is_within(role, tool);
    });
  }

  void search_worktree(const Path& area, const YamlNode& block) {
    for_each(block, area, [&](const Path& path, const YamlNode& value) {
      const YamlNode* theirs = find_at(user_, {path[0], path[1]});
      const bool is_same_value = theirs != nullptr && is_same(value, *theirs);
      const bool is_list = path.back() == "setup" || path.back() == "copy";
      add(path, value, is_same_value || (is_list && is_part(value, theirs)) ? "" : looser);
    });
  }

  // APR-3: a project can only raise a risk, whether or not it is trusted.
  void search_risk(const Path& area, const YamlNode& block) {
    for_each(block, area, [&](const Path& path, const YamlNode& value) {
      const auto level_of = [](const std::string* word) {
        return word != nullptr ? base::find_enum<model::Risk>(*word) : std::nullopt;
      };
      const Value* users = users_levels_.find(path.back());
      const auto theirs = users != nullptr ? level_of(users->as_string()) : std::nullopt;
      const auto wanted = level_of(&value.text);
      if (wanted && theirs && *wanted >= *theirs) return add(path, value, {});
      add(path, value, lower_risk, true);
    });
  }

  const YamlNode& project_;
  const YamlNode* user_;
  model::Policies users_policies_;
  // The user's policies, tightened by the rules accepted so far.
  model::Policies policies_;
  // Tool → roles for which project rules were accepted.
  std::map<std::string, std::set<std::string>> roles_of_;
  // The user's risk levels, by the names of their rules.
  Value users_levels_;
  std::vector<Finding> findings_;
};

std::string origin_of(const YamlNode& node) { return fmt::format("{}:{}", node.source->name(), node.line); }

ProjectValue value_of(const Path& path, const YamlNode& node) {
  return {base::join(path, "."), to_value(node), origin_of(node)};
}

// Names may contain dots, so a path is hashed as a list of names.
std::string digest_of(std::string_view what, const std::vector<std::pair<Path, Value>>& values) {
  Value list = Value::array();
  for (const auto& [path, value] : values) {
    Value names = Value::array();
    for (const std::string& name : path) names.as_array()->push_back(Value::string(name));
    list.as_array()->push_back(Value::array({std::move(names), value}));
  }
  std::ranges::sort(*list.as_array(), {}, [](const Value& item) { return json::encode_canonical(item); });
  return base::sha256_hex(fmt::format("{}\n{}", what, json::encode_canonical(list)));
}

YamlNode copy_without(const YamlNode& node, const std::set<const YamlNode*>& dropped) {
  if (node.kind != YamlKind::mapping) return node;
  YamlNode copy = node;
  copy.items.clear();
  for (std::size_t i = 0; i < node.member_count(); ++i) {
    if (dropped.contains(&node.value(i))) continue;
    copy.items.push_back(node.key(i));
    copy.items.push_back(copy_without(node.value(i), dropped));
  }
  return copy;
}

YamlNode* find_mutable(YamlNode& mapping, std::string_view name) {
  for (std::size_t i = 0; i < mapping.member_count() && mapping.kind == YamlKind::mapping; ++i) {
    if (mapping.key(i).text == name) return &mapping.items[2 * i + 1];
  }
  return nullptr;
}

// Secrets named in the user's file stay secret.
void join_secrets(YamlNode& root, const YamlNode* user) {
  YamlNode* tools = find_mutable(root, "tools");
  for (std::size_t i = 0; tools != nullptr && tools->kind == YamlKind::mapping && i < tools->member_count(); ++i) {
    YamlNode* secrets = find_mutable(tools->items[2 * i + 1], "secrets");
    const YamlNode* theirs = find_at(user, {"tools", tools->key(i).text, "secrets"});
    const bool is_joined = secrets != nullptr && secrets->kind == YamlKind::sequence && theirs != nullptr &&
                           theirs->kind == YamlKind::sequence;
    if (!is_joined) continue;
    for (const YamlNode& name : theirs->items) {
      const bool is_there =
          std::ranges::any_of(secrets->items, [&](const YamlNode& item) { return item.text == name.text; });
      if (!is_there) secrets->items.push_back(name);
    }
  }
}

// Visits single values: `supervision.lease`, not all of `supervision`.
template <class Visit>
void visit_values(const Path& path, const YamlNode& node, Visit visit) {
  const bool is_block = node.kind == YamlKind::mapping && node.member_count() > 0 && path.front() != "policies";
  if (!is_block) return visit(path, node);
  for (std::size_t i = 0; i < node.member_count(); ++i) {
    Path inner = path;
    inner.push_back(node.key(i).text);
    visit_values(inner, node.value(i), visit);
  }
}

void find_commands(const YamlNode& root, ProjectTrust& trust) {
  std::vector<std::pair<Path, Value>> values;
  const auto add = [&](Path path, const YamlNode* node) {
    if (node == nullptr) return;
    trust.commands.push_back(value_of(path, *node));
    values.emplace_back(std::move(path), to_value(*node));
  };
  for (const std::string area : {"tools", "gates"}) {
    const YamlNode* block = root.find(area);
    for (std::size_t i = 0; block != nullptr && block->kind == YamlKind::mapping && i < block->member_count(); ++i) {
      const std::string& name = block->key(i).text;
      add({area, name, "command"}, block->value(i).find("command"));
      add({area, name, "resume_args"}, block->value(i).find("resume_args"));
    }
  }
  add({"worktree", "setup"}, find_at(&root, {"worktree", "setup"}));
  if (!values.empty()) trust.commands_digest = digest_of("reeve commands 1", values);
}

}  // namespace

void refuse_daemon_keys(const YamlNode& project, base::Problems& problems) {
  for (std::size_t i = 0; project.kind == YamlKind::mapping && i < project.member_count(); ++i) {
    const YamlNode& key = project.key(i);
    if (!contains(daemon_keys, key.text)) continue;
    problems.add({.code = ErrorCode::config_daemon_key,
                  .message = fmt::format("{} configures the daemon, which this project shares with your other projects",
                                         base::quoted(key.text)),
                  .place = key.place(),
                  .fix = "move it to your own config (~/.config/reeve/config.yaml), or give the project its own daemon "
                         "with `state: project`"});
  }
}

std::optional<model::StatePlace> find_state_place(std::shared_ptr<const Source> source) {
  base::Problems ignored;
  const auto document = parse_yaml(std::move(source), ignored);
  const YamlNode* state = document ? document->root.find("state") : nullptr;
  return state != nullptr ? base::find_enum<model::StatePlace>(state->text) : std::nullopt;
}

JudgedProject judge_project(const YamlNode& project, const YamlNode* user, const TrustJudge& judge, DaemonKeys daemon) {
  const std::vector<Finding> findings = Search(project, user).take();
  JudgedProject judged;
  ProjectTrust& trust = judged.trust;
  std::vector<std::pair<Path, Value>> values;
  for (const Finding& finding : findings) {
    values.emplace_back(finding.path, to_value(*finding.value));
    visit_values(finding.path, *finding.value,
                 [&](const Path& path, const YamlNode& node) { trust.keys.push_back(value_of(path, node)); });
  }
  trust.digest = digest_of("reeve trust 1", values);
  trust.is_trusted = judge && judge(trust.digest);

  std::set<const YamlNode*> dropped;
  for (const Finding& finding : findings) {
    // An error of its own says what to do; trusting the key would not help.
    if (daemon == DaemonKeys::refused && contains(daemon_keys, finding.path.front())) {
      dropped.insert(finding.value);
      continue;
    }
    std::string_view reason = trust.is_trusted ? std::string_view() : finding.reason;
    if (finding.is_users_only) reason = finding.path.front() == "risk" ? lower_risk : users_only;
    const bool is_elsewhere = daemon != DaemonKeys::count && contains(daemon_keys, finding.path.front());
    if (reason.empty() && is_elsewhere) reason = elsewhere;
    if (reason.empty()) continue;
    dropped.insert(finding.value);
    const bool is_users = reason == users_only || reason == lower_risk || reason == elsewhere;
    visit_values(finding.path, *finding.value, [&](const Path& path, const YamlNode& node) {
      base::Problem problem{.severity = base::Severity::warning,
                            .code = is_users ? ErrorCode::config_not_yours : ErrorCode::config_not_trusted,
                            .message = fmt::format("{} is ignored: {}", base::quoted(base::join(path, ".")), reason),
                            .place = node.place(),
                            .fix = is_users ? "if you want it, put it in your own config (~/.config/reeve/config.yaml)"
                                            : "run `reeve config trust` to review and trust these keys"};
      // The line may contain a password.
      problem.place->source_line.clear();
      judged.left_out.push_back({path, {value_of(path, node), std::string(reason)}, std::move(problem)});
    });
  }
  judged.root = copy_without(project, dropped);
  if (!trust.is_trusted) join_secrets(judged.root, user);
  find_commands(judged.root, trust);
  return judged;
}

}  // namespace reeve::spec
