#include "cli/sources.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/connect.h"
#include "cli/host.h"
#include "cli/state_survey.h"
#include "client/approvals.h"
#include "client/calls.h"
#include "client/executions.h"
#include "client/grants.h"
#include "client/patches.h"
#include "client/refusal.h"
#include "client/runs.h"
#include "project/project.h"
#include "project/registry.h"
#include "project/state_folder.h"
#include "project/state_identity.h"
#include "view/project_names.h"

namespace reeve::cli {

namespace {

namespace fs = std::filesystem;
using base::ErrorCode;

constexpr std::string_view common_name = "common";

bool is_id(const std::string& word) {
  return base::RunId::parse(word) || base::ApprovalId::parse(word) || base::ExecutionId::parse(word) ||
         base::PatchId::parse(word) || base::TaskId::parse(word) || base::CallId::parse(word) ||
         base::GrantId::parse(word);
}

// The registered state folders in which a daemon has run: the common one, and those of projects. Folders that were
// named with --state are known only by their paths.
std::vector<OtherState> find_states() {
  const auto registry = project::Registry::find();
  if (!registry) return {};
  const auto common = project::find_common_state();
  std::vector<std::pair<fs::path, std::optional<model::ProjectRef>>> found;
  view::ProjectNames names;
  // A project of that name is called by more of its path.
  names.add(model::make_project_ref(std::string(common_name)));
  for (const project::KnownPlace& place : registry->list()) {
    if (place.kind != project::KnownPlace::Kind::state) continue;
    const project::StateFolder folder{.root = place.path};
    std::error_code error;
    if (!fs::exists(folder.lock(), error)) continue;
    const bool is_common = common && fs::equivalent(common->root, place.path, error);
    const auto of = folder.project();
    if (!is_common && !of) continue;
    found.emplace_back(place.path, is_common ? std::nullopt : std::optional(model::make_project_ref(of->string())));
    names.add(found.back().second);
  }
  std::vector<OtherState> states;
  for (const auto& [path, project] : found) {
    states.push_back({.name = project ? names.of(project) : std::string(common_name), .folder = path});
  }
  std::ranges::sort(states, {}, &OtherState::name);
  return states;
}

client::DaemonPlace place_of(const OtherState& state) {
  const project::StateFolder folder{.root = state.folder};
  return {.folder = folder.root, .socket = folder.socket(), .no_start = "a listing starts no daemon"};
}

bool has_record(client::Daemon& daemon, const std::string& word) try {
  if (const auto run = base::RunId::parse(word)) return client::get_run(daemon, *run), true;
  if (const auto approval = base::ApprovalId::parse(word)) return client::get_approval(daemon, *approval), true;
  if (const auto execution = base::ExecutionId::parse(word)) {
    return client::get_execution(daemon, *execution, client::NodeText::brief), true;
  }
  if (const auto patch = base::PatchId::parse(word)) return client::get_patch(daemon, *patch), true;
  if (const auto call = base::CallId::parse(word)) return client::get_call(daemon, *call), true;
  if (const auto grant = base::GrantId::parse(word)) return client::get_grant(daemon, *grant), true;
  return false;
} catch (const base::Error&) {
  return false;
}

// Running, and registered for exactly this folder: nothing is read from a folder that was put in its place.
bool is_reachable(const OtherState& state) try {
  project::check_state_folder(state.folder);
  return client::Daemon(place_of(state)).is_running();
} catch (const base::Error&) {
  return false;
}

// Whether something in a stopped state folder is unfinished, read from its database. Nothing if it cannot be read, or
// is not the registered folder.
std::optional<bool> has_open_work(const OtherState& state) try {
  project::check_state_folder(state.folder);
  std::error_code error;
  if (!fs::exists(state.folder / "reeve.db", error)) return std::nullopt;
  const StateSurvey survey = survey_state(state.folder / "reeve.db");
  return survey.runs + survey.executions + survey.approvals > 0;
} catch (const base::Error&) {
  return std::nullopt;
}

// Checked first, because the folder is used although the call does not name it.
Source make_started(const OtherState& state) {
  project::check_state_folder(state.folder);
  return {.daemon = client::Daemon(place_in({.root = state.folder})), .prefix = state.name};
}

}  // namespace

bool names_host(const Call& call) { return call.arguments.has("--host") || project::variable("REEVE_HOST"); }

bool names_state(const Call& call) {
  return call.arguments.has("--state") || project::variable("REEVE_STATE") || names_host(call);
}

std::vector<OtherState> find_other_states(const Call& call) {
  if (names_state(call)) return {};
  const fs::path own = project::find_state_folder(std::nullopt, ".").root;
  std::vector<OtherState> states = find_states();
  std::erase_if(states, [&](const OtherState& state) {
    std::error_code error;
    return state.folder == own || fs::equivalent(state.folder, own, error);
  });
  return states;
}

std::optional<std::pair<std::string, std::string>> split_prefixed_id(const std::string& word) {
  const std::size_t slash = word.rfind('/');
  if (slash == std::string::npos || slash == 0) return std::nullopt;
  std::string id = word.substr(slash + 1);
  if (!is_id(id)) return std::nullopt;
  return std::pair(word.substr(0, slash), std::move(id));
}

std::string without_prefix(const std::string& word) {
  auto split = split_prefixed_id(word);
  return split ? std::move(split->second) : word;
}

std::optional<fs::path> find_prefixed_state(const Call& call) {
  std::set<std::string> prefixes;
  for (const std::string& word : call.arguments.ids()) {
    const auto split = split_prefixed_id(word);
    prefixes.insert(split ? split->first : std::string());
  }
  // No id has a prefix.
  if (prefixes.empty() || (prefixes.size() == 1 && prefixes.begin()->empty())) return std::nullopt;
  if (prefixes.size() > 1) {
    throw base::Error(ErrorCode::cli_usage, "the ids belong to different state folders", "use one command for each");
  }
  const std::string& prefix = *prefixes.begin();
  if (names_state(call)) {
    throw base::Error(ErrorCode::cli_usage,
                      fmt::format("an id of {} cannot be combined with a state folder or host", base::quoted(prefix)),
                      "leave out the prefix, or --state and --host (also REEVE_STATE and REEVE_HOST)");
  }
  std::vector<std::string> known;
  for (const OtherState& state : find_states()) {
    if (state.name == prefix) return state.folder;
    known.push_back(state.name);
  }
  throw base::Error(
      ErrorCode::cli_usage, fmt::format("no state folder is called {}", base::quoted(prefix)),
      known.empty() ? std::string("leave out the prefix") : fmt::format("known: {}", base::join(known, ", ")));
}

MoreSources find_more_sources(const Call& call, const Scope& scope, Stopped stopped) {
  MoreSources more;
  const auto& only = scope.other_state();
  if (scope.is_limited() && !only) return more;
  for (const OtherState& state : find_other_states(call)) {
    std::error_code error;
    if (only && state.folder != *only && !fs::equivalent(state.folder, *only, error)) continue;
    if (is_reachable(state)) {
      more.sources.push_back({.daemon = client::Daemon(place_of(state)), .prefix = state.name});
      continue;
    }
    if (only && !is_inside_run()) {
      more.sources.push_back(make_started(state));
      continue;
    }
    if (stopped == Stopped::started) {
      const std::optional<bool> is_busy = has_open_work(state);
      if (is_busy == false) continue;
      if (is_busy && !is_inside_run()) {
        client::DaemonPlace place = place_in({.root = state.folder});
        more.sources.push_back({.daemon = client::Daemon(std::move(place)), .prefix = state.name});
        continue;
      }
    }
    ++more.left_out;
    print_aside("not included: {}, which has its own state and no running daemon (reeve --state {})\n", state.name,
                base::visible(state.folder.string()));
  }
  return more;
}

Source find_source(const Call& call, const Scope& scope) {
  const auto& only = scope.other_state();
  if (!only) return {.daemon = client::Daemon(daemon_place(call)), .prefix = {}};
  for (const OtherState& state : find_other_states(call)) {
    std::error_code error;
    if (state.folder == *only || fs::equivalent(state.folder, *only, error)) return make_started(state);
  }
  throw base::Error(ErrorCode::project_unknown,
                    fmt::format("nothing has run in the state folder {} yet", base::quoted(only->string())),
                    "start a run in that project");
}

Source find_patient_source(const Call& call, const Scope& scope) {
  Source source = find_source(call, scope);
  client::DaemonPlace place = source.daemon.place();
  place.keeps_waiting = true;
  return {.daemon = client::Daemon(std::move(place)), .prefix = std::move(source.prefix)};
}

void report_left_out(const Source& source, const base::Error& error) {
  print_aside("not included: {}: {}\n", source.prefix, base::visible(error.message()));
}

namespace {

base::Value mark(base::Value record, const fs::path& folder, const std::string& prefix) {
  if (record.as_object() == nullptr) return record;
  record.set("state_folder", base::Value::string(base::replace_invalid_utf8(folder.string())));
  // A script that passes the id on must not reach the record of the same id in the common state folder.
  constexpr auto keys = std::to_array<std::string_view>(
      {"approval_id", "patch_id", "tool_run_id", "execution_id", "task_id", "call_id", "grant_id", "pipeline_id"});
  for (base::Member& member : *record.as_object()) {
    const std::string* id = std::ranges::find(keys, member.key) != keys.end() ? member.value.as_string() : nullptr;
    if (id != nullptr) member.value = base::Value::string(fmt::format("{}/{}", prefix, *id));
  }
  return record;
}

}  // namespace

base::Value mark_source(base::Value record, const Source& source) {
  return source.prefix.empty() ? std::move(record)
                               : mark(std::move(record), source.daemon.place().folder, source.prefix);
}

base::Value mark_source(base::Value record, const Call& call, const client::Daemon& daemon) {
  return call.prefix.empty() ? std::move(record) : mark(std::move(record), daemon.place().folder, call.prefix);
}

std::string find_elsewhere(const Call& call) {
  const std::vector<std::string>& ids = call.arguments.ids();
  return ids.size() == 1 ? find_elsewhere(call, ids.front()) : std::string();
}

std::string find_elsewhere(const Call& call, const std::string& word) try {
  if (!is_id(word)) return {};
  for (const OtherState& state : find_other_states(call)) {
    if (!is_reachable(state)) continue;
    client::Daemon daemon(place_of(state));
    if (!has_record(daemon, word)) continue;
    const std::string id = base::to_ascii_upper(word);
    const std::string_view article = std::string_view("AE").contains(id.front()) ? "an" : "a";
    return fmt::format("{} has {} {}: reeve show {}/{}", state.name, article, id, state.name, id);
  }
  return {};
} catch (const base::Error&) {
  // Only a hint: the error that it belongs to is reported.
  return {};
}

}  // namespace reeve::cli
