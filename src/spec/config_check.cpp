#include "spec/config_check.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <re2/re2.h>

#include "base/redaction.h"
#include "spec/policy_check.h"
#include "spec/references.h"

namespace reeve::spec {

namespace {

using base::ErrorCode;

bool is_variable_name(std::string_view name) {
  return !name.empty() && !base::is_ascii_digit(name.front()) && std::ranges::all_of(name, [](char c) {
    return base::is_ascii_letter(c) || base::is_ascii_digit(c) || c == '_';
  });
}

// Variables that change what a program loads or executes: only the user's own file may pass them (RUN-8).
bool is_dangerous_variable(std::string_view name) {
  constexpr std::array<std::string_view, 4> prefixes = {"LD_", "GIT_", "PYTHON", "PERL5"};
  return name == "BASH_ENV" || name == "NODE_OPTIONS" ||
         std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_reserved_variable(std::string_view name) {
  return name.starts_with("REEVE_") || name == "HEADLESS" || name == "AUTO_APPROVAL";
}

// Whether the path stays inside its base folder.
bool stays_beneath(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return !path.empty() && !normal.is_absolute() && (normal.empty() || *normal.begin() != "..");
}

class ConfigCheck {
 public:
  ConfigCheck(const model::Config& config, const YamlNode& root,
              const std::function<bool(const YamlNode&)>& is_from_project, Binder& binder)
      : config_(config), root_(root), is_from_project_(is_from_project), binder_(binder) {}

  void check() {
    for (const auto& [name, tool] : config_.tools) check_tool(name, tool);
    for (const auto& [name, role] : config_.roles) check_role(name, role);
    for (const auto& [name, gate] : config_.gates) check_gate(name, gate);
    check_gate_order();
    check_policies(config_, root_, binder_);
    check_settings();
    check_fallbacks();
    check_worktree();
    for (std::size_t i = 0; i < config_.notify.size(); ++i) check_notification(i);
  }

 private:
  // The node at this path, or its nearest existing ancestor.
  const YamlNode& at(std::initializer_list<std::string_view> path) const {
    const YamlNode* place = &root_;
    for (const std::string_view key : path) {
      const YamlNode* found = place->find(key);
      if (found == nullptr) break;
      place = found;
    }
    return *place;
  }
  const YamlNode* find(std::initializer_list<std::string_view> path) const {
    const YamlNode* place = &root_;
    for (const std::string_view key : path) {
      if (place != nullptr) place = place->find(key);
    }
    return place;
  }
  static const YamlNode& item(const YamlNode& list, std::size_t i) {
    return list.at(i) != nullptr ? *list.at(i) : list;
  }

  void check_command(const std::vector<std::string>& command, const YamlNode& place) {
    if (place.kind != YamlKind::sequence) return;
    if (command.empty() || command.front().empty()) {
      binder_.report(place, ErrorCode::config_empty_command, "a command needs at least a program name",
                     "write it as a list: [program, argument]");
    }
  }

  void check_limit(const std::optional<base::TimeLimit>& limit, const YamlNode& place) {
    if (!limit || !limit->after || limit->after->count() > 0) return;
    binder_.report(place, ErrorCode::config_out_of_range, "a time limit of 0 would stop everything immediately",
                   "give a duration, or `off` for no limit");
  }

  void check_number(std::int64_t value, std::int64_t least, std::int64_t most, const YamlNode& place) {
    if (value >= least && value <= most) return;
    binder_.report(place, ErrorCode::config_out_of_range,
                   most == INT64_MAX ? fmt::format("must be at least {}", least)
                                     : fmt::format("must be from {} to {}", least, most));
  }

  // A smaller log would be rotated away before it could be read.
  void check_size(base::ByteSize size, const YamlNode& place) {
    constexpr base::ByteSize least{64 * base::limits::kib};
    if (size.bytes >= least.bytes) return;
    binder_.report(place, ErrorCode::config_out_of_range,
                   fmt::format("must be at least {}", base::format_byte_size(least)));
  }

  void check_duration(base::Milliseconds value, base::Milliseconds least, const YamlNode& place) {
    if (value >= least) return;
    binder_.report(place, ErrorCode::config_out_of_range,
                   fmt::format("must be at least {}", base::format_duration(least)));
  }

  void check_variable(std::string_view name, const YamlNode& place) {
    if (!is_variable_name(name)) {
      binder_.report(place, ErrorCode::config_bad_variable,
                     fmt::format("{} is not a valid variable name", base::quoted(name)));
    } else if (is_reserved_variable(name)) {
      binder_.report(place, ErrorCode::config_reserved_variable,
                     fmt::format("{} is set by Reeve itself", base::quoted(name)), "remove it");
    } else if (is_dangerous_variable(name) && is_from_project_(place)) {
      binder_.report(
          place, ErrorCode::config_dangerous_variable,
          fmt::format("{} changes what programs load; a project's config may not set or pass it", base::quoted(name)),
          "if you need it, put it in your own config file (~/.config/reeve/config.yaml)");
    }
  }

  void check_variables(const std::map<std::string, std::string>& env, const YamlNode& place) {
    for (const auto& [name, _] : env) {
      const YamlNode* key = place.find_key(name);
      if (key == nullptr) continue;
      // The user's file may give the name and a project's the value: both decide what is loaded.
      const YamlNode& value = key[1];
      const bool is_projects_value = !is_from_project_(*key) && is_from_project_(value);
      check_variable(name, is_projects_value ? value : *key);
    }
  }

  void check_tool(const std::string& name, const model::ToolProfile& tool) {
    if (!tool.agent || !tool.command.empty()) check_command(tool.command, at({"tools", name, "command"}));
    check_agent(name, tool);
    check_limit(tool.timeout, at({"tools", name, "timeout"}));
    check_limit(tool.no_output_timeout, at({"tools", name, "no_output_timeout"}));
    check_variables(tool.env, at({"tools", name, "env"}));
    for (const char* key : {"pass_env", "secrets"}) {
      const auto& names = std::string_view(key) == "secrets" ? tool.secrets : tool.pass_env;
      for (std::size_t i = 0; i < names.size(); ++i) check_variable(names[i], item(at({"tools", name, key}), i));
    }
    for (std::size_t i = 0; i < tool.failure_markers.size(); ++i) {
      const re2::RE2 expression(tool.failure_markers[i], re2::RE2::Quiet);
      if (expression.ok()) continue;
      binder_.report(item(at({"tools", name, "failure_markers"}), i), ErrorCode::config_bad_pattern,
                     fmt::format("invalid regular expression: {}", base::visible(expression.error())),
                     "use RE2 syntax; backslashes are literal in single quotes");
    }
    check_size(tool.output_cap, at({"tools", name, "output_cap"}));
    if (tool.speaks == model::Speaks::reeve && tool.mode != model::RunMode::stream) {
      binder_.report(at({"tools", name, "speaks"}), ErrorCode::config_not_stream,
                     "`speaks: reeve` needs `mode: stream`: replies to tool calls go to standard input",
                     "add `mode: stream`, or remove `speaks`");
    }
  }

  // AGT-4. The adapter decides how an agent is started, answered and resumed. Values that are the default are accepted,
  // because the shown config has all keys.
  void check_agent(const std::string& name, const model::ToolProfile& tool) {
    const model::ToolProfile plain;
    const auto report = [&](const char* key, bool is_wrong, ErrorCode code, const std::string& what, const char* fix) {
      if (is_wrong) binder_.report(at({"tools", name, key}), code, what, fix);
    };
    const auto needs = [&](const char* key, bool is_wrong) {
      report(key, is_wrong, ErrorCode::config_needs_agent, fmt::format("`{}` concerns only agents", key),
             "add `agent: …`, or remove it");
    };
    const auto refuse = [&](const char* key, bool is_wrong) {
      report(key, is_wrong, ErrorCode::config_not_for_agents,
             fmt::format("`{}` has no place beside `agent`: the agent's adapter decides it", key),
             "remove it, or write `command` without `agent`");
    };
    if (!tool.agent) {
      needs("release_after", tool.release_after != plain.release_after);
      needs("model", tool.model.has_value());
      report("agent", tool.command.empty() && find({"tools", name, "agent"}) != nullptr, ErrorCode::config_missing_key,
             "`command` is missing, and `agent` names no agent", "name one, such as `agent: claude`");
      return;
    }
    report("agent", *tool.agent == model::AgentKind::acp && tool.command.empty(), ErrorCode::config_missing_key,
           "`agent: acp` needs the agent's `command`", "add `command: [PROGRAM, …]`, such as [goose, acp]");
    refuse("mode", tool.mode != plain.mode);
    refuse("resume", tool.resume != plain.resume);
    refuse("resume_args", !tool.resume_args.empty());
    refuse("on_prompt", tool.on_prompt != plain.on_prompt);
    refuse("speaks", tool.speaks != plain.speaks);
    refuse("failure_markers", !tool.failure_markers.empty());
  }

  void check_role(const std::string& name, const model::Role& role) {
    if (role.tool && !config_.tools.contains(*role.tool)) {
      binder_
          .report_unknown(at({"roles", name, "tool"}), ErrorCode::config_unknown_tool, "tool", *role.tool,
                          keys_of(config_.tools))
          .fix = "add it under `tools:` with its command";
    }
    check_template(role.prompt, at({"roles", name, "prompt"}), binder_);
    check_limit(role.timeout, at({"roles", name, "timeout"}));
    check_limit(role.no_output_timeout, at({"roles", name, "no_output_timeout"}));
    if (role.max_tokens) check_number(*role.max_tokens, 1, INT64_MAX, at({"roles", name, "max_tokens"}));
    if (role.temperature && (*role.temperature < 0 || *role.temperature > 2)) {
      binder_.report(at({"roles", name, "temperature"}), ErrorCode::config_out_of_range, "must be from 0 to 2");
    }
  }

  void check_gate(const std::string& name, const model::Gate& gate) {
    check_command(gate.command, at({"gates", name, "command"}));
    check_limit(gate.timeout, at({"gates", name, "timeout"}));
    check_variables(gate.env, at({"gates", name, "env"}));
    if (!stays_beneath(gate.working_dir)) {
      binder_.report(at({"gates", name, "working_dir"}), ErrorCode::config_path_outside,
                     fmt::format("{} is outside the checkout", base::quoted(gate.working_dir)),
                     "use a path inside the project folder");
    }
    for (std::size_t i = 0; i < gate.depends_on.size(); ++i) {
      if (config_.gates.contains(gate.depends_on[i])) continue;
      binder_.report_unknown(item(at({"gates", name, "depends_on"}), i), ErrorCode::config_unknown_gate, "gate",
                             gate.depends_on[i], keys_of(config_.gates));
    }
  }

  // Removes gates without open dependencies until none is left to remove; the rest form a cycle.
  void check_gate_order() {
    std::map<std::string_view, std::size_t> waits_for;
    std::map<std::string_view, std::vector<std::string_view>> followers;
    for (const auto& [name, gate] : config_.gates) {
      std::size_t& count = waits_for[name];
      for (const std::string& other : gate.depends_on) {
        if (!config_.gates.contains(other)) continue;
        ++count;
        followers[other].push_back(name);
      }
    }
    std::vector<std::string_view> free;
    for (const auto& [name, count] : waits_for) {
      if (count == 0) free.push_back(name);
    }
    for (std::size_t i = 0; i < free.size(); ++i) {
      for (const std::string_view follower : followers[free[i]]) {
        if (--waits_for[follower] == 0) free.push_back(follower);
      }
      waits_for.erase(free[i]);
    }
    if (waits_for.empty()) return;
    const std::vector<std::string> left = keys_of(waits_for);
    binder_.report(
        at({"gates", left.front(), "depends_on"}), ErrorCode::config_gate_cycle,
        fmt::format("these gates depend on each other: {}", base::fit_width(base::join(left, ", "), 200, false)),
        "remove one of the dependencies");
  }

  void check_settings() {
    using std::chrono::milliseconds;
    const model::Supervision& s = config_.supervision;
    check_duration(s.poll_interval, milliseconds(100), at({"supervision", "poll_interval"}));
    check_duration(s.lease, milliseconds(1000), at({"supervision", "lease"}));
    check_duration(s.adopt_grace, s.lease, at({"supervision", "adopt_grace"}));
    check_number(s.resume_attempts, 1, 100, at({"supervision", "resume_attempts"}));
    check_number(s.max_parallel_runs, 1, 10'000, at({"supervision", "max_parallel_runs"}));
    for (const auto& [name, limit] :
         {std::pair("runs", config_.retention.runs), {"output", config_.retention.output}}) {
      if (limit.after) check_duration(*limit.after, std::chrono::days(1), at({"retention", name}));
    }
    check_number(config_.log.rotate_keep, 0, 10'000, at({"log", "rotate_keep"}));
    check_size(config_.log.rotate_size, at({"log", "rotate_size"}));
    const std::string& store = config_.store;
    if (store != "sqlite" && !store.starts_with("postgresql://") && !store.starts_with("postgres://")) {
      report_address(at({"store"}), ErrorCode::config_bad_store,
                     fmt::format("{} is not a valid store", base::quoted(base::mask_address(store))),
                     "sqlite, postgresql://user@host/database");
    }
    check_address(config_.server.http);
    for (std::size_t i = 0; i < config_.server.allowed_hosts.size(); ++i)
      check_host(config_.server.allowed_hosts[i], i);
  }

  // Allows "reeve.example", "reeve.example:8443", "[2001:db8::1]": nothing else can be a Host.
  void check_host(const std::string& host, std::size_t index) {
    const bool is_host = !host.empty() && host.size() <= 255 && std::ranges::all_of(host, [](char c) {
      return base::is_ascii_letter(c) || base::is_ascii_digit(c) || std::string_view(".-_:[]").contains(c);
    });
    if (is_host) return;
    binder_.report(item(at({"server", "allowed_hosts"}), index), ErrorCode::config_bad_host,
                   fmt::format("{} is not a valid host", base::quoted(host)),
                   "write it as reeve.example or reeve.example:8443");
  }

  void check_address(const std::string& address) {
    if (address == "off") return;
    const std::size_t colon = address.rfind(':');
    const std::string_view port = colon == std::string::npos ? "" : std::string_view(address).substr(colon + 1);
    const bool is_number = !port.empty() && port.size() <= 5 && std::ranges::all_of(port, base::is_ascii_digit);
    if (colon != std::string::npos && colon > 0 && is_number && std::stoi(std::string(port)) <= 65535) return;
    binder_
        .report(at({"server", "http"}), ErrorCode::config_bad_address,
                fmt::format("{} is not a valid address", base::quoted(address)))
        .allowed = "off, 127.0.0.1:7433, [::1]:7433";
  }

  // Omits the source line, which may contain a password.
  void report_address(const YamlNode& place, base::ErrorCode code, std::string message, std::string_view allowed) {
    base::Problem& problem = binder_.report(place, code, std::move(message));
    problem.allowed = allowed;
    if (problem.place) problem.place->source_line.clear();
  }

  void check_fallbacks() {
    for (const auto& [tool, others] : config_.agents.fallback_tools) {
      const bool is_named = !tool.empty() && !others.empty() && std::ranges::find(others, "") == others.end();
      if (is_named) continue;
      binder_.report(at({"agents", "fallback_tools", tool}), ErrorCode::config_bad_fallback,
                     fmt::format("{} has no alternative", base::quoted(tool)), "name the tools to use instead: [grep]");
    }
  }

  void check_worktree() {
    for (std::size_t i = 0; i < config_.worktree.setup.size(); ++i) {
      check_command(config_.worktree.setup[i], item(at({"worktree", "setup"}), i));
    }
    for (std::size_t i = 0; i < config_.worktree.copy.size(); ++i) {
      if (stays_beneath(config_.worktree.copy[i])) continue;
      binder_.report(item(at({"worktree", "copy"}), i), ErrorCode::config_path_outside,
                     fmt::format("{} is outside the project", base::quoted(config_.worktree.copy[i])),
                     "use a path inside the project folder");
    }
  }

  void check_notification(std::size_t index) {
    const model::Notification& notification = config_.notify[index];
    const YamlNode& place = item(at({"notify"}), index);
    if (notification.command.empty() != notification.webhook.has_value()) {
      binder_.report(place, ErrorCode::config_command_or_webhook,
                     notification.webhook ? "the notification has both `command` and `webhook`"
                                          : "the notification has neither `command` nor `webhook`",
                     "use exactly one of them");
    }
    if (notification.on.empty() && place.find("on") != nullptr) {
      binder_.report(*place.find("on"), ErrorCode::config_no_event,
                     "`on` is empty, so the notification would never be sent");
    }
    const std::string url = notification.webhook.value_or("https://");
    if (!url.starts_with("https://") && !url.starts_with("http://")) {
      report_address(*place.find("webhook"), ErrorCode::config_bad_address,
                     fmt::format("{} is not a valid URL", base::quoted(base::mask_address(url))),
                     "https://…, http://…");
    }
    if (notification.secret_env && !is_variable_name(*notification.secret_env)) {
      binder_.report(*place.find("secret_env"), ErrorCode::config_bad_variable,
                     fmt::format("{} is not a valid variable name", base::quoted(*notification.secret_env)));
    }
    check_webhook_keys(notification, place);
    for (std::size_t i = 0; i < notification.command.size(); ++i) {
      const YamlNode* list = place.find("command");
      check_placeholders(notification.command[i], list != nullptr ? item(*list, i) : place);
    }
  }

  // A shown config has every key, with its default.
  static bool is_said(const model::Notification& notification, std::string_view key) {
    if (key == "format") return notification.format != model::NotifyFormat::event;
    return key == "secret_env" ? notification.secret_env.has_value() : notification.secret_file.has_value();
  }

  void check_webhook_keys(const model::Notification& notification, const YamlNode& place) {
    if (notification.secret_env && notification.secret_file) {
      binder_.report(*place.find("secret_file"), ErrorCode::config_two_secrets,
                     "the notification has both `secret_env` and `secret_file`", "use only one of them");
    }
    if (notification.webhook) return;
    for (const std::string_view key : {"format", "secret_env", "secret_file"}) {
      if (const YamlNode* found = place.find(key); found != nullptr && is_said(notification, key)) {
        binder_.report(*found, ErrorCode::config_no_webhook, fmt::format("`{}` applies to webhooks only", key),
                       "remove it: a command gets its text by placeholders such as {title} and {body}");
      }
    }
  }

  // `${name}` belongs to a shell, and braces around anything else than one lower-case word have no meaning here.
  void check_placeholders(std::string_view word, const YamlNode& place) {
    const auto is_part = [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); };
    for (std::size_t open = word.find('{'); open != std::string_view::npos; open = word.find('{', open + 1)) {
      const std::size_t close = word.find('}', open);
      if (close == std::string_view::npos) return;
      const std::string_view name = word.substr(open + 1, close - open - 1);
      const bool is_name = !name.empty() && std::ranges::all_of(name, is_part);
      const bool is_shell = open > 0 && word[open - 1] == '$';
      if (!is_name || is_shell ||
          std::ranges::find(model::notify_placeholders, name) != model::notify_placeholders.end())
        continue;
      const std::vector<std::string> known(model::notify_placeholders.begin(), model::notify_placeholders.end());
      binder_.report_unknown(place, ErrorCode::config_unknown_placeholder, "placeholder", name, known);
    }
  }

  const model::Config& config_;
  const YamlNode& root_;
  const std::function<bool(const YamlNode&)>& is_from_project_;
  Binder& binder_;
};

}  // namespace

void check_config(const model::Config& config, const YamlNode& root,
                  const std::function<bool(const YamlNode&)>& is_from_project, Binder& binder) {
  ConfigCheck(config, root, is_from_project, binder).check();
}

}  // namespace reeve::spec
