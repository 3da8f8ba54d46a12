#include "project/restore.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/file.h"
#include "os/lock.h"
#include "project/state_folder.h"
#include "project/state_identity.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

// Present while a restore fills the folder, and until the daemon has settled what was running in the original.
constexpr const char* unfinished_name = "restore.part";
constexpr const char* restored_name = "restored";
constexpr const char* draft_database = "reeve.db.restored";

bool is_there(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

void sync_folder(const fs::path& root) {
  const os::Fd folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder && ::fsync(folder.get()) == 0) return;
  base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot write {}", base::quoted(root.string())), errno);
}

void refuse_content(const fs::path& root) {
  if (is_there(root / unfinished_name)) return;
  for (const char* name : {"reeve.db", "runs", "logs", "executions", "keepers"}) {
    if (!is_there(root / name)) continue;
    throw Error(ErrorCode::restore_not_empty,
                fmt::format("the state folder {} has content", base::quoted(root.string())),
                "restore into a new folder with --state DIR, or move the old one away first");
  }
}

// What an interrupted restore has written: no daemon starts in such a folder.
void clear(const fs::path& root) {
  for (const char* name : {"runs", "logs", draft_database, "reeve.db", restored_name}) fs::remove_all(root / name);
}

}  // namespace

Restored restore_backup(const fs::path& file, const fs::path& root, const std::optional<std::string>& expected_digest) {
  refuse_content(root);
  const os::Fd archive = open_backup(file);
  const VerifiedBackup backup = verify_backup(archive);
  if (expected_digest && *expected_digest != backup.digest) {
    throw Error(ErrorCode::restore_damaged,
                fmt::format("the digest of the backup is {}, not the one that was given", backup.digest),
                "use another backup; nothing was restored");
  }
  const OpenedState opened = open_state_folder(root);
  const StateFolder folder{root};
  // Keeps daemons out; one that starts later finds the mark of the unfinished restore.
  const auto lock = os::FileLock::try_take(folder.lock().string());
  if (!lock) {
    throw Error(ErrorCode::daemon_already_running,
                fmt::format("a daemon has just started in {}", base::quoted(root.string())),
                "stop it with `reeve stop`, and restore into a new folder");
  }
  refuse_content(root);
  os::replace_file(root / unfinished_name, backup.digest + "\n");
  sync_folder(root);
  clear(root);
  extract_backup(archive, backup, root, draft_database);
  os::replace_file(root / restored_name, backup.digest + "\n");
  fs::rename(root / draft_database, root / "reeve.db");
  sync_folder(root);
  note_database(opened.place);
  ::unlink((root / unfinished_name).c_str());
  sync_folder(root);
  return {.about = backup.about, .digest = backup.digest, .bytes = backup.bytes, .files = backup.members.size() - 1};
}

void refuse_unfinished_restore(const fs::path& root) {
  if (!is_there(root / unfinished_name)) return;
  throw Error(
      ErrorCode::restore_unfinished,
      fmt::format("a restore into {} was interrupted, so its content is incomplete", base::quoted(root.string())),
      "run the same `reeve restore` again, or remove the folder");
}

bool is_just_restored(const fs::path& root) { return is_there(root / restored_name); }

void forget_restore(const fs::path& root) {
  ::unlink((root / restored_name).c_str());
  sync_folder(root);
}

}  // namespace reeve::project
