#include "project/state_folder.h"

#include "base/error.h"
#include "project/project.h"

namespace reeve::project {

namespace fs = std::filesystem;

std::optional<fs::path> StateFolder::project() const {
  const fs::path around = root.parent_path();
  const bool is_of_project = around.filename() == ".reeve" && root.filename() == "state";
  return is_of_project ? std::optional(around.parent_path()) : std::nullopt;
}

StateFolder find_state_folder(const std::optional<std::string>& wanted, const fs::path& start) {
  const auto named = wanted ? wanted : variable("REEVE_STATE");
  if (named) return {fs::absolute(*named).lexically_normal()};
  if (const auto project = find_project(start)) return {*project / ".reeve" / "state"};
  if (const auto state = variable("XDG_STATE_HOME")) return {fs::path(*state) / "reeve"};
  if (const auto home = variable("HOME")) return {fs::path(*home) / ".local" / "state" / "reeve"};
  throw base::Error(base::ErrorCode::cli_no_state_folder,
                    "there is no project here and no home folder to keep the state in",
                    "choose one with --state DIR or REEVE_STATE");
}

}  // namespace reeve::project
