#pragma once

#include <filesystem>
#include <string>

#include "project/registry.h"

// Whose a state folder is. Reeve acts only on folders that it has made itself or that the user has accepted; the
// registry remembers them. A state folder that came with a clone is data, and nothing in it is run (SPEC §7).
namespace reeve::project {

// Before a daemon is spoken to through the folder's socket. Throws `state.link`, `state.not_yours`,
// `state.not_private`; a folder that is not there is fine.
void check_state_place(const std::filesystem::path& root);

struct OpenedState {
  KnownPlace place;
  // Made now.
  bool is_new = false;
  // A folder with a database was known here before and is gone.
  bool was_removed = false;
};
// Creates the folder (0700) when it is missing or empty, and registers it; else it must be registered. Throws
// `file.unwritable`, `daemon.state_folder` (other things lie in it), `state.link`, `state.not_yours`,
// `state.not_private`, `state.unknown`, `state.moved`, `state.registry`, and `state.in_use` when a daemon is still at
// work with a folder that was removed from here.
OpenedState open_state_folder(const std::filesystem::path& root);
// The same for a folder that is there, without changing anything.
KnownPlace check_state_folder(const std::filesystem::path& root);

// Whether it holds nothing yet, so that it becomes a state folder at the first start.
bool is_unused_folder(const std::filesystem::path& root);

// Throws `state.link_inside` for a link in the folder, down to `depth` levels; 1 is the folder itself.
void refuse_links(const std::filesystem::path& root, int depth);
// Before the database is opened: throws `state.database_missing` when one was made here and is gone, and
// `state.link_inside` when one of its files is not a regular file of this user.
void check_database_files(const KnownPlace& place);
// A database exists from now on.
void note_database(const KnownPlace& place);

// Registers the folder as it is, under a new id. Everything that check_state_folder() requires holds afterwards. The
// caller has asked the user. Throws `state.link`, `state.link_inside`, `state.not_yours`, `daemon.state_folder` when it
// is not a state folder.
KnownPlace adopt_state_folder(const std::filesystem::path& root);
// Moves all that the folder holds into a folder of its own beneath it, where nothing acts on it; that folder. A new
// database begins empty.
std::filesystem::path set_state_aside(const std::filesystem::path& root);

// The name that the daemon of this folder holds (os/claim.h), whatever becomes of its files.
std::string state_claim(const std::filesystem::path& root);

// The path without links on the way; its last part is taken as it is.
std::filesystem::path resolve_parent(const std::filesystem::path& path);

}  // namespace reeve::project
