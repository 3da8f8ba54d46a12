#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "project/state_folder.h"

// What a tool with `sandbox: guard` can access on this machine (APR-11): it can read everything except Reeve's own
// data, and write only to its working folder. Implemented with bubblewrap.
namespace reeve::project {

struct Confinement {
  // All paths are absolute, with symlinks resolved. The only writable folder.
  std::string working_folder;
  // The path under which the tool was started.
  std::string start_folder;
  // Private and initially empty: /tmp and the like.
  std::vector<std::string> private_folders;
  // Visible besides the working folder, even inside private folders; `writable` are the parts that may be written.
  std::vector<std::string> shown;
  std::vector<std::string> writable;
  std::vector<std::string> read_only;
  // Folders that appear empty.
  std::vector<std::string> hidden;
  // Sockets of services that would act for the tool outside the sandbox.
  std::vector<std::string> masked;
  // Visible even if a hidden folder contains them: writable folders, programs to run.
  std::vector<std::string> own_folders;
  std::vector<std::string> programs;
};

// Computes the confinement for a working folder. Creates the user's config folder if the tool could otherwise create
// it. Nothing if no confinement is possible: the folder is missing, is /, or is inside a folder that must be hidden.
std::optional<Confinement> find_confinement(const std::string& folder, const StateFolder& state);

// The arguments of bubblewrap, without its name and the command. Pure.
std::vector<std::string> make_bubblewrap_words(const Confinement& confinement);

// Searches the PATH of this process.
std::optional<std::string> find_program(std::string_view name);

// The first `bwrap` in the PATH that only root can have written or replaced: it and all folders above it belong to root
// and are not writable by others. Absolute, with symlinks resolved. Otherwise the reason why there is none: tools run
// with this user's rights, and a tool could put its own `bwrap` in the PATH to escape the sandbox.
std::expected<std::string, std::string> find_bubblewrap(std::string_view search_path);
std::expected<std::string, std::string> find_bubblewrap();

}  // namespace reeve::project
