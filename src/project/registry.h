#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.h"

// The user's own list of state folders and projects that Reeve has made or that the user has accepted. Files that came
// with a clone cannot be in it.
namespace reeve::project {

struct KnownPlace {
  enum class Kind { state, project };
  Kind kind = Kind::state;
  // See make_identity().
  std::string id;
  // Without links.
  std::filesystem::path path;
  // Device numbers change between boots, so they are neither stored nor compared.
  std::uint64_t inode = 0;
  // Of a state folder: a database was made in it, so that a missing one is a loss.
  bool has_database = false;

  bool operator==(const KnownPlace&) const = default;
};

// 128 random bits, 32 hexadecimal digits.
std::string make_identity();
bool is_identity(std::string_view text) noexcept;

// `$XDG_STATE_HOME/reeve/known`: one file per id. Throws `state.registry` when the folder is a link, another user's or
// open to others, or cannot be read or written.
class Registry {
 public:
  // Throws `state.registry` when there is no home folder.
  static std::filesystem::path location();
  // Nothing when none was made yet.
  static std::optional<Registry> find();
  // Makes it when it is missing.
  static Registry open();

  // Nothing for an unknown id, and for a file that Reeve has not written.
  std::optional<KnownPlace> find(std::string_view id) const;
  // Bounded.
  std::vector<KnownPlace> list() const;
  // Replaces the entry by rename. Drops entries of folders that are gone when there are too many.
  void write(const KnownPlace& place) const;
  void forget(std::string_view id) const noexcept;

 private:
  explicit Registry(os::Fd folder) : folder_(std::move(folder)) {}
  std::vector<std::string> list_ids() const;
  void make_room() const;

  os::Fd folder_;
};

}  // namespace reeve::project
