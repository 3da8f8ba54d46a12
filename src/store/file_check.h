#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

// Checks the database file and the linked SQLite without opening the file for writing.
namespace reeve::store {

// "3.40.1": the version of the linked library.
std::string sqlite_version();
// Whether that version, as a number (3040001), has the WAL-reset bug: if a checkpoint begins right after another ended
// while a third connection commits, new pages may be taken for written ones, and a commit is lost. Since 3.7.0; fixed
// in 3.51.3, 3.50.7 and 3.44.6.
bool has_wal_reset_bug(int version) noexcept;
bool has_wal_reset_bug() noexcept;

enum class FileHealth { sound, damaged, unfinished, unreadable };
struct FileCheck {
  FileHealth health = FileHealth::sound;
  // SQLite's first message about damage, or why the file cannot be read.
  std::string detail;
};
// Runs PRAGMA quick_check on a separate read-only connection, for at most `limit`. A daemon may keep writing meanwhile.
FileCheck check_file(const std::filesystem::path& file, std::chrono::milliseconds limit);

}  // namespace reeve::store
