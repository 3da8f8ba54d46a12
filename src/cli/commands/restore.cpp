#include "project/restore.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "json/describe.h"
#include "wire/backup_record.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  refuse_host(call, "restore");
  if (is_inside_run()) {
    throw base::Error(base::ErrorCode::restore_inside_run, "a process inside a run cannot restore a backup",
                      "restore it in a shell outside any run");
  }
  const std::string file = call.arguments.positional(0);
  const std::filesystem::path root = find_daemon_place(call).folder;
  const project::Restored restored = project::restore_backup(file, root, call.arguments.value("--digest"));
  if (call.is_json) {
    print_json(call, json::to_value(wire::RestoreRecord{.path = base::replace_invalid_utf8(file),
                                                        .state = base::replace_invalid_utf8(root.string()),
                                                        .digest = restored.digest,
                                                        .bytes = static_cast<std::int64_t>(restored.bytes),
                                                        .files = static_cast<std::int64_t>(restored.files)}));
    return ExitCode::done;
  }
  fmt::print("restored {} files into {}\n", restored.files, base::visible(root.string()));
  fmt::print("digest {}\n", restored.digest);
  print_aside(
      "Runs that were alive in the backup are shown as failed. Make new tokens: those of the backup are void.\n");
  print_next(call, call.arguments.value("--state") ? fmt::format("reeve --state {}", base::visible(root.string()))
                                                   : std::string("reeve"));
  return ExitCode::done;
}

}  // namespace

Command make_restore() {
  return {
      .name = "restore",
      .summary = "Fill a new state folder from a backup",
      .about =
          R"(Fills the state folder (`--state DIR`, otherwise the usual one) from a file that `reeve backup` has
written. The folder must be new or empty; a folder with content is never changed. The whole file is
checked before anything is written, and an interrupted restore is simply repeated.

The copy has an identity of its own and never acts on the processes and branches of the original: runs
that were alive become failed, executions that ran or had a branch become cancelled, approvals that were
given but not used become void. Questions that wait for a person stay. Tokens of the backup are void.

`--digest` compares the digest that `reeve backup` printed, which shows that nobody changed the file.

Exit codes: 0 restored; 1 the backup is damaged; 2 not a backup; 3 no such file; 4 the folder has
content, or a daemon uses it.)",
      .examples = {{"reeve restore reeve.backup --state ~/restored", "look at it beside the original"},
                   {"reeve restore reeve.backup", "on a new machine"}},
      .positionals = {{.name = "FILE", .help = "the backup", .is_file = true}},
      .options = {{.name = "--digest", .value = "DIGEST", .help = "refuse a backup with another digest"}},
      .run = run,
  };
}

}  // namespace reeve::cli
