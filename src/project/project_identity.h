#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "project/registry.h"

// Which project is which. A project has a random id where no clone takes it along: in its git folder, else in `.reeve`.
// The registry says at which path it was last; nothing is started in a copy as if it were the original.
namespace reeve::project {

// Before something is started in that project: gives it an id when it has none that is registered. Throws
// `project.moved` when its id is registered for another path. A project that cannot be written to has none.
void admit_project(const std::filesystem::path& project);

// What of a folder has an id: the project itself, its state folder; or a state folder alone.
struct FoundPlace {
  KnownPlace::Kind kind = KnownPlace::Kind::state;
  std::filesystem::path path;
  // What the registry knows of its id; nothing for an unknown one.
  std::optional<KnownPlace> known;
  // Registered for this path, and still the same folder.
  bool is_here = false;
  // The folder that the registry knows is still there.
  bool has_original = false;
};
std::vector<FoundPlace> find_places(const std::filesystem::path& folder);

// The user says that it is the same one, at another path now.
void note_moved(const FoundPlace& place);
// The user says that it is a copy: it gets an id of its own. The content of a copied state folder is moved aside, so
// that nothing in it acts on the original's runs, worktrees or checkout; that folder.
std::filesystem::path note_copied(const FoundPlace& place);

}  // namespace reeve::project
