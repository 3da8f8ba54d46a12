#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/quantity.h"
#include "model/describe.h"
#include "model/policy.h"
#include "model/risk.h"
#include "model/run.h"
#include "model/workflow.h"

// The config file (SPEC §7). Every value has its default here; field names are the YAML keys.
namespace reeve::model {

// RUN-10, as written in the config: `approve`, `fail` or `answer=TEXT`.
struct OnPrompt {
  PromptAction action = PromptAction::approve;
  // For `answer`.
  std::string text;
  friend bool operator==(const OnPrompt&, const OnPrompt&) = default;
};
std::optional<OnPrompt> parse_on_prompt(std::string_view text);
std::string format_config_word(const OnPrompt& on_prompt);
std::optional<OnPrompt> parse_config_word(std::string_view text, const OnPrompt*);

struct ToolProfile {
  std::vector<std::string> command;
  RunMode mode = RunMode::pipe;
  base::TimeLimit timeout = base::TimeLimit::of(std::chrono::seconds(1800));
  base::TimeLimit no_output_timeout = base::TimeLimit::of(std::chrono::seconds(300));
  OnStall on_stall = OnStall::mark;
  Liveness liveness = Liveness::activity;
  OnPrompt on_prompt;
  ResumeWay resume = ResumeWay::rerun;
  std::vector<std::string> resume_args;
  OnInterrupted on_interrupted = OnInterrupted::ask;
  std::vector<std::string> pass_env;
  std::map<std::string, std::string> env;
  std::vector<std::string> secrets;
  Headless headless = Headless::safe;
  Sandbox sandbox = Sandbox::none;
  // Regular expressions; a line that matches one is a failure marker (RUN-6).
  std::vector<std::string> failure_markers;
  base::Milliseconds kill_grace = std::chrono::seconds(5);
  base::Milliseconds result_grace = std::chrono::seconds(30);
  bool keep_descendants = false;
  base::ByteSize output_cap{1ULL << 30U};
  Speaks speaks = Speaks::nothing;
  // AGT-4: the tool is this agent behind its adapter; `command` is then the agent's own program.
  std::optional<AgentKind> agent;
  // AGT-6: how long the agent's process is kept while a person thinks.
  base::TimeLimit release_after = base::TimeLimit::of(std::chrono::minutes(5));
  // The agent's name of its model.
  std::optional<std::string> model;
  friend bool operator==(const ToolProfile&, const ToolProfile&) = default;
};
BOOST_DESCRIBE_STRUCT(ToolProfile, (),
                      (command, mode, timeout, no_output_timeout, on_stall, liveness, on_prompt, resume, resume_args,
                       on_interrupted, pass_env, env, secrets, headless, sandbox, failure_markers, kill_grace,
                       result_grace, keep_descendants, output_cap, speaks, agent, release_after, model))

struct Role {
  std::optional<std::string> tool;
  std::string prompt = "{input}";
  // Whether the task is appended to a prompt without `{input}`. Unset: yes, with a warning.
  std::optional<bool> prompt_takes_input;
  std::optional<base::TimeLimit> timeout;
  std::optional<base::TimeLimit> no_output_timeout;
  std::optional<Isolation> isolation;
  std::optional<std::string> model;
  std::optional<double> temperature;
  std::optional<std::int64_t> max_tokens;
  friend bool operator==(const Role&, const Role&) = default;
};
BOOST_DESCRIBE_STRUCT(Role, (),
                      (tool, prompt, prompt_takes_input, timeout, no_output_timeout, isolation, model, temperature,
                       max_tokens))

enum class GateSeverity { error, warning };
REEVE_DESCRIBE_ENUM(GateSeverity, error, warning)

enum class OnGateFail { block, retry_with_feedback, warn };
REEVE_DESCRIBE_ENUM(OnGateFail, block, retry_with_feedback, warn)

struct Gate {
  std::vector<std::string> command;
  base::TimeLimit timeout = base::TimeLimit::of(std::chrono::seconds(1800));
  std::map<std::string, std::string> env;
  // Relative to the checkout in which the gate runs.
  std::string working_dir = ".";
  std::vector<std::string> depends_on;
  GateSeverity severity = GateSeverity::error;
  OnGateFail on_fail = OnGateFail::block;
  // ISO-2; unset: the strictest sandbox of the execution's tasks.
  std::optional<Sandbox> sandbox;
  friend bool operator==(const Gate&, const Gate&) = default;
};
BOOST_DESCRIBE_STRUCT(Gate, (), (command, timeout, env, working_dir, depends_on, severity, on_fail, sandbox))

struct Policies {
  ToolPolicies tools;
  std::map<std::string, ToolPolicies> roles;
  friend bool operator==(const Policies&, const Policies&) = default;
};
BOOST_DESCRIBE_STRUCT(Policies, (), (tools, roles))

struct ApprovalExpiry {
  base::TimeLimit question = base::TimeLimit::of(std::chrono::hours(24));
  base::TimeLimit tool_call = base::TimeLimit::of(std::chrono::hours(24));
  base::TimeLimit human = base::TimeLimit::off();
  friend bool operator==(const ApprovalExpiry&, const ApprovalExpiry&) = default;
};
BOOST_DESCRIBE_STRUCT(ApprovalExpiry, (), (question, tool_call, human))

// RUN-14: which runs of people obey `max_parallel_runs`: those that ask for it, or all.
enum class QueueRuns { off, always };
REEVE_DESCRIBE_ENUM(QueueRuns, off, always)

struct Supervision {
  QueueRuns queue = QueueRuns::off;
  base::Milliseconds poll_interval = std::chrono::seconds(5);
  ApprovalExpiry approval_expiry;
  std::int64_t resume_attempts = 3;
  std::int64_t max_parallel_runs = 16;
  base::TimeLimit idle_exit = base::TimeLimit::of(std::chrono::seconds(60));
  base::Milliseconds lease = std::chrono::seconds(15);
  base::Milliseconds adopt_grace = std::chrono::seconds(60);
  friend bool operator==(const Supervision&, const Supervision&) = default;
};
BOOST_DESCRIBE_STRUCT(Supervision, (),
                      (queue, poll_interval, approval_expiry, resume_attempts, max_parallel_runs, idle_exit, lease,
                       adopt_grace))

struct LogSettings {
  base::ByteSize rotate_size{64ULL << 20U};
  std::int64_t rotate_keep = 10;
  friend bool operator==(const LogSettings&, const LogSettings&) = default;
};
BOOST_DESCRIBE_STRUCT(LogSettings, (), (rotate_size, rotate_keep))

// PEM files; a chain begins with the server's own certificate.
struct TlsSettings {
  std::string certificate;
  std::string key;
  friend bool operator==(const TlsSettings&, const TlsSettings&) = default;
};
BOOST_DESCRIBE_STRUCT(TlsSettings, (), (certificate, key))

struct ServerSettings {
  // "127.0.0.1:7433", or `off`.
  std::string http = "off";
  std::optional<TlsSettings> tls;
  // A proxy in front of the daemon terminates TLS, so the daemon may listen on any address.
  bool behind_proxy = false;
  // Accepted values of the Host header besides the address itself: "reeve.example", "reeve.example:8443".
  std::vector<std::string> allowed_hosts;
  friend bool operator==(const ServerSettings&, const ServerSettings&) = default;
};
BOOST_DESCRIBE_STRUCT(ServerSettings, (), (http, tls, behind_proxy, allowed_hosts))

struct WorktreeSettings {
  std::vector<std::vector<std::string>> setup;
  std::vector<std::string> copy;
  std::optional<std::string> remote;
  friend bool operator==(const WorktreeSettings&, const WorktreeSettings&) = default;
};
BOOST_DESCRIBE_STRUCT(WorktreeSettings, (), (setup, copy, remote))

enum class NotifyOn { approval_needed, stalled, failed, completed };
REEVE_DESCRIBE_ENUM(NotifyOn, approval_needed, stalled, failed, completed)

// What a webhook receives: the event as JSON; its text, with the title in a header (ntfy); a JSON object with title,
// body, both as `text` (Slack, Mattermost) and the event.
enum class NotifyFormat { event, text, message };
REEVE_DESCRIBE_ENUM(NotifyFormat, event, text, message)

struct Notification {
  std::vector<NotifyOn> on;
  // Exactly one of the two is set.
  std::vector<std::string> command;
  std::optional<std::string> webhook;
  NotifyFormat format = NotifyFormat::event;
  // The key for signing webhooks: an environment variable, or a file that only its owner can read; at most one is set.
  std::optional<std::string> secret_env;
  std::optional<std::string> secret_file;
  friend bool operator==(const Notification&, const Notification&) = default;
};
BOOST_DESCRIBE_STRUCT(Notification, (), (on, command, webhook, format, secret_env, secret_file))

// The names that may stand in braces in the command of a notification.
inline constexpr auto notify_placeholders =
    std::to_array<std::string_view>({"summary", "title", "body", "event", "id", "run", "execution", "question"});

// How long the records of finished work are kept, and the output files of runs.
struct Retention {
  base::TimeLimit runs = base::TimeLimit::of(std::chrono::days(90));
  // Failed and timed out runs, and failed executions, are kept.
  bool keep_failed = true;
  base::TimeLimit output = base::TimeLimit::of(std::chrono::days(30));
  friend bool operator==(const Retention&, const Retention&) = default;
};
BOOST_DESCRIBE_STRUCT(Retention, (), (runs, keep_failed, output))

// What is the same for all agents.
struct AgentSettings {
  // TOOL-6: the name of a tool that agents try to call → what they can use instead. Added to the built-in table.
  std::map<std::string, std::vector<std::string>> fallback_tools;
  friend bool operator==(const AgentSettings&, const AgentSettings&) = default;
};
BOOST_DESCRIBE_STRUCT(AgentSettings, (), (fallback_tools))

// Where the state of a project is kept: in the user's common state folder, or in `.reeve/state` of the project.
enum class StatePlace { user, project };
REEVE_DESCRIBE_ENUM(StatePlace, user, project)

struct Config {
  StatePlace state = StatePlace::user;
  // `sqlite`, or a PostgreSQL URL.
  std::string store = "sqlite";
  std::map<std::string, ToolProfile> tools;
  std::map<std::string, Role> roles;
  std::map<std::string, Gate> gates;
  Policies policies;
  AgentSettings agents;
  RiskLevels risk;
  Supervision supervision;
  LogSettings log;
  ServerSettings server;
  WorktreeSettings worktree;
  std::vector<Notification> notify;
  Retention retention;
  friend bool operator==(const Config&, const Config&) = default;
};
BOOST_DESCRIBE_STRUCT(Config, (),
                      (state, store, tools, roles, gates, policies, agents, risk, supervision, log, server, worktree,
                       notify, retention))

}  // namespace reeve::model
