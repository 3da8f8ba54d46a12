#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.h"

// The user's list of state folders and projects that Reeve created or that the user accepted. Files from a clone cannot
// be in it.
namespace reeve::project {

struct KnownPlace {
  enum class Kind { state, project };
  Kind kind = Kind::state;
  // See make_identity().
  std::string id;
  // Symlinks resolved.
  std::filesystem::path path;
  // Device numbers change between boots, so they are neither stored nor compared.
  std::uint64_t inode = 0;
  // For a state folder: a database was created in it, so a missing one is a loss.
  bool has_database = false;

  bool operator==(const KnownPlace&) const = default;
};

// 128 random bits, 32 hexadecimal digits.
std::string make_identity();
bool is_identity(std::string_view text) noexcept;

// `$XDG_STATE_HOME/reeve/known`: one file per id. Throws `state.registry` if the folder is a symlink, belongs to
// another user, is accessible to others, or cannot be read or written.
class Registry {
 public:
  // Throws `state.registry` when there is no home folder.
  static std::filesystem::path location();
  // Nothing if it does not exist yet.
  static std::optional<Registry> find();
  // Creates it if it is missing.
  static Registry open();

  // Nothing for an unknown id, or for a file that Reeve did not write.
  std::optional<KnownPlace> find(std::string_view id) const;
  // Bounded.
  std::vector<KnownPlace> list() const;
  // Replaces the entry by rename. If there are too many entries, drops those whose folders no longer exist.
  void write(const KnownPlace& place) const;
  void forget(std::string_view id) const noexcept;

 private:
  explicit Registry(os::Fd folder) : folder_(std::move(folder)) {}
  std::vector<std::string> list_ids() const;
  void make_room() const;

  os::Fd folder_;
};

}  // namespace reeve::project
