#include "project/project.h"

#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "os/file.h"
#include "project/trust.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;

std::shared_ptr<const spec::Source> read_if_there(const fs::path& path, const std::string& shown) {
  try {
    return std::make_shared<const spec::Source>(shown, os::read_file(path, base::limits::spec_file_bytes));
  } catch (const base::Error& error) {
    if (error.is(base::ErrorCode::file_not_found)) return nullptr;
    throw;
  }
}

// The corresponding folder in the main checkout, if `start` is in a linked worktree: there `.git` is a file that names
// MAIN/.git/worktrees/NAME.
fs::path leave_worktree(const fs::path& start) {
  constexpr std::string_view word = "gitdir: ";
  constexpr std::size_t longest = 8 * base::limits::kib;
  std::error_code error;
  for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
    const fs::path git = folder / ".git";
    if (fs::is_directory(git, error)) return start;
    if (fs::is_regular_file(git, error)) {
      const std::string text = os::read_file(git, longest);
      const fs::path target = text.starts_with(word) ? fs::path(base::trim(text.substr(word.size()))) : fs::path();
      const fs::path absolute = target.is_absolute() ? target : (folder / target).lexically_normal();
      const fs::path common = absolute.parent_path().parent_path();
      // A submodule, or a worktree of a bare repository, which has no main checkout.
      if (absolute.parent_path().filename() != "worktrees" || common.filename() != ".git") return start;
      // The file may come from an archive: only a repository that names this worktree counts.
      const std::string back = os::find_file(absolute / "gitdir", longest).value_or("");
      if (fs::weakly_canonical(base::trim(back), error) != fs::weakly_canonical(git, error)) return start;
      const fs::path main = common.parent_path();
      const fs::path there = main / fs::relative(start, folder, error);
      return fs::is_directory(there, error) ? there.lexically_normal() : main;
    }
    if (folder == folder.root_path()) break;
  }
  return start;
}

// The nearest folder from `start` upwards that has a folder of that name; in a linked worktree, of the main checkout.
std::optional<fs::path> find_parent_with(const char* name, const fs::path& start) {
  std::error_code error;
  fs::path absolute = fs::absolute(start, error).lexically_normal();
  if (error) return std::nullopt;
  // "a/b/." has an empty last component.
  if (absolute.filename().empty()) absolute = absolute.parent_path();
  for (fs::path folder = leave_worktree(absolute); !error; folder = folder.parent_path()) {
    if (fs::is_directory(folder / name, error)) return folder;
    error.clear();
    if (folder == folder.root_path() || folder.empty()) break;
  }
  return std::nullopt;
}

}  // namespace

std::string shown_path(const fs::path& path) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  // In a daemon: its messages are read from elsewhere.
  if (here == here.root_path()) return path.string();
  const fs::path relative = fs::relative(path, here, error);
  if (!error && !relative.empty() && *relative.begin() != "..") return relative.string();
  return path.string();
}

std::optional<std::string> variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<fs::path> find_project(const fs::path& start) { return find_parent_with(".reeve", start); }

bool wants_own_state(const fs::path& project) {
  try {
    auto source = read_if_there(project / ".reeve" / "config.yaml", "");
    return source != nullptr && spec::find_state_place(std::move(source)) == model::StatePlace::project;
  } catch (const base::Error&) {
    // Reported by whatever reads the whole config.
    return false;
  }
}

bool has_own_state(const fs::path& project) {
  std::error_code error;
  return fs::exists(fs::symlink_status(project / ".reeve" / "state", error)) || wants_own_state(project);
}

std::optional<fs::path> find_checkout(const fs::path& start) {
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(start, error);
  const fs::path& folder = error ? start : resolved;
  const auto project = find_project(folder);
  return project ? project : find_parent_with(".git", folder);
}

std::shared_ptr<const spec::Source> read_source(const std::string& name) {
  if (name == "-") {
    return std::make_shared<const spec::Source>("<stdin>", os::read_standard_input(base::limits::spec_file_bytes));
  }
  // A shell's `<(command)` is a pipe.
  return std::make_shared<const spec::Source>(name,
                                              os::read_file(name, base::limits::spec_file_bytes, os::Pipes::read));
}

fs::path user_config_path() {
  if (const auto base = variable("XDG_CONFIG_HOME")) return fs::path(*base) / "reeve" / "config.yaml";
  if (const auto home = variable("HOME")) return fs::path(*home) / ".config" / "reeve" / "config.yaml";
  return {};
}

std::vector<std::string> setting_variables() {
  std::vector<std::string> names;
  for (const auto& [name, _] : spec::config_variables()) names.push_back(name);
  return names;
}

namespace {

FoundConfig load(const std::optional<fs::path>& project, spec::ConfigSources sources) {
  const fs::path user = user_config_path();
  if (!user.empty()) sources.user = read_if_there(user, user.string());
  if (project) {
    const fs::path file = *project / ".reeve" / "config.yaml";
    sources.project = read_if_there(file, shown_path(file));
  }
  for (const std::string& name : setting_variables()) {
    if (auto value = variable(name.c_str())) sources.environment.emplace_back(name, std::move(*value));
  }
  return {sources.project != nullptr, spec::parse_config(sources)};
}

}  // namespace

FoundConfig load_config(const std::optional<fs::path>& project, const std::vector<std::string>& settings,
                        spec::DaemonKeys daemon_keys) {
  spec::ConfigSources sources{.settings = settings, .daemon_keys = daemon_keys};
  if (project) sources.is_trusted = [&](const std::string& digest) { return is_trusted(*project, digest); };
  return load(project, std::move(sources));
}

spec::DaemonKeys judge_daemon_keys(const fs::path& project, const std::optional<StateFolder>& folder) {
  if (folder && folder->project() == project) return spec::DaemonKeys::count;
  if (!has_own_state(project)) return spec::DaemonKeys::refused;
  return folder ? spec::DaemonKeys::ignored : spec::DaemonKeys::count;
}

FoundConfig load_config_to_trust(const fs::path& project, const std::optional<StateFolder>& folder) {
  const bool is_refused = judge_daemon_keys(project, folder) == spec::DaemonKeys::refused;
  return load(project, {.is_trusted = [](const std::string&) { return true; },
                        .daemon_keys = is_refused ? spec::DaemonKeys::refused : spec::DaemonKeys::count});
}

FoundConfig load_config_of(const StateFolder& folder) { return load_config(folder.project(), {}); }

std::string stamp_config_of(const StateFolder& folder) {
  std::vector<fs::path> files = {user_config_path()};
  if (const auto project = folder.project()) files.push_back(*project / ".reeve" / "config.yaml");
  // Records are replaced by rename, which changes their folder.
  if (const auto state = user_state_folder()) files.push_back(*state / "trust");
  std::string stamp;
  for (const fs::path& file : files) {
    struct stat status{};
    if (file.empty() || ::stat(file.c_str(), &status) != 0) status = {};
    stamp +=
        fmt::format("{}:{}:{}.{:09};", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  return stamp;
}

FoundConfig load_config_for(const StateFolder& folder, const fs::path& named) {
  const auto project = named.empty() ? std::nullopt : find_project(named);
  if (!project) return load_config_of(folder);
  return load_config(project, {}, judge_daemon_keys(*project, folder));
}

}  // namespace reeve::project
