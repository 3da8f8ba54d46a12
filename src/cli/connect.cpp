#include "cli/connect.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/host.h"
#include "cli/sources.h"
#include "cli/state_option.h"
#include "client/approvals.h"
#include "client/executions.h"
#include "client/patches.h"
#include "client/pipelines.h"
#include "client/runs.h"
#include "os/descent_mark.h"
#include "os/lineage.h"
#include "project/project.h"
#include "project/state_folder.h"
#include "project/state_identity.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

bool is_other_id(const std::string& word) {
  return base::ApprovalId::parse(word) || base::ExecutionId::parse(word) || base::AgentId::parse(word) ||
         base::TaskId::parse(word) || base::PatchId::parse(word);
}

// Variables of the starting client that the daemon needs: its settings, and for notifications the user's desktop
// session and the webhook keys.
std::vector<std::string> daemon_variables(const project::StateFolder& folder) try {
  std::vector<std::string> names = project::setting_variables();
  const project::FoundConfig found = project::load_config_of(folder);
  if (!found.loaded || found.loaded->config().notify.empty()) return names;
  names.insert(names.end(), project::hook_variables.begin(), project::hook_variables.end());
  for (const model::Notification& entry : found.loaded->config().notify) {
    if (entry.secret_env) names.push_back(*entry.secret_env);
  }
  return names;
} catch (const base::Error&) {
  // Config errors are reported by the daemon, which reads it too.
  return project::setting_variables();
}

void prepare_folder(const project::StateFolder& folder) {
  try {
    const project::OpenedState opened = project::open_state_folder(folder.root);
    project::refuse_links(folder.root, 2);
    if (opened.was_removed) {
      print_aside("note: the state folder {} was removed, along with its runs and approvals; creating an empty one\n",
                  base::quoted(folder.root.string()));
    }
  } catch (const base::Error& error) {
    if (!error.is_in(base::ErrorArea::file)) throw;
    throw base::Error(
        ErrorCode::daemon_unavailable,
        fmt::format("cannot use the state folder {}: {}", base::quoted(folder.root.string()), error.message()),
        "use another: --state DIR or REEVE_STATE");
  }
}

// "ap31", "31" and "AP_31" → AP-31.
template <class Id>
std::string meant(const std::string& word) {
  const std::size_t digits = word.find_first_of("123456789");
  if (digits == std::string::npos) return {};
  const std::string head = base::to_ascii_lower(word.substr(0, digits));
  const std::string prefix = base::to_ascii_lower(Id::prefix);
  const bool is_near = head.empty() || head == "#" || head == prefix || head == prefix + "_" || head == prefix + " " ||
                       head == prefix + "-0";
  const auto id = is_near ? Id::parse(fmt::format("{}-{}", Id::prefix, word.substr(digits))) : std::nullopt;
  return id ? fmt::format("did you mean `{}`?", id->text()) : std::string();
}

// Reported once per cause, however many connections are waiting.
void tell_waiting(const client::Silence& silence) {
  static std::mutex mutex;
  static std::string told;
  const std::lock_guard lock(mutex);
  if (std::exchange(told, silence.what) == silence.what) return;
  print_aside("Waiting for {}.{}{}\n", base::visible(silence.what),
              silence.fix.empty() ? "" : "\n  = ", base::visible(silence.fix));
}

[[noreturn]] void refuse_run(client::Daemon& daemon, base::RunId run) {
  const auto asked = client::list_approvals(daemon, {.run = run}, 1);
  throw base::Error(ErrorCode::cli_usage, fmt::format("{} is a run, not an approval", run.text()),
                    asked.empty()
                        ? "it has no pending question; `reeve approvals` lists them all"
                        : fmt::format("its pending question is {}", asked.front().approval.approval_id.text()));
}

}  // namespace

bool is_inside_run() {
  // Found once: reading all ancestors takes a noticeable part of a short command.
  static const bool is_inside = [] {
    if (project::variable("REEVE_RUN_ID")) return true;
    if (const auto limit = os::find_lock_limit(::getpid()); limit && os::is_descent_mark(*limit)) return true;
    const auto self = os::identify(::getpid());
    const auto lineage = self ? os::find_lineage(*self) : std::vector<os::ProcessId>();
    return std::ranges::any_of(
        lineage, [](const os::ProcessId& id) { return os::runs_program(id.pid, "reeve-keeper", "hold"); });
  }();
  return is_inside;
}

client::DaemonPlace daemon_place(const Call& call) {
  client::DaemonPlace place = find_daemon_place(call);
  if (!place.host) project::check_state_place(place.folder);
  return place;
}

client::DaemonPlace find_daemon_place(const Call& call) {
  auto prefixed = find_prefixed_state(call);
  if (auto host = find_host(call)) {
    client::DaemonPlace place{.tell = tell_waiting};
    static bool is_noted = false;
    if (!host->is_loopback() && !host->is_encrypted && !std::exchange(is_noted, true)) {
      print_aside("note: traffic to {}, including the token, is not encrypted; use https://\n", host->url());
    }
    place.host = std::move(*host);
    return place;
  }
  project::StateFolder folder = find_state_option(call);
  if (prefixed) folder.root = std::move(*prefixed);
  return place_in(folder);
}

client::DaemonPlace place_in(const project::StateFolder& folder) {
  client::DaemonPlace place{.folder = folder.root, .socket = folder.socket(), .tell = tell_waiting};
  place.prepare = [folder] { prepare_folder(folder); };
  place.variables = [folder] { return daemon_variables(folder); };
  if (is_inside_run()) place.no_start = "clients inside a run do not start one";
  return place;
}

std::optional<std::string> project_here(const client::DaemonPlace& place) {
  const auto project = place.host ? std::nullopt : project::find_project(".");
  if (!project || base::find_invalid_utf8(project->string())) return std::nullopt;
  return project->string();
}

std::optional<std::string> folder_here(const client::DaemonPlace& place) {
  if (auto project = project_here(place)) return project;
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (place.host || error || base::find_invalid_utf8(here.string())) return std::nullopt;
  return here.string();
}

client::DaemonPlace patient_place(const Call& call) {
  client::DaemonPlace place = daemon_place(call);
  place.keeps_waiting = true;
  return place;
}

void refuse_host(const Call& call, std::string_view command) {
  if (!call.arguments.has("--host")) return;
  throw base::Error(ErrorCode::cli_usage,
                    fmt::format("`reeve {}` works only on this machine and does not accept `--host`", command),
                    "run it on that machine");
}

bool is_elsewhere(const client::DaemonPlace& place) { return place.host && !place.host->is_loopback(); }

base::RunId find_run(client::Daemon& daemon, const std::string& word) {
  if (word == "@last") {
    const auto newest = client::list_runs(daemon, {}, 1);
    if (newest.empty())
      throw base::Error(ErrorCode::run_not_found, "there are no runs yet", "start one: reeve run -- COMMAND");
    return newest.front().run.tool_run_id;
  }
  if (const auto id = base::RunId::parse(word)) return *id;
  if (const auto execution = base::ExecutionId::parse(word)) {
    throw base::Error(ErrorCode::run_not_found, fmt::format("{} is an execution, not a run", execution->text()),
                      fmt::format("list its runs: reeve flow show {}", execution->text()));
  }
  if (is_other_id(word)) {
    throw base::Error(ErrorCode::run_not_found, fmt::format("{} is not a run", base::quoted(word)),
                      "list runs: reeve runs");
  }
  throw base::Error(ErrorCode::cli_usage, fmt::format("{} is not a valid run id", base::quoted(word)),
                    "ids look like TR-17; @last is the newest; `reeve runs` lists them");
}

base::ApprovalId find_approval(client::Daemon& daemon, const std::string& word) {
  if (word == "@last") {
    const auto newest = client::list_approvals(daemon, {.all = true}, 1);
    if (newest.empty())
      throw base::Error(ErrorCode::approval_not_found, "there are no approvals yet", "list them: reeve approvals");
    return newest.front().approval.approval_id;
  }
  if (const auto id = base::ApprovalId::parse(word)) return *id;
  if (const auto run = base::RunId::parse(word)) refuse_run(daemon, *run);
  std::string fix = meant<base::ApprovalId>(word);
  if (fix.empty()) fix = "ids look like AP-4; @last is the newest; `reeve approvals` lists them";
  throw base::Error(ErrorCode::cli_usage, fmt::format("{} is not a valid approval id", base::quoted(word)),
                    std::move(fix));
}

base::ExecutionId find_execution(client::Daemon& daemon, const std::string& word) {
  if (word == "@last") {
    const auto newest = client::list_executions(daemon, {}, 1);
    if (newest.empty()) {
      throw base::Error(ErrorCode::execution_not_found, "there are no executions yet",
                        "start one: reeve flow run FILE");
    }
    return newest.front().execution.execution_id;
  }
  if (const auto id = base::ExecutionId::parse(word)) return *id;
  throw base::Error(ErrorCode::cli_usage, fmt::format("{} is not a valid execution id", base::quoted(word)),
                    "ids look like EX-9; @last is the newest; `reeve flow list` lists them");
}

base::PatchId find_patch(client::Daemon& daemon, const std::string& word) {
  if (word == "@last") {
    const auto newest = client::list_patches(daemon, {}, 1);
    if (newest.empty())
      throw base::Error(ErrorCode::patch_not_found, "there are no patches yet", "list them: reeve patch list");
    return newest.front().patch.patch_id;
  }
  if (const auto id = base::PatchId::parse(word)) return *id;
  std::string fix = meant<base::PatchId>(word);
  if (fix.empty()) fix = "ids look like PA-3; @last is the newest; `reeve patch list` lists them";
  throw base::Error(ErrorCode::cli_usage, fmt::format("{} is not a valid patch id", base::quoted(word)),
                    std::move(fix));
}

base::ExecutionId find_pipeline(client::Daemon& daemon, const std::string& word) {
  if (word == "@last") {
    const auto newest = client::list_pipelines(daemon, {}, 1);
    if (newest.empty()) {
      throw base::Error(ErrorCode::pipeline_not_found, "no pipeline has been started yet",
                        "start one: reeve pipeline start NAME --prompt P");
    }
    return newest.front().pipeline.pipeline_id;
  }
  if (const auto id = base::ExecutionId::parse(word)) return *id;
  throw base::Error(ErrorCode::cli_usage, fmt::format("{} is not a valid pipeline id", base::quoted(word)),
                    "ids look like EX-9; @last is the newest; `reeve pipeline list` lists them");
}

std::size_t limit_of(const Call& call, std::size_t fallback) {
  constexpr std::size_t most = 10'000;
  const auto word = call.arguments.value("--limit");
  if (!word) return fallback;
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), limit);
  if (error != std::errc() || end != word->data() + word->size() || limit == 0 || limit > most) {
    throw base::Error(ErrorCode::cli_usage, fmt::format("--limit must be 1 to {}", most));
  }
  return limit;
}

}  // namespace reeve::cli
