#include "project/project.h"

#include <cstdlib>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "os/file.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;

std::shared_ptr<const spec::Source> read_if_there(const fs::path& path, const std::string& shown) {
  try {
    return std::make_shared<const spec::Source>(shown, os::read_file(path, base::limits::spec_file_bytes));
  } catch (const base::Error& error) {
    if (error.code() == "file.not_found") return nullptr;
    throw;
  }
}

// As short as it can be written from here.
std::string shown_path(const fs::path& path) {
  std::error_code error;
  const fs::path relative = fs::relative(path, fs::current_path(error), error);
  if (!error && !relative.empty() && *relative.begin() != "..") return relative.string();
  return path.string();
}

fs::path folder_of(const std::string& file) {
  std::error_code error;
  if (file == "-") return fs::current_path(error);
  const fs::path absolute = fs::absolute(file, error);
  return error ? fs::path(".") : absolute.parent_path();
}

// The same place in the main checkout, when the folder lies in a linked worktree: there `.git` is a file that names
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
      // A submodule, or a worktree of a bare repository, which has no main checkout to look at.
      if (absolute.parent_path().filename() != "worktrees" || common.filename() != ".git") return start;
      const fs::path main = common.parent_path();
      const fs::path there = main / fs::relative(start, folder, error);
      return fs::is_directory(there, error) ? there.lexically_normal() : main;
    }
    if (folder == folder.root_path()) break;
  }
  return start;
}

std::shared_ptr<const spec::Source> read_or_skip(const fs::path& path) {
  try {
    return read_if_there(path, shown_path(path));
  } catch (const base::Error&) {
    return nullptr;
  }
}

// The project's workflows, then those beside the file.
spec::WorkflowCatalog load_catalog(const std::optional<fs::path>& project, const fs::path& folder) {
  std::vector<fs::path> folders;
  if (project) folders.push_back(*project / ".reeve" / "workflows");
  if (folders.empty() || folders.front() != folder) folders.push_back(folder);
  spec::WorkflowCatalog catalog;
  for (const fs::path& place : folders) {
    for (const fs::path& file : os::list_files(place, {".yaml", ".yml"}, base::limits::workflow_files)) {
      // A file that cannot be read is none that a subgraph can mean; if one is missing for it, that is told.
      if (auto source = read_or_skip(file)) catalog.add(file.stem().string(), std::move(source));
    }
  }
  return catalog;
}

}  // namespace

std::optional<std::string> variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<fs::path> find_project(const fs::path& start) {
  std::error_code error;
  fs::path absolute = fs::absolute(start, error).lexically_normal();
  if (error) return std::nullopt;
  // "a/b/." has an empty last part.
  if (absolute.filename().empty()) absolute = absolute.parent_path();
  for (fs::path folder = leave_worktree(absolute); !error; folder = folder.parent_path()) {
    if (fs::is_directory(folder / ".reeve", error)) return folder;
    error.clear();
    if (folder == folder.root_path() || folder.empty()) break;
  }
  return std::nullopt;
}

std::shared_ptr<const spec::Source> read_source(const std::string& name) {
  if (name == "-") {
    return std::make_shared<const spec::Source>("<stdin>", os::read_standard_input(base::limits::spec_file_bytes));
  }
  return std::make_shared<const spec::Source>(name, os::read_file(name, base::limits::spec_file_bytes));
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

FoundConfig load_config(const std::optional<fs::path>& project, const std::vector<std::string>& settings) {
  spec::ConfigSources sources;
  const fs::path user = user_config_path();
  if (!user.empty()) sources.user = read_if_there(user, user.string());
  if (project) {
    const fs::path file = *project / ".reeve" / "config.yaml";
    sources.project = read_if_there(file, shown_path(file));
  }
  for (const std::string& name : setting_variables()) {
    if (auto value = variable(name.c_str())) sources.environment.emplace_back(name, std::move(*value));
  }
  sources.settings = settings;
  return {sources.project != nullptr, spec::parse_config(sources)};
}

FoundConfig load_config_of(const StateFolder& folder) {
  const fs::path around = folder.root.parent_path();
  const bool is_of_project = around.filename() == ".reeve" && folder.root.filename() == "state";
  return load_config(is_of_project ? std::optional(around.parent_path()) : std::nullopt, {});
}

base::Result<spec::WorkflowFile> load_workflow(const std::string& name) {
  const auto source = read_source(name);
  const fs::path folder = folder_of(name);
  auto project = find_project(folder);
  if (!project) project = find_project(".");
  const FoundConfig config = load_config(project, {});
  std::optional<spec::WorkflowCatalog> catalog;
  spec::WorkflowSurroundings surroundings;
  // Roles and gates belong to a project; the user's own file alone names none that a workflow could be held to.
  if (config.has_project_file && config.loaded) surroundings.config = &config.loaded->config();
  surroundings.catalog = [&]() -> const spec::WorkflowCatalog& {
    if (!catalog) catalog = load_catalog(project, folder);
    return *catalog;
  };
  auto workflow = spec::parse_workflow(source, surroundings);
  if (config.loaded) return workflow;
  base::Problems problems = config.loaded.error();
  problems.append(workflow ? workflow->warnings : workflow.error());
  return std::unexpected(std::move(problems));
}

}  // namespace reeve::project
