#include "runtime/settings/execution_settings.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/redaction.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/file.h"
#include "runtime/runs/run_files.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

using base::Value;

constexpr const char* start_name = "start";
constexpr const char* open_name = "open";

// The file format.
struct SettingsFile {
  // The key in the files of every version so far.
  ExecutionSettings ground;
  std::map<std::string, std::string> environment;
};
BOOST_DESCRIBE_STRUCT(SettingsFile, (), (ground, environment))

// LOG-4: values of variables that tools declare as secret, and values in the config under secret names.
std::vector<std::string> find_secret_values(const ExecutionSettings& settings) {
  std::vector<std::string> values;
  const auto take = [&](const std::map<std::string, std::string>& variables, const std::vector<std::string>& names) {
    for (const auto& [name, value] : variables) {
      const bool is_secret = base::names_secret(name) || std::ranges::find(names, name) != names.end();
      if (is_secret) values.push_back(value);
    }
  };
  for (const auto& [_, profile] : settings.tools) {
    take(profile.env, profile.secrets);
    take(settings.environment, profile.secrets);
  }
  for (const auto& [_, gate] : settings.gates) take(gate.env, {});
  return values;
}

fs::path folder_of(const project::StateFolder& folder, base::ExecutionId execution) {
  return folder.executions() / execution.text();
}

}  // namespace

ExecutionSettings make_settings(const model::Config& config, std::string project) {
  return {.project = std::move(project),
          .base_commit = {},
          .tools = config.tools,
          .roles = config.roles,
          .gates = config.gates,
          .worktree = config.worktree,
          .risk = config.risk,
          .policies = config.policies,
          .agents = config.agents,
          .apply = model::ApplyWhen::on_complete,
          .gate_sandbox = model::Sandbox::none,
          .environment = {}};
}

IsolationSettings make_isolation_settings(const ExecutionSettings& settings) {
  return {settings.project, settings.base_commit, settings.worktree, settings.environment,
          find_secret_values(settings)};
}

Value encode_public(const ExecutionSettings& settings) {
  ExecutionSettings record = settings;
  for (auto& [_, profile] : record.tools) {
    std::erase_if(profile.env, [&](const auto& entry) {
      return base::names_secret(entry.first) ||
             std::ranges::find(profile.secrets, entry.first) != profile.secrets.end();
    });
  }
  for (auto& [_, gate] : record.gates) {
    std::erase_if(gate.env, [](const auto& entry) { return base::names_secret(entry.first); });
  }
  return json::to_value(record);
}

std::optional<ExecutionSettings> decode_public(const Value& stored) {
  auto settings = json::from_value<ExecutionSettings>(stored);
  return settings ? std::optional(std::move(*settings)) : std::nullopt;
}

void draft_settings(const project::StateFolder& folder, const std::string& nonce, const ExecutionSettings& settings) {
  const fs::path place = folder.executions() / draft_name(nonce);
  os::create_folders(place);
  os::replace_file(place / start_name, json::encode(json::to_value(SettingsFile{settings, settings.environment})));
  os::replace_file(place / open_name, "");
}

bool name_settings(const project::StateFolder& folder, const std::string& nonce, base::ExecutionId execution) {
  const fs::path draft = folder.executions() / draft_name(nonce);
  const fs::path place = folder_of(folder, execution);
  std::error_code error;
  fs::rename(draft, place, error);
  if (!error) return true;
  // Belongs to an execution of another database, so it is obsolete.
  const bool is_taken = error == std::errc::directory_not_empty || error == std::errc::file_exists;
  if (!is_taken) return false;
  fs::remove_all(place, error);
  fs::rename(draft, place, error);
  return !error;
}

void rewrite_project(const project::StateFolder& folder, base::ExecutionId execution, const std::string& before,
                     const std::string& after) {
  auto settings = read_settings(folder, execution);
  if (!settings || settings->project != before) return;
  settings->project = after;
  if (settings->recorded_project == before) settings->recorded_project = after;
  os::replace_file(folder_of(folder, execution) / start_name,
                   json::encode(json::to_value(SettingsFile{*settings, settings->environment})));
}

void drop_settings_draft(const project::StateFolder& folder, const std::string& nonce) {
  drop_draft(folder.executions().string(), nonce);
}

std::vector<std::string> find_settings_drafts(const project::StateFolder& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.executions(), error)) {
    const std::string name = entry.path().filename().string();
    if (is_draft(name)) found.push_back(name.substr(draft_name("").size()));
  }
  return found;
}

std::optional<ExecutionSettings> read_settings(const project::StateFolder& folder, base::ExecutionId execution) {
  const auto text = os::find_file(folder_of(folder, execution) / start_name, base::limits::json_bytes);
  if (!text) return std::nullopt;
  const auto parsed = json::parse(*text);
  const bool is_whole = parsed && parsed->find("ground") != nullptr;
  auto file = is_whole ? json::from_value<SettingsFile>(*parsed) : std::unexpected(std::string());
  if (!file) return std::nullopt;
  ExecutionSettings settings = std::move(file->ground);
  settings.environment = std::move(file->environment);
  return settings;
}

void open_remote_copy(const project::StateFolder& folder, base::ExecutionId execution) {
  const fs::path place = folder_of(folder, execution);
  os::create_folders(place);
  os::replace_file(place / open_name, "");
}

void forget_remote_copy(const project::StateFolder& folder, base::ExecutionId execution) {
  const fs::path place = folder_of(folder, execution);
  std::error_code error;
  if (fs::exists(place / start_name, error)) return;
  fs::remove(place / open_name, error);
  fs::remove(place, error);
}

bool reopen_settings(const project::StateFolder& folder, base::ExecutionId execution) {
  const fs::path place = folder_of(folder, execution);
  std::error_code error;
  if (!fs::exists(place / start_name, error) || fs::exists(place / open_name, error)) return false;
  os::replace_file(place / open_name, "");
  return true;
}

void close_settings(const project::StateFolder& folder, base::ExecutionId execution) {
  std::error_code error;
  fs::remove(folder_of(folder, execution) / open_name, error);
}

bool is_settings_open(const project::StateFolder& folder, base::ExecutionId execution) {
  std::error_code error;
  return fs::exists(folder_of(folder, execution) / open_name, error);
}

void remove_settings(const project::StateFolder& folder, base::ExecutionId execution) {
  std::error_code error;
  fs::remove_all(folder_of(folder, execution), error);
}

std::vector<base::ExecutionId> find_open_settings(const project::StateFolder& folder) {
  std::vector<base::ExecutionId> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.executions(), error)) {
    const auto id = base::ExecutionId::parse(entry.path().filename().string());
    if (id && fs::exists(entry.path() / open_name, error)) found.push_back(*id);
  }
  return found;
}

}  // namespace reeve::runtime
