#include "project/state_folder.h"

#include "base/error.h"
#include "project/project.h"
#include "project/trust.h"

namespace reeve::project {

namespace fs = std::filesystem;

std::optional<fs::path> StateFolder::project() const {
  const fs::path around = root.parent_path();
  const bool is_of_project = around.filename() == ".reeve" && root.filename() == "state";
  return is_of_project ? std::optional(around.parent_path()) : std::nullopt;
}

std::optional<StateFolder> find_common_state() {
  auto root = user_state_folder();
  return root ? std::optional(StateFolder{std::move(*root)}) : std::nullopt;
}

std::optional<StateFolder> find_any_state_folder(const std::optional<std::string>& wanted, const fs::path& start) {
  const auto named = wanted ? wanted : variable("REEVE_STATE");
  if (named) return StateFolder{fs::absolute(*named).lexically_normal()};
  if (const auto project = find_project(start); project && has_own_state(*project)) {
    return StateFolder{*project / ".reeve" / "state"};
  }
  return find_common_state();
}

StateFolder find_state_folder(const std::optional<std::string>& wanted, const fs::path& start) {
  if (auto found = find_any_state_folder(wanted, start)) return std::move(*found);
  throw base::Error(base::ErrorCode::cli_no_state_folder,
                    "there is no project here and no home folder to keep the state in",
                    "choose one with --state DIR or REEVE_STATE");
}

}  // namespace reeve::project
