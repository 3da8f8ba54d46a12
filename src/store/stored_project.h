#pragma once

#include <optional>
#include <string>

#include "model/project_ref.h"
#include "store/session.h"

// Only the path of a project is stored; its name follows from it.
namespace reeve::store {

inline std::optional<model::ProjectRef> find_project(const Row& row, int column) {
  auto path = row.find_text(column);
  return path ? std::optional(model::make_project_ref(std::move(*path))) : std::nullopt;
}

inline std::optional<std::string> path_of(const std::optional<model::ProjectRef>& project) {
  return project ? std::optional(project->path) : std::nullopt;
}

}  // namespace reeve::store
