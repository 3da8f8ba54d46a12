#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/daemon.h"
#include "client/http.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "view/table.h"
#include "wire/settings.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;

void add_rules(view::Table& table, const std::string& role, const model::ToolPolicies& tools) {
  for (const auto& [tool, rules] : tools) {
    for (const model::PolicyRule& rule : rules) {
      const std::string when = rule.when.empty() ? "-" : json::encode(json::to_value(rule.when));
      table.add({role, tool, std::string(base::spell(rule.policy)), when, "config"});
    }
  }
}

// The config's unconditional rule for the tool; later rules are never reached.
std::optional<model::Policy> find_plain_rule(const model::ToolPolicies& tools, const std::string& tool) {
  const auto found = tools.find(tool);
  if (found == tools.end()) return std::nullopt;
  for (const model::PolicyRule& rule : found->second) {
    if (rule.when.empty()) return rule.policy;
  }
  return std::nullopt;
}

// As in resolve_policy(): the stricter of the role's default and the tool's rule applies.
bool holds_for_role(const model::Policies& policies, const std::string& role, const std::string& tool,
                    const std::string& policy) {
  const auto of_role = policies.roles.find(role);
  if (of_role != policies.roles.end() && find_plain_rule(of_role->second, tool)) return false;
  const auto configured = find_plain_rule(policies.tools, tool);
  const auto by_default = base::find_enum<model::Policy>(policy);
  return !configured || !by_default || *by_default > *configured;
}

// The policies of the document; json::from_value reads its maps member by member.
template <class Add>
void add_defaults(const Value* tools, Add add) {
  if (tools == nullptr || tools->as_object() == nullptr) return;
  for (const base::Member& member : *tools->as_object()) {
    if (const std::string* policy = member.value.as_string()) add(member.key, *policy);
  }
}

// What no table of rules shows: rules that match nothing, and agents that run tools without asking.
void print_notes(const Call& call, const Value& document) {
  const Value* inert = document.find("inert");
  if (inert != nullptr && inert->as_array() != nullptr) {
    for (const Value& line : *inert->as_array()) {
      if (line.as_string() == nullptr) continue;
      print_aside("{} {}\n", call.err.paint(view::Tint::yellow, "no effect:"), base::visible(*line.as_string()));
    }
  }
  const Value* channels = document.find("channels");
  if (channels == nullptr || channels->as_array() == nullptr) return;
  for (const Value& item : *channels->as_array()) {
    const auto tool = json::from_value<wire::GatedTool>(item);
    if (!tool) continue;
    const std::string word =
        tool->is_gated ? call.err.paint(view::Tint::green, "gated:") : call.err.paint(view::Tint::yellow, "not gated:");
    print_aside("{} {}: {}\n", word, base::visible(tool->tool), base::visible(tool->about));
  }
}

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const auto project = project_here(daemon.place());
  const Value document = daemon.get(project ? "/api/policy?project=" + client::encode_part(*project) : "/api/policy");
  if (call.is_json) {
    print_json(call, document);
    return ExitCode::done;
  }
  const Value* stored = document.find("policies");
  const auto policies = json::from_value<model::Policies>(stored != nullptr ? *stored : Value::object());
  if (!policies) throw base::Error(ErrorCode::daemon_bad_answer, policies.error());
  view::Table table({"ROLE", "TOOL", "POLICY", "WHEN", "FROM"});
  for (const auto& [role, tools] : policies->roles) add_rules(table, role, tools);
  add_rules(table, "-", policies->tools);
  const Value* defaults = document.find("defaults");
  const Value* roles = defaults != nullptr ? defaults->find("roles") : nullptr;
  if (roles != nullptr && roles->as_object() != nullptr) {
    for (const base::Member& role : *roles->as_object()) {
      add_defaults(&role.value, [&](const std::string& tool, const std::string& policy) {
        if (!holds_for_role(*policies, role.key, tool, policy)) return;
        table.add({role.key, tool, policy, "-", "default"});
      });
    }
  }
  add_defaults(defaults != nullptr ? defaults->find("tools") : nullptr,
               [&](const std::string& tool, const std::string& policy) {
                 if (!find_plain_rule(policies->tools, tool)) table.add({"-", tool, policy, "-", "default"});
               });
  fmt::print("{}", call.out_is_terminal ? table.for_terminal(call.out) : table.for_pipe());
  print_notes(call, document);
  print_next(call, "reeve policy check TOOL --role R");
  return ExitCode::done;
}

}  // namespace

Command make_policy_show() {
  return {
      .name = "policy show",
      .summary = "List the policy rules for agents' tool calls",
      .about =
          R"(Lists the rules of the config, then the defaults that still apply. For a call, the role's rules come before
the tool's, and a default never loosens a stricter rule; `reeve policy check` says which rule applies. Anything
that is not listed is `require_approval`.

The rules apply to calls that reach Reeve. Standard error names, for each tool of the config, whether its calls
do: a tool that `speaks: reeve` asks before it acts; any other decides for itself unless its hook or its
permission tool asks Reeve. It also names rules that have no effect, and why.)",
      .examples = {{"reeve policy show", "all rules"}, {"reeve policy show --json", "for a script"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
