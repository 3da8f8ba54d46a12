#include "client/prune.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/live/ask_person.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using wire::PruneRecord;

wire::PruneRequest make_request(const Call& call) {
  wire::PruneRequest request{.older_than = call.arguments.value("--older-than"), .keep_failed = {}};
  if (request.older_than) {
    if (!base::parse_duration(*request.older_than)) {
      throw base::Error(ErrorCode::cli_usage,
                        fmt::format("{} is not a valid value for `--older-than`", base::quoted(*request.older_than)),
                        std::string(base::duration_forms));
    }
    // An explicit age covers everything that is not excluded explicitly.
    request.keep_failed = false;
  }
  if (call.arguments.has("--keep-failed")) request.keep_failed = true;
  request.dry_run = true;
  return request;
}

std::string count(std::int64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::string describe(const PruneRecord& record) {
  return fmt::format("{}, {}, {}, and the output of {}", count(record.runs, "run", "runs"),
                     count(record.executions, "execution", "executions"), count(record.events, "event", "events"),
                     count(record.outputs, "more run", "more runs"));
}

// What went on this host, as far as it had to go: runs may have had no output, executions no branch.
std::string describe_files(const PruneRecord& record) {
  if (record.folders + record.refs == 0) return {};
  return fmt::format("; on this host {} and {} (branches, patches)", count(record.folders, "folder", "folders"),
                     count(record.refs, "git ref", "git refs"));
}

bool is_empty(const PruneRecord& record) {
  return record.runs + record.executions + record.events + record.outputs == 0;
}

bool confirm(const PruneRecord& plan) {
  if (!can_ask()) {
    throw base::Error(ErrorCode::cli_usage, "cannot ask for confirmation here; nothing was removed",
                      "see what would go with `reeve prune --dry-run`, then: reeve prune --yes");
  }
  const auto line =
      ask_line(fmt::format("Remove {}, with their folders and branches, for good? [y/N] ", describe(plan)));
  const std::string word = base::to_ascii_lower(line.value_or(""));
  return word == "y" || word == "yes";
}

void print_plan(const PruneRecord& plan) {
  fmt::print("would remove {}; with their folders and branches\n", describe(plan));
  print_aside("dry run: nothing was removed. Audit entries, unfinished work and what waits for you always stay.\n");
}

ExitCode run(const Call& call) {
  wire::PruneRequest request = make_request(call);
  const bool is_dry_run = call.arguments.has("--dry-run");
  const bool is_sure = call.arguments.has("--yes");
  client::Daemon daemon(patient_place(call));
  if (is_dry_run || !is_sure) {
    const client::PruneAnswer plan = client::prune(daemon, request);
    if (is_dry_run && call.is_json) {
      print_json(call, plan.wire);
      return ExitCode::done;
    }
    if (is_dry_run) print_plan(plan.record);
    if (is_dry_run) return ExitCode::done;
    if (!is_empty(plan.record) && !confirm(plan.record)) {
      print_aside("nothing was removed\n");
      return ExitCode::failed;
    }
  }
  request.dry_run = false;
  const client::PruneAnswer answer = client::prune(daemon, request);
  if (call.is_json) {
    print_json(call, answer.wire);
    return ExitCode::done;
  }
  fmt::print("removed {}{}\n", describe(answer.record), describe_files(answer.record));
  return ExitCode::done;
}

}  // namespace

Command make_prune() {
  return {
      .name = "prune",
      .summary = "Remove old runs, executions, output and events",
      .about =
          R"(Removes finished runs and executions with their output, patches, approvals, branches and events. Without
options it does what the daemon does by itself once a day, as `retention` in the config says:

  retention: {runs: 90d, keep_failed: true, output: 30d}

`--older-than` replaces both ages and includes failed work, unless `--keep-failed` is given too.

These always stay: audit entries; whatever is not finished or waits for an answer; executions with a
patch that was neither applied nor dropped; everything that ended within the last 24 hours. Ids are never
used again. A branch that somebody has moved stays, too.

The command asks before it removes anything; `--yes` skips the question.

Exit codes: 0 removed, or nothing to remove; 1 declined; 4 another prune is running.)",
      .examples = {{"reeve prune --dry-run", "show how much would be removed"},
                   {"reeve prune --older-than 30d --keep-failed", "keep what failed"},
                   {"reeve prune --yes", "in a script"}},
      .positionals = {},
      .options = {{.name = "--older-than", .value = "AGE", .help = "only what ended before: 30d (at least a day)"},
                  {.name = "--keep-failed", .help = "keep failed runs and executions"},
                  {.name = "--dry-run", .help = "show what would be removed, without removing it"},
                  {.name = "--yes", .help = "do not ask"}},
      .run = run,
  };
}

}  // namespace reeve::cli
