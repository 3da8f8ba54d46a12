#include "server/request/file_guard.h"

#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace reeve::server {

namespace {

namespace fs = std::filesystem;
using runtime::StateFinding;
using Kind = StateFinding::Kind;

// Ending a process tree takes up to its grace time, which the config may set to a long value.
constexpr auto end_time = std::chrono::seconds(30);
constexpr base::Milliseconds look_interval{100};
constexpr const char* rescued_name = "reeve.db.rescued";

std::string what_to_do(const StateFinding& finding, const fs::path& root) {
  if (finding.kind == Kind::gone) return "its runs are being ended; the next command starts with an empty state folder";
  if (finding.kind == Kind::moved) {
    const fs::path context = finding.now_at.parent_path();
    const fs::path named = context.filename() == ".reeve" ? context.parent_path() : finding.now_at;
    return fmt::format("move it back; or: reeve stop --state {}, then: reeve project moved {}", finding.now_at.string(),
                       named.string());
  }
  if (finding.is_database_deleted) {
    return fmt::format("reeve stop, then: mv {} {}", (root / rescued_name).string(), (root / "reeve.db").string());
  }
  if (!finding.now_at.empty()) return fmt::format("move it back: it is now {}", base::quoted(finding.now_at.string()));
  return "run `reeve stop`; the next daemon continues from reeve.db, which has every accepted change";
}

std::string quote_sql(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += c;
    quoted += c;
  }
  return quoted + "'";
}

}  // namespace

FileGuard::FileGuard(runtime::Daemon& daemon, Hooks hooks)
    : daemon_(daemon),
      hooks_(std::move(hooks)),
      watch_(daemon.loop(), {.root = daemon.options().folder.root,
                             .database = daemon.database(),
                             .changed = [this](const StateFinding& finding) { on_change(finding); },
                             .settled = [this](const StateFinding& finding) { on_settled(finding); }}) {
  daemon_.set_check_files([this] { watch_.check(); }, watch_.make_poll());
}

FileGuard::~FileGuard() { daemon_.set_check_files({}, {}); }

void FileGuard::on_change(const StateFinding& finding) {
  if (is_ending_) return;
  const auto& log_warning = daemon_.options().log_warning;
  if (finding.kind == Kind::whole) {
    log_warning("the files of the state folder are back; accepting requests again");
    daemon_.ledger().set_logless(false);
    return daemon_.set_refusal(std::nullopt);
  }
  base::Error error(
      base::ErrorCode::store_files_removed,
      fmt::format("{} while the daemon was running; new requests are refused, running tools stay supervised",
                  finding.what),
      what_to_do(finding, daemon_.options().folder.root));
  log_warning(fmt::format("error[{}]: {}; {}", error.code(), error.message(), error.fix()));
  daemon_.set_refusal(std::move(error));
  // The WAL may have no name left, and its content would be lost with this process: checkpoint it now, and every later
  // commit at once.
  daemon_.ledger().set_logless(true);
  if (finding.kind == Kind::gone) end_runs();
}

void FileGuard::on_settled(const StateFinding& finding) {
  if (is_ending_ || finding.kind == Kind::gone || finding.kind == Kind::moved) return;
  // Delayed, because files created while the whole folder is being deleted would get in the way.
  hooks_.renew();
  if (finding.is_database_deleted && !std::exchange(is_rescued_, true)) rescue();
}

// A deleted database survives only while this process has it open.
void FileGuard::rescue() {
  const fs::path place = daemon_.options().folder.root / rescued_name;
  daemon_.ledger().between([place, log_warning = daemon_.options().log_warning](store::Session& session) {
    const std::string draft = place.string() + ".draft";
    ::unlink(draft.c_str());
    try {
      session.run_script("VACUUM INTO " + quote_sql(draft));
      std::error_code error;
      fs::rename(draft, place, error);
      log_warning(fmt::format("every accepted change is saved in {}", base::quoted(place.string())));
    } catch (const base::Error& error) {
      log_warning(fmt::format("error[{}]: cannot save the removed database: {}", error.code(), error.message()));
    }
  });
}

void FileGuard::end_runs() {
  is_ending_ = true;
  give_up_at_ = daemon_.loop().now() + end_time;
  daemon_.supervisor().cancel_all({.by = "reeve", .reason = "the state folder was removed", .kill = false});
  leave_when_done();
}

void FileGuard::leave_when_done() {
  if (daemon_.supervisor().live_runs() == 0 || daemon_.loop().now() >= give_up_at_) return hooks_.leave();
  timer_ = daemon_.loop().at(daemon_.loop().now() + look_interval, [this] { leave_when_done(); });
}

}  // namespace reeve::server
