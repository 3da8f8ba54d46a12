#include "cli/state_option.h"

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "project/project.h"
#include "project/registry.h"

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

std::vector<fs::path> find_registered(const std::string& name) {
  std::vector<fs::path> found;
  const auto registry = project::Registry::find();
  if (!registry) return found;
  for (const project::KnownPlace& place : registry->list()) {
    const bool is_named = place.kind == project::KnownPlace::Kind::project && place.path.filename() == name;
    if (is_named && is_project(place.path)) found.push_back(place.path);
  }
  return found;
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
  const std::vector<fs::path> registered = is_name ? find_registered(*word) : std::vector<fs::path>();
  if (registered.size() > 1) {
    std::vector<std::string> paths;
    for (const fs::path& path : registered) paths.push_back(path.string());
    throw base::Error(base::ErrorCode::cli_usage,
                      fmt::format("{} projects are called {}", paths.size(), base::quoted(*word)),
                      fmt::format("give the path: {}", base::visible(base::join(paths, ", "))));
  }
  if (!registered.empty()) return state_of(registered.front());
  return project::find_state_folder(word, ".");
}

std::optional<project::StateFolder> find_any_state_option(const Call& call) {
  if (call.arguments.has("--state")) return find_state_option(call);
  return project::find_any_state_folder(std::nullopt, ".");
}

}  // namespace reeve::cli
