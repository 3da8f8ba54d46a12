#include "cli/state_option.h"

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/scope.h"
#include "project/project.h"

namespace reeve::cli {

namespace {

namespace fs = std::filesystem;

bool is_project(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / ".reeve", error);
}

project::StateFolder state_of(const fs::path& project) {
  if (project::has_own_state(project)) return {project / ".reeve" / "state"};
  if (const auto common = project::find_common_state()) return *common;
  throw base::Error(base::ErrorCode::cli_no_state_folder,
                    fmt::format("{} keeps no state of its own, and there is no home folder", project.string()),
                    "choose a folder with --state DIR");
}

// The projects of that name; `known` are the names of all.
std::vector<fs::path> find_named(const std::string& name, std::vector<std::string>& known) {
  std::vector<fs::path> found;
  for (const fs::path& path : find_registered_projects()) {
    if (!is_project(path)) continue;
    known.push_back(path.filename().string());
    if (known.back() == name) found.push_back(path);
  }
  return found;
}

// A slip must not create a folder and start a daemon in it.
[[noreturn]] void refuse_unknown(const std::string& word, const std::vector<std::string>& known) {
  const auto meant = base::find_closest(word, known);
  const std::string guess = meant ? fmt::format("did you mean `{}`? ", base::visible(*meant)) : std::string();
  throw base::Error(base::ErrorCode::cli_usage,
                    fmt::format("there is no folder and no project called {}", base::quoted(word)),
                    fmt::format("{}For a new state folder, give its path: --state ./{}", guess, base::visible(word)));
}

}  // namespace

project::StateFolder find_state_option(const Call& call) {
  const auto word = call.arguments.value("--state");
  if (!word) return project::find_state_folder(word, ".");
  const fs::path folder = fs::absolute(*word).lexically_normal();
  const fs::path whole = folder.has_filename() ? folder : folder.parent_path();
  if (is_project(whole)) return state_of(whole);
  std::error_code error;
  const bool is_name = !word->contains('/') && !fs::exists(folder, error);
  if (!is_name) return project::find_state_folder(word, ".");
  std::vector<std::string> known;
  const std::vector<fs::path> registered = find_named(*word, known);
  if (registered.size() > 1) {
    std::vector<std::string> paths;
    for (const fs::path& path : registered) paths.push_back(path.string());
    throw base::Error(base::ErrorCode::cli_usage,
                      fmt::format("{} projects are called {}", paths.size(), base::quoted(*word)),
                      fmt::format("give the path: {}", base::visible(base::join(paths, ", "))));
  }
  if (registered.empty()) refuse_unknown(*word, known);
  return state_of(registered.front());
}

std::optional<project::StateFolder> find_any_state_option(const Call& call) {
  if (call.arguments.has("--state")) return find_state_option(call);
  return project::find_any_state_folder(std::nullopt, ".");
}

}  // namespace reeve::cli
