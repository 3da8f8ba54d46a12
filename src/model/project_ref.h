#pragma once

#include <string>

#include "model/describe.h"

namespace reeve::model {

// The project that something belongs to: the main checkout, never a linked worktree (SPEC §7).
struct ProjectRef {
  // The last component of the path, for people. Two projects may have the same name.
  std::string name;
  // Absolute.
  std::string path;
  friend bool operator==(const ProjectRef&, const ProjectRef&) = default;
};
BOOST_DESCRIBE_STRUCT(ProjectRef, (), (name, path))

ProjectRef make_project_ref(std::string path);

}  // namespace reeve::model
