#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>

#include "os/beneath.h"

// The settings file of another program. Symlinks beneath its root are refused: a repository could point them anywhere.
namespace reeve::cli {

struct SettingsPath {
  // Followed if it is a symlink: the home, or the current folder.
  std::filesystem::path root;
  // A folder in it; empty if the root itself has the file.
  std::string folder;
  std::string file;

  std::filesystem::path text() const { return folder.empty() ? root / file : root / folder / file; }
};

class SettingsFile {
 public:
  // Reads the file. Throws base::Error: a symlink, not a regular file, not readable, over 4 MiB.
  explicit SettingsFile(SettingsPath path);

  // Empty if there is no file.
  const std::optional<std::string>& text() const noexcept { return text_; }
  // Replaces the file as a whole and keeps its mode; a new one gets `new_mode`. Throws base::Error, also if the file
  // has changed since it was read.
  void replace(const std::string& text, mode_t new_mode);

 private:
  std::optional<os::Folder> open_folder() const;
  std::optional<std::string> read(const os::Folder& folder, mode_t& mode) const;
  [[noreturn]] void fail(std::string_view doing, int error) const;

  SettingsPath path_;
  std::optional<std::string> text_;
};

}  // namespace reeve::cli
