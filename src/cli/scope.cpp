#include "cli/scope.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/sources.h"
#include "cli/state_option.h"
#include "client/projects.h"
#include "project/project.h"
#include "project/registry.h"
#include "project/state_folder.h"

namespace reeve::cli {

using base::ErrorCode;

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_own_state(const fs::path& project) {
  const std::string name = base::visible(project.filename().string());
  throw base::Error(ErrorCode::project_unknown,
                    fmt::format("{} keeps its own state, which this daemon does not have", base::quoted(name)),
                    fmt::format("add `--state {}` instead of `--project`", name));
}

fs::path make_path(const std::string& word) {
  const fs::path absolute = fs::absolute(word).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

// The project of that name or path, if it keeps its own state and no other registered project has the name.
std::optional<fs::path> find_with_own_state(const std::string& word) {
  std::vector<fs::path> found = find_registered_projects();
  if (word.contains('/')) {
    const fs::path path = make_path(word);
    std::error_code error;
    const bool is_project = std::ranges::find(found, path) != found.end() || fs::is_directory(path / ".reeve", error);
    return is_project && project::has_own_state(path) ? std::optional(path) : std::nullopt;
  }
  std::erase_if(found, [&](const fs::path& path) { return path.filename() != word; });
  return found.size() == 1 && project::has_own_state(found.front()) ? std::optional(found.front()) : std::nullopt;
}

bool is_same(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return one == other || fs::equivalent(one, other, error);
}

std::string pick_path(const std::string& word, const std::vector<model::ProjectRef>& known) {
  const fs::path path = make_path(word);
  if (std::ranges::find(known, path.string(), &model::ProjectRef::path) != known.end()) return path.string();
  std::error_code error;
  const std::vector<fs::path> registered = find_registered_projects();
  const bool is_project =
      std::ranges::find(registered, path) != registered.end() || fs::is_directory(path / ".reeve", error);
  if (!is_project) {
    throw base::Error(ErrorCode::project_unknown, fmt::format("no project at {} is known", base::quoted(path.string())),
                      "give the path of a project that has runs, or its name");
  }
  if (project::has_own_state(path)) refuse_own_state(path);
  return path.string();
}

}  // namespace

std::vector<fs::path> find_registered_projects() {
  std::vector<fs::path> found;
  const auto registry = project::Registry::find();
  if (!registry) return found;
  for (const project::KnownPlace& place : registry->list()) {
    std::error_code error;
    const fs::path path = place.kind == project::KnownPlace::Kind::project
                              ? place.path
                              : project::StateFolder{place.path}.project().value_or("");
    if (path.empty() || !fs::is_directory(path, error)) continue;
    if (std::ranges::find(found, path) == found.end()) found.push_back(path);
  }
  return found;
}

const std::vector<Option>& scope_options() {
  static const std::vector<Option> options = {
      {.name = "--here", .help = "only the project of the current folder"},
      {.name = "--project", .value = "NAME", .help = "only this project, by name or path"}};
  return options;
}

std::vector<Option> with_scope_options(std::vector<Option> options) {
  options.insert(options.end(), scope_options().begin(), scope_options().end());
  return options;
}

Scope::Scope(const Call& call) : is_here_(call.arguments.has("--here")), name_(call.arguments.value("--project")) {
  if (const auto here = project::find_checkout(".")) here_ = here->string();
  if (is_here_ && name_) {
    throw base::Error(ErrorCode::cli_usage, "`--here` and `--project` cannot be combined", "use one of them");
  }
  if (is_here_ && !here_) {
    throw base::Error(ErrorCode::cli_usage, "the current folder is not in a project",
                      "leave out `--here`, or name a project with `--project`");
  }
  if (name_) find_own_state(call);
}

void Scope::find_own_state(const Call& call) {
  const auto project = names_host(call) ? std::nullopt : find_with_own_state(*name_);
  if (!project) return;
  const fs::path state = *project / ".reeve" / "state";
  const auto current = find_any_state_option(call);
  if (current && is_same(current->root, state)) {
    own_project_ = project->string();
  } else if (!names_state(call)) {
    other_state_ = state;
  }
}

std::optional<std::string> Scope::find_path(client::Daemon& daemon) const {
  if (is_here_) return here_;
  if (!name_ || other_state_) return std::nullopt;
  if (own_project_) return own_project_;
  return pick_project(*name_, client::list_projects(daemon));
}

std::string pick_project(const std::string& name, const std::vector<model::ProjectRef>& known) {
  if (name.contains('/')) return pick_path(name, known);
  std::vector<std::string> paths;
  std::vector<std::string> names;
  for (const model::ProjectRef& project : known) {
    names.push_back(project.name);
    if (project.name == name) paths.push_back(project.path);
  }
  const std::vector<fs::path> registered = find_registered_projects();
  for (const fs::path& path : registered) {
    if (project::has_own_state(path)) continue;
    names.push_back(path.filename().string());
    // One without any records yet.
    if (paths.empty() && path.filename() == name) paths.push_back(path.string());
  }
  if (paths.size() == 1) return paths.front();
  if (paths.size() > 1) {
    throw base::Error(ErrorCode::cli_usage, fmt::format("{} projects are called {}", paths.size(), base::quoted(name)),
                      fmt::format("give the path: {}", base::visible(base::join(paths, ", "))));
  }
  const auto own = std::ranges::find(registered, name, [](const fs::path& path) { return path.filename().string(); });
  if (own != registered.end()) refuse_own_state(*own);
  // A project with runs is registered too.
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  const auto meant = base::find_closest(name, names);
  throw base::Error(ErrorCode::project_unknown, fmt::format("no project called {} is known", base::quoted(name)),
                    meant           ? fmt::format("did you mean `{}`?", *meant)
                    : names.empty() ? std::string("no project has any runs yet")
                                    : fmt::format("known: {}", base::visible(base::join(names, ", "))));
}

}  // namespace reeve::cli
