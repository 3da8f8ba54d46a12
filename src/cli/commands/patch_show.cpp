#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/show_patch.h"
#include "cli/connect.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/patches.h"
#include "view/patch_text.h"

namespace reeve::cli {

namespace {

using model::PatchState;

std::string next_for(const model::Patch& patch) {
  const std::string id = patch.patch_id.text();
  if (patch.state == PatchState::committed) return "reeve patch rollback " + id;
  if (patch.state == PatchState::rejected) return "reeve patch drop " + id;
  if (patch.state == PatchState::created || model::is_final(patch.state)) return "reeve patch list";
  return "reeve patch apply " + id;
}

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const base::PatchId id = find_patch(daemon, call.arguments.positional(0));
  if (!call.arguments.has("--diff") || call.is_json) return show_patch(call, daemon, id);
  const auto record = client::get_patch(daemon, id);
  if (call.out_is_terminal) {
    fmt::print("{}", view::diff_text(record.patch.diff, call.out));
  } else {
    fmt::print("{}", record.patch.diff);
  }
  return ExitCode::done;
}

}  // namespace

ExitCode show_patch(const Call& call, client::Daemon& daemon, base::PatchId id) {
  const auto record = client::get_patch(daemon, id);
  if (call.is_json) {
    print_json(call, mark_source(record.wire, call, daemon));
  } else if (!call.out_is_terminal) {
    fmt::print("{}", with_prefixed_fields(call, view::patch_details(record.patch, call.out, {})));
  } else {
    fmt::print("{}",
               with_prefixed_fields(call, view::patch_details(record.patch, call.out, base::SystemClock().wall_now())));
    print_next(call, next_for(record.patch));
  }
  return ExitCode::done;
}

Command make_patch_show() {
  return {
      .name = "patch show",
      .summary = "Show a patch and its history",
      .about =
          R"(When piped, each line has a field name and its value, separated by a tab; `history` and `file` are repeated
for each entry. With `--diff`, prints only the diff: unchanged when piped, sanitized and coloured on a terminal.

Exit codes: 0 done, 3 no such patch.)",
      .examples = {{"reeve patch show PA-3", ""},
                   {"reeve patch show @last --diff | git apply --check", "does it apply here?"}},
      .positionals = {{.name = "ID", .help = "PA-3, or @last for the newest", .is_id = true}},
      .options = {{.name = "--diff", .help = "print only the diff"}},
      .run = run,
  };
}

}  // namespace reeve::cli
