#include "client/import.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "view/table.h"

namespace reeve::cli {

namespace {

using wire::ImportKind;
using wire::ImportRecord;

// "2 × unknown status `x`; it has no id".
std::string describe_reasons(const ImportKind& kind) {
  std::vector<std::string> reasons;
  for (const wire::ImportSkip& skip : kind.reasons) {
    reasons.push_back(skip.rows == 1 ? skip.reason : fmt::format("{} × {}", skip.rows, skip.reason));
  }
  return base::join(reasons, "; ");
}

void print_kinds(const Call& call, const ImportRecord& record) {
  view::Table table({"what", "taken", "skipped", "why"});
  for (const ImportKind& kind : record.kinds) {
    table.add({kind.kind, std::to_string(kind.taken), std::to_string(kind.skipped), describe_reasons(kind)});
  }
  fmt::print("{}", call.out_is_terminal ? table.for_terminal(call.out) : table.for_pipe());
}

std::string describe_earlier(const ImportRecord& record) {
  return fmt::format("these rows were already imported{}{}; nothing new\n",
                     record.imported_at ? fmt::format(", at {}", base::format_time(*record.imported_at)) : "",
                     record.imported_by ? fmt::format(" by {}", base::visible(*record.imported_by)) : "");
}

ExitCode run(const Call& call) {
  // The daemon has another working folder, so the path must be absolute.
  const auto path = std::filesystem::absolute(call.arguments.positional(0)).lexically_normal();
  if (base::find_invalid_utf8(path.string())) {
    throw base::Error(base::ErrorCode::cli_usage, "the file name is not valid UTF-8",
                      "rename the file, or use a link to it");
  }
  client::Daemon daemon(daemon_place(call));
  const auto answer = client::import_database(daemon, path, call.arguments.has("--dry-run"));
  if (call.is_json) {
    print_json(call, answer.wire);
    return ExitCode::done;
  }
  const ImportRecord& record = answer.record;
  if (record.already_imported) {
    print_aside("{}", describe_earlier(record));
    return ExitCode::done;
  }
  print_kinds(call, record);
  for (const std::string& note : record.notes) print_aside("note: {}\n", base::visible(note));
  std::int64_t taken = 0;
  for (const ImportKind& kind : record.kinds) taken += kind.taken;
  if (record.dry_run) {
    print_aside("dry run: nothing was imported\n");
  } else if (taken == 0) {
    print_aside("nothing was imported\n");
  } else {
    print_next(call, "reeve flow list");
  }
  return ExitCode::done;
}

}  // namespace

Command make_import() {
  return {
      .name = "import",
      .summary = "Import another program's database",
      .about =
          R"(Reads a SQLite file with the tables of a headless CLI supervisor (`uet_executions`, `uet_tasks`,
`tool_runs`, `approvals`, `patch_ledger`), of a graph engine (`graph_workflows`, `graph_executions`,
`node_executions`, `loop_counters`) or of approval pipelines (`pipelines`, `steps`, `approvals`,
`audit_events`). The file is only read, and nothing in it is executed.

The import is all or nothing. Rows get new ids and keep their old ones as `imported_from`; anything
unfinished is imported as failed, with the reason `imported`, and is never started. The same rows are
imported only once.

When piped, each line has these tab-separated fields: kind, imported, skipped, reason.

Exit codes: 0 imported, now or earlier; 2 not a database, damaged, too large, or no known tables; 3 no
such file; 4 it is Reeve's own database, or in use.)",
      .examples = {{"reeve import .worktrees/pipeline_state.db --dry-run", "show what would be imported"},
                   {"reeve import .supervisor/state.db", "import it"},
                   {"reeve import old.db --json", "for a script"}},
      .positionals = {{.name = "FILE", .help = "the old database", .is_file = true}},
      .options = {{.name = "--dry-run", .help = "show what would be imported, without importing it"}},
      .run = run,
  };
}

}  // namespace reeve::cli
