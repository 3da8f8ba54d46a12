#include "view/project_names.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace reeve::view {

void ProjectNames::add(const std::optional<model::ProjectRef>& project) {
  if (project) paths_[project->name].insert(project->path);
}

std::string ProjectNames::of(const std::optional<model::ProjectRef>& project) const {
  if (!project) return {};
  const std::string& path = project->path;
  const auto found = paths_.find(project->name);
  if (found == paths_.end()) return base::visible(project->name);
  // One folder more of the path, until no other project has the same ending.
  for (std::size_t start = path.rfind('/'); start != std::string::npos && start > 0;
       start = path.rfind('/', start - 1)) {
    const std::string_view ending = std::string_view(path).substr(start);
    const auto has_it = [&](const std::string& other) { return other != path && ("/" + other).ends_with(ending); };
    if (std::ranges::none_of(found->second, has_it)) return base::visible(ending.substr(1));
  }
  return base::visible(found->second.size() == 1 ? project->name : path);
}

}  // namespace reeve::view
