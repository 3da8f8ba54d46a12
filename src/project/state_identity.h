#pragma once

#include <filesystem>
#include <string>

#include "project/registry.h"

// Ownership of state folders. Reeve acts only on folders that it created or that the user accepted, as recorded in the
// registry. A state folder that came with a clone is data, and nothing in it is run (SPEC §7).
namespace reeve::project {

// Call before connecting to a daemon through the folder's socket. Throws `state.link`, `state.not_yours`,
// `state.not_private`; a missing folder is fine.
void check_state_place(const std::filesystem::path& root);

struct OpenedState {
  KnownPlace place;
  // Created by this call.
  bool is_new = false;
  // A folder with a database was registered here and has been removed.
  bool was_removed = false;
};
// Creates the folder (0700) if it is missing or empty, and registers it; otherwise it must be registered. Throws
// `file.unwritable`, `daemon.state_folder` (it contains other files), `state.link`, `state.not_yours`,
// `state.not_private`, `state.unknown`, `state.moved`, `state.registry`, and `state.in_use` if a daemon still runs with
// a folder that was removed from here.
OpenedState open_state_folder(const std::filesystem::path& root);
// The same for an existing folder, without changing anything.
KnownPlace check_state_folder(const std::filesystem::path& root);

// Whether the folder is still empty, so that it becomes a state folder at the first start.
bool is_unused_folder(const std::filesystem::path& root);

// Throws `state.link_inside` for a symlink in the folder, down to `depth` levels; 1 is the folder itself.
void refuse_links(const std::filesystem::path& root, int depth);
// Call before opening the database. Throws `state.database_missing` if one was created here and is missing, and
// `state.link_inside` if one of its files is not a regular file of this user.
void check_database_files(const KnownPlace& place);
// Records that a database exists.
void note_database(const KnownPlace& place);

// Registers the folder as it is, under a new id, so that check_state_folder() succeeds. The caller has asked the user.
// Throws `state.link`, `state.link_inside`, `state.not_yours`, and `daemon.state_folder` if it is not a state folder.
KnownPlace adopt_state_folder(const std::filesystem::path& root);
// Moves the folder's content into a new subfolder, where nothing acts on it, and returns that subfolder. A new database
// starts empty.
std::filesystem::path set_state_aside(const std::filesystem::path& root);

// The name that the folder's daemon claims (os/claim.h), independent of its files.
std::string state_claim(const std::filesystem::path& root);

// Resolves symlinks in the path except in its last part.
std::filesystem::path resolve_parent(const std::filesystem::path& path);

}  // namespace reeve::project
