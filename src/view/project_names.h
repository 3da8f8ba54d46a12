#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/project_ref.h"

namespace reeve::view {

// The names of projects in one listing. Projects of the same name are told apart by the folder above: "work/shop".
class ProjectNames {
 public:
  void add(const std::optional<model::ProjectRef>& project);
  // Empty without a project. Safe to print.
  std::string of(const std::optional<model::ProjectRef>& project) const;

  template <class Records>
  void add_all(const Records& records) {
    for (const auto& record : records) add(record.project);
  }

 private:
  // Name → paths.
  std::map<std::string, std::set<std::string>> paths_;
};

// The path, or nothing: for pipes.
inline std::string path_text(const std::optional<model::ProjectRef>& project) {
  return project ? project->path : std::string();
}

}  // namespace reeve::view
