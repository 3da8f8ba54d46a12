#pragma once

#include <string>

#include "model/describe.h"

// `reeve project moved`: the records of a project name its new path.
namespace reeve::wire {

struct ProjectMove {
  std::string before;
  std::string after;
  friend bool operator==(const ProjectMove&, const ProjectMove&) = default;
};
BOOST_DESCRIBE_STRUCT(ProjectMove, (), (before, after))

}  // namespace reeve::wire
