#include <iterator>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/flow_check.h"
#include "json/fields.h"

namespace reeve::cli {

namespace {

std::string text_of(const base::Value& record, std::string_view key) {
  return base::visible(json::text_of(record, key));
}

// "3 nodes": a number, or how long a list is.
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
    return refuse(call, "flow.invalid", "the workflow is not valid", checked.error(), "Nothing was started.");
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
      .summary = "Check a workflow file and tell all its mistakes at once",
      .about = R"(Reads the file, checks every key, name and connection, and the shape of the graph: cycles without
a limit, nodes that nothing leads to, branches without their edges, merges without inputs. Each
mistake is shown with its line, the likely meaning and a fix. Nothing is started.

Roles and gates are held against the project's config when the file lies in a project, subgraphs
against `.reeve/workflows/` and the files beside this one. What a start would refuse though the file is
sound, such as a role without a tool, is a warning. With `--host` the daemon there judges it, by its own
config and workflows.

The hash is that of the workflow's meaning: order of keys, comments and spelled-out defaults do not
change it.

Exit codes: 0 valid, 2 not valid, 3 no such file.)",
      .examples = {{"reeve flow validate release.yaml", "all mistakes with their fixes"},
                   {"reeve flow validate release.yaml --json", "for an editor or a script"},
                   {"make-workflow | reeve flow validate -", "from a pipe"}},
      .positionals = {{.name = "FILE",
                       .help = "a workflow file, a workflow of the project, or - for standard input",
                       .is_file = true}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
