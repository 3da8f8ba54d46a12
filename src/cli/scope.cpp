#include "cli/scope.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "client/projects.h"
#include "project/project.h"

namespace reeve::cli {

using base::ErrorCode;

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
  if (name.contains('/')) {
    std::string path = std::filesystem::absolute(name).lexically_normal().string();
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
  }
  std::vector<std::string> paths;
  std::vector<std::string> names;
  for (const model::ProjectRef& project : known) {
    names.push_back(project.name);
    if (project.name == name) paths.push_back(project.path);
  }
  if (paths.size() == 1) return paths.front();
  if (paths.size() > 1) {
    throw base::Error(ErrorCode::cli_usage, fmt::format("{} projects are called {}", paths.size(), base::quoted(name)),
                      fmt::format("give the path: {}", base::visible(base::join(paths, ", "))));
  }
  const auto meant = base::find_closest(name, names);
  throw base::Error(ErrorCode::project_unknown, fmt::format("no project called {} has runs", base::quoted(name)),
                    meant           ? fmt::format("did you mean `{}`?", *meant)
                    : names.empty() ? std::string("no project has any runs yet")
                                    : fmt::format("known: {}", base::visible(base::join(names, ", "))));
}

}  // namespace reeve::cli
