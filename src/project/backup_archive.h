#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.h"

// The file that `reeve backup` writes: a POSIX tar archive of regular files, which `tar` can list and unpack.
//
//   reeve-backup.json   first: {"format": 1, …}
//   reeve.db            a consistent copy of the database
//   runs/…, logs/…      output of runs, combined.log
//   SHA256SUMS          last: "DIGEST  NAME" of every member before it, as `sha256sum -c` reads it
//
// The digest of the backup is that of SHA256SUMS.
namespace reeve::project {

inline constexpr std::string_view backup_about = "reeve-backup.json";
inline constexpr std::string_view backup_database = "reeve.db";
inline constexpr std::string_view backup_sums = "SHA256SUMS";
inline constexpr int backup_format = 1;

// Whether a backup may contain a file of that name: only those that a state folder has, so that nothing else is ever
// written by a restore.
bool is_backup_name(std::string_view name);

// Throws `backup.exists`, `backup.unwritable`. Without finish() nothing is left at `path`.
class BackupWriter {
 public:
  // Called between pieces; throws to give up.
  using Check = std::function<void()>;

  BackupWriter(std::filesystem::path path, Check check);
  ~BackupWriter();
  BackupWriter(const BackupWriter&) = delete;
  BackupWriter& operator=(const BackupWriter&) = delete;

  void add_text(std::string_view name, std::string_view text);
  // The file as long as it is now; if it gets shorter meanwhile, the rest is zeros.
  void add_file(std::string_view name, const os::Fd& file);
  // Makes the archive durable and gives it its name, unless something has that name by now. Returns its digest.
  std::string finish();
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  void begin_member(std::string_view name, std::uint64_t size);
  void write(std::string_view bytes);
  void pad(std::uint64_t size);

  std::filesystem::path path_;
  std::filesystem::path draft_;
  Check check_;
  os::Fd file_;
  std::uint64_t bytes_ = 0;
  std::string sums_;
};

// A backup that was read as a whole and is complete and unchanged.
struct VerifiedBackup {
  // Text of reeve-backup.json.
  std::string about;
  std::string digest;
  // Digests by name, in the order of the archive.
  std::vector<std::pair<std::string, std::string>> members;
  std::uint64_t bytes = 0;
};
// Throws `restore.not_a_backup`, `restore.damaged`, `file.*`. The file is opened once: see extract_backup().
os::Fd open_backup(const std::filesystem::path& path);
VerifiedBackup verify_backup(const os::Fd& file);
// Writes the members beneath an existing folder, except reeve-backup.json and SHA256SUMS, and compares the digests once
// more. `reeve.db` is written as `database_name`. Throws `restore.damaged`, `file.unwritable`.
void extract_backup(const os::Fd& file, const VerifiedBackup& backup, const std::filesystem::path& root,
                    const std::string& database_name);

}  // namespace reeve::project
