#include "cli/scope.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
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

std::string pick_path(const std::string& word, const std::vector<model::ProjectRef>& known) {
  const fs::path absolute = fs::absolute(word).lexically_normal();
  const fs::path path = absolute.has_filename() ? absolute : absolute.parent_path();
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
}

std::optional<std::string> Scope::find_path(client::Daemon& daemon) const {
  if (is_here_) return here_;
  if (!name_) return std::nullopt;
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
