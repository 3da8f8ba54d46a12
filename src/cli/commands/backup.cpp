#include "client/backup.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  // The daemon has another working folder, so the path must be absolute.
  const auto path = std::filesystem::absolute(call.arguments.positional(0)).lexically_normal();
  if (base::find_invalid_utf8(path.string())) {
    throw base::Error(base::ErrorCode::cli_usage, "the file name is not valid UTF-8", "choose another name");
  }
  client::Daemon daemon(patient_place(call));
  const client::BackupAnswer answer = client::create_backup(daemon, path);
  if (call.is_json) {
    print_json(call, answer.wire);
    return ExitCode::done;
  }
  const wire::BackupRecord& record = answer.record;
  fmt::print("{}: {} files, {} bytes\n", base::visible(record.path), record.files, record.bytes);
  fmt::print("digest {}\n", record.digest);
  print_aside("It contains the output of runs as it was printed, so keep it where only you can read it.\n");
  print_next(call, fmt::format("reeve restore {} --state NEW-FOLDER", base::visible(call.arguments.positional(0))));
  return ExitCode::done;
}

}  // namespace

Command make_backup() {
  return {
      .name = "backup",
      .summary = "Write a backup of the state folder to a file",
      .about =
          R"(Writes a consistent copy of the database, the output of all runs and the log to a new file, readable by
you only, while the daemon keeps working. Launch files, the settings of executions and tokens are left
out, because they contain secrets; the output of tools is included as it was printed.

The file is a tar archive with a list of digests; the printed digest is that of the list. `reeve restore`
checks both. A store on PostgreSQL is backed up with `pg_dump`.

Exit codes: 0 written; 1 it cannot be written, or the store is PostgreSQL; 4 the file exists, or another
backup or import is running.)",
      .examples = {{"reeve backup ~/reeve-2026-11-18.backup", ""},
                   {"reeve backup nightly.backup --json", "for a script"}},
      .positionals = {{.name = "FILE", .help = "the new file", .is_file = true}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
