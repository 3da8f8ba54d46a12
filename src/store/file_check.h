#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

// What can be said about the database file and the SQLite that reads it, without opening it for writing.
namespace reeve::store {

// «3.40.1», of the library that this program is linked with.
std::string sqlite_version();
// Whether that version, as a number (3040001), has the WAL-reset bug: a checkpoint that begins right after another has
// ended, while a third connection commits, may take new pages for written ones, and a commit is lost. From 3.7.0 on;
// mended in 3.51.3, 3.50.7 and 3.44.6.
bool has_wal_reset_bug(int version) noexcept;
bool has_wal_reset_bug() noexcept;

enum class FileHealth { sound, damaged, unfinished, unreadable };
struct FileCheck {
  FileHealth health = FileHealth::sound;
  // Of damage the first words of SQLite, or why it cannot be read.
  std::string detail;
};
// PRAGMA quick_check on a connection of its own that writes nothing, for at most that long. A daemon may go on writing
// meanwhile.
FileCheck check_file(const std::filesystem::path& file, std::chrono::milliseconds limit);

}  // namespace reeve::store
