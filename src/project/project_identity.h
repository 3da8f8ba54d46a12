#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "project/registry.h"

// Identifies projects. A project has a random id in a place that clones do not copy: its git folder, else `.reeve`. The
// registry stores its last path; nothing is started in a copy as if it were the original.
namespace reeve::project {

// Call before starting something in the project: gives it an id if it has no registered one. Throws `project.moved` if
// its id is registered for another path. A read-only project gets no id.
void admit_project(const std::filesystem::path& project);

// The parts of a folder that have an id: the project and its state folder, or a state folder alone.
struct FoundPlace {
  KnownPlace::Kind kind = KnownPlace::Kind::state;
  std::filesystem::path path;
  // The registry's entry for its id; empty for an unknown id.
  std::optional<KnownPlace> known;
  // Registered for this path, and still the same folder.
  bool is_here = false;
  // The registered folder still exists.
  bool has_original = false;
};
std::vector<FoundPlace> find_places(const std::filesystem::path& folder);

// Records that it is the same place at a new path.
void note_moved(const FoundPlace& place);
// Records that it is a copy: it gets its own id. The content of a copied state folder is moved aside, so that nothing
// in it acts on the original's runs, worktrees or checkout. Returns the folder that it was moved to.
std::filesystem::path note_copied(const FoundPlace& place);

}  // namespace reeve::project
