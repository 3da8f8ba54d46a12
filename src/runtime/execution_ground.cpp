#include "runtime/execution_ground.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/redaction.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/file.h"
#include "runtime/run_files.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

using base::Value;

constexpr const char* start_name = "start";
constexpr const char* open_name = "open";

// As it is written.
struct GroundFile {
  ExecutionGround ground;
  std::map<std::string, std::string> environment;
};
BOOST_DESCRIBE_STRUCT(GroundFile, (), (ground, environment))

// LOG-4: what tools name as secret, and what the config gives to tools and gates under such names.
std::vector<std::string> find_secret_values(const ExecutionGround& ground) {
  std::vector<std::string> values;
  const auto take = [&](const std::map<std::string, std::string>& variables, const std::vector<std::string>& names) {
    for (const auto& [name, value] : variables) {
      const bool is_secret = base::names_secret(name) || std::ranges::find(names, name) != names.end();
      if (is_secret) values.push_back(value);
    }
  };
  for (const auto& [_, profile] : ground.tools) {
    take(profile.env, profile.secrets);
    take(ground.environment, profile.secrets);
  }
  for (const auto& [_, gate] : ground.gates) take(gate.env, {});
  return values;
}

fs::path folder_of(const project::StateFolder& folder, base::ExecutionId execution) {
  return folder.executions() / execution.text();
}

}  // namespace

ExecutionGround make_ground(const model::Config& config, std::string project) {
  return {.project = std::move(project),
          .base_commit = {},
          .tools = config.tools,
          .roles = config.roles,
          .gates = config.gates,
          .worktree = config.worktree,
          .apply = model::ApplyWhen::on_complete,
          .gate_sandbox = model::Sandbox::none,
          .environment = {}};
}

IsolationGround make_isolation_ground(const ExecutionGround& ground) {
  return {ground.project, ground.base_commit, ground.worktree, ground.environment, find_secret_values(ground)};
}

Value encode_public(const ExecutionGround& ground) {
  ExecutionGround record = ground;
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

std::optional<ExecutionGround> decode_public(const Value& stored) {
  auto ground = json::from_value<ExecutionGround>(stored);
  return ground ? std::optional(std::move(*ground)) : std::nullopt;
}

void draft_ground(const project::StateFolder& folder, const std::string& nonce, const ExecutionGround& ground) {
  const fs::path place = folder.executions() / draft_name(nonce);
  os::create_folders(place);
  os::replace_file(place / start_name, json::encode(json::to_value(GroundFile{ground, ground.environment})));
  os::replace_file(place / open_name, "");
}

bool name_ground(const project::StateFolder& folder, const std::string& nonce, base::ExecutionId execution) {
  const fs::path draft = folder.executions() / draft_name(nonce);
  const fs::path place = folder_of(folder, execution);
  std::error_code error;
  fs::rename(draft, place, error);
  if (!error) return true;
  // Of an execution that another database knew: it is nobody's.
  const bool is_taken = error == std::errc::directory_not_empty || error == std::errc::file_exists;
  if (!is_taken) return false;
  fs::remove_all(place, error);
  fs::rename(draft, place, error);
  return !error;
}

void drop_ground_draft(const project::StateFolder& folder, const std::string& nonce) {
  drop_draft(folder.executions().string(), nonce);
}

std::vector<std::string> find_ground_drafts(const project::StateFolder& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.executions(), error)) {
    const std::string name = entry.path().filename().string();
    if (is_draft(name)) found.push_back(name.substr(draft_name("").size()));
  }
  return found;
}

std::optional<ExecutionGround> read_ground(const project::StateFolder& folder, base::ExecutionId execution) {
  try {
    const auto parsed = json::parse(os::read_file(folder_of(folder, execution) / start_name, base::limits::json_bytes));
    const bool is_whole = parsed && parsed->find("ground") != nullptr;
    auto file = is_whole ? json::from_value<GroundFile>(*parsed) : std::unexpected(std::string());
    if (!file) return std::nullopt;
    ExecutionGround ground = std::move(file->ground);
    ground.environment = std::move(file->environment);
    return ground;
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

void open_guest_ground(const project::StateFolder& folder, base::ExecutionId execution) {
  const fs::path place = folder_of(folder, execution);
  os::create_folders(place);
  os::replace_file(place / open_name, "");
}

void forget_guest_ground(const project::StateFolder& folder, base::ExecutionId execution) {
  const fs::path place = folder_of(folder, execution);
  std::error_code error;
  if (fs::exists(place / start_name, error)) return;
  fs::remove(place / open_name, error);
  fs::remove(place, error);
}

bool reopen_ground(const project::StateFolder& folder, base::ExecutionId execution) {
  const fs::path place = folder_of(folder, execution);
  std::error_code error;
  if (!fs::exists(place / start_name, error) || fs::exists(place / open_name, error)) return false;
  os::replace_file(place / open_name, "");
  return true;
}

void close_ground(const project::StateFolder& folder, base::ExecutionId execution) {
  std::error_code error;
  fs::remove(folder_of(folder, execution) / open_name, error);
}

bool is_ground_open(const project::StateFolder& folder, base::ExecutionId execution) {
  std::error_code error;
  return fs::exists(folder_of(folder, execution) / open_name, error);
}

void remove_ground(const project::StateFolder& folder, base::ExecutionId execution) {
  std::error_code error;
  fs::remove_all(folder_of(folder, execution), error);
}

std::vector<base::ExecutionId> find_open_grounds(const project::StateFolder& folder) {
  std::vector<base::ExecutionId> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.executions(), error)) {
    const auto id = base::ExecutionId::parse(entry.path().filename().string());
    if (id && fs::exists(entry.path() / open_name, error)) found.push_back(*id);
  }
  return found;
}

}  // namespace reeve::runtime
