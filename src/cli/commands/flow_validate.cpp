#include <iterator>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/live/flow_check.h"
#include "json/fields.h"

namespace reeve::cli {

namespace {

std::string text_of(const base::Value& record, std::string_view key) {
  return base::visible(json::text_of(record, key));
}

// "3 nodes": from a number or the length of a list.
std::string count_of(const base::Value& record, std::string_view key, std::string_view noun) {
  const base::Value* found = record.find(key);
  std::int64_t count = 0;
  if (found != nullptr && found->as_integer() != nullptr) count = *found->as_integer();
  if (found != nullptr && found->as_array() != nullptr) count = std::ssize(*found->as_array());
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

ExitCode run(const Call& call) {
  const std::string file = call.arguments.positional(0);
  const auto checked = check_flow(call, file);
  if (!checked) {
    return refuse(call, base::ErrorCode::flow_invalid, "the workflow is not valid", checked.error(),
                  "Nothing was started.");
  }
  const base::Value& record = checked->record;
  if (call.is_json) {
    print_json(call, record);
    return ExitCode::done;
  }
  print_warnings(call, checked->warnings);
  fmt::print("{} {}  {} ({} {})\n  {}, {}, {}, {}\n  {}\n", call.out.paint(view::Tint::green, call.out.pick("✓", "+")),
             base::visible(file), text_of(record, "workflow_name"), text_of(record, "workflow_id"),
             text_of(record, "version"), count_of(record, "nodes", "node"), count_of(record, "edges", "edge"),
             count_of(record, "levels", "level"), count_of(record, "loops", "loop"), text_of(record, "content_hash"));
  print_next(call, fmt::format("reeve flow graph {}", base::visible(file)));
  return ExitCode::done;
}

}  // namespace

Command make_flow_validate() {
  return {
      .name = "flow validate",
      .summary = "Check a workflow file and report all errors at once",
      .about = R"(Reads the file and checks every key, name and connection, and the shape of the graph: cycles without a
limit, unreachable nodes, branches without their edges, merges without inputs. Each error is shown with its
line, the likely intended value and a fix. Nothing is started.

Roles and gates are checked against the project's config if the file is in a project, subgraphs against
`.reeve/workflows/` and the files next to this one. Problems that would prevent a start although the file
is valid, such as a role without a tool, are warnings. With `--host`, that daemon checks the file against
its own config and workflows.

The hash covers the meaning of the workflow: key order, comments and spelled-out defaults do not change it.

Exit codes: 0 valid, 2 not valid, 3 no such file.)",
      .examples = {{"reeve flow validate release.yaml", "all errors, with fixes"},
                   {"reeve flow validate release.yaml --json", "for an editor or a script"},
                   {"make-workflow | reeve flow validate -", "from a pipe"}},
      .positionals = {{.name = "FILE",
                       .help = "a workflow file, the name of a project workflow, or - for standard input",
                       .is_file = true}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
