#include "runtime/upkeep/backup.h"

#include <algorithm>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "json/encode.h"
#include "os/beneath.h"
#include "os/fd.h"
#include "project/backup_archive.h"
#include "store/snapshot.h"
#include "store/store.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Value;
using project::BackupWriter;

constexpr const char* draft_name = "backup.draft.db";

// Removed in every case.
class DraftDatabase {
 public:
  explicit DraftDatabase(const project::StateFolder& folder) : folder_(folder) { remove_backup_drafts(folder_); }
  ~DraftDatabase() { remove_backup_drafts(folder_); }
  DraftDatabase(const DraftDatabase&) = delete;
  DraftDatabase& operator=(const DraftDatabase&) = delete;
  fs::path path() const { return folder_.root / draft_name; }

 private:
  const project::StateFolder& folder_;
};

std::string describe(const BackupOrder& order) {
  Value about = Value::object();
  about.set("format", Value::integer(project::backup_format));
  about.set("created_at", Value::string(base::format_time(order.now)));
  about.set("reeve", Value::string(REEVE_VERSION));
  about.set("schema", Value::integer(store::newest_schema()));
  about.set("state", Value::string(base::replace_invalid_utf8(order.folder.root.string())));
  return json::encode(about) + "\n";
}

std::vector<std::string> list_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

// Tools can write into their run's folder, so nothing is followed and only known names are included.
class FileCollector {
 public:
  FileCollector(const fs::path& root, BackupWriter& writer) : root_(root), writer_(writer) {}

  void add_all() {
    for (const std::string& name : list_names(root_ / "logs")) add("logs/" + name);
    for (const std::string& run : list_names(root_ / "runs")) {
      if (!base::RunId::parse(run)) continue;
      for (const std::string& attempt : list_names(root_ / "runs" / run)) add_attempt("runs/" + run + "/" + attempt);
    }
  }
  std::int64_t count() const noexcept { return count_; }

 private:
  void add_attempt(const std::string& attempt) {
    for (const std::string& name : list_names(root_ / attempt)) add(fmt::format("{}/{}", attempt, name));
    add(attempt + "/own/result.json");
  }

  void add(const std::string& name) {
    if (!project::is_backup_name(name)) return;
    std::optional<os::Folder> folder = os::Folder::open(root_.string());
    const auto parts = base::split(name, '/');
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      auto inner = folder->open_folder(std::string(parts[i]));
      if (!inner) return;
      folder = std::move(*inner);
    }
    const auto file = folder->open_file(std::string(parts.back()), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    // It may have been pruned since it was listed.
    if (!file) return;
    writer_.add_file(name, *file);
    ++count_;
  }

  const fs::path& root_;
  BackupWriter& writer_;
  std::int64_t count_ = 0;
};

}  // namespace

BackupResult write_backup(const BackupOrder& order, const std::stop_token& stop) {
  BackupWriter writer(order.target, [&stop] {
    if (stop.stop_requested()) {
      throw Error(ErrorCode::backup_stopped, "the daemon was asked to stop", "run the backup again");
    }
  });
  const DraftDatabase draft(order.folder);
  // The database first: every run in it has begun before its files are copied.
  store::snapshot_database(order.database, draft.path(), stop);
  writer.add_text(project::backup_about, describe(order));
  const os::Fd database(::open(draft.path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!database) base::throw_errno(ErrorCode::backup_failed, "cannot read the copy of the database", errno);
  writer.add_file(project::backup_database, database);
  FileCollector files(order.folder.root, writer);
  files.add_all();
  std::string digest = writer.finish();
  return {.digest = std::move(digest), .bytes = writer.bytes(), .files = files.count() + 1};
}

void remove_backup_drafts(const project::StateFolder& folder) noexcept {
  for (const char* ending : {"", "-journal", "-wal", "-shm"}) {
    ::unlink((folder.root / fmt::format("{}{}", draft_name, ending)).c_str());
  }
}

}  // namespace reeve::runtime
