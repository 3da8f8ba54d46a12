#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "project/state_folder.h"

// What a tool with `sandbox: guard` sees of this machine (APR-11): everything to read, its working folder to write, and
// nothing of Reeve but what is its own. Made by bubblewrap.
namespace reeve::project {

struct Confinement {
  // All paths are absolute and without links. The one place to write to.
  std::string working_folder;
  // As the tool is to see it: the name it was started with.
  std::string start_folder;
  // Its own and empty: /tmp and the like.
  std::vector<std::string> private_folders;
  // Beside the working folder: seen whatever is private, and in it what may be written to.
  std::vector<std::string> shown;
  std::vector<std::string> writable;
  std::vector<std::string> read_only;
  // Folders that are empty inside.
  std::vector<std::string> hidden;
  // Sockets through which something outside would do what the tool says.
  std::vector<std::string> masked;
  // Shown whatever hides them: folders to write to, programs to run.
  std::vector<std::string> own_folders;
  std::vector<std::string> programs;
};

// Looked up for a working folder. Makes the user's folder for the config where the tool could otherwise. Nothing when
// none can be made: the folder is not there, is /, or lies in what is to be kept from the tool.
std::optional<Confinement> find_confinement(const std::string& folder, const StateFolder& state);

// The words for bubblewrap, without its name and the command. Pure.
std::vector<std::string> make_bubblewrap_words(const Confinement& confinement);

// In the PATH of this process.
std::optional<std::string> find_program(std::string_view name);

// The first `bwrap` of the PATH that nobody but root can have written or replaced: it and all folders above it belong
// to root and others cannot write to them. Absolute and without links. Else why there is none: tools run with this
// user's rights, and one that put a `bwrap` of its own into the PATH would never be kept in a sandbox.
std::expected<std::string, std::string> find_bubblewrap(std::string_view search_path);
std::expected<std::string, std::string> find_bubblewrap();

}  // namespace reeve::project
