#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/live/flow_check.h"
#include "cli/live/flow_start.h"
#include "json/fields.h"

namespace reeve::cli {

namespace {

ExitCode check(const Call& call) {
  auto checked = check_flow(call, call.arguments.positional(0));
  if (!checked) {
    return refuse(call, base::ErrorCode::flow_invalid, "the workflow is not valid", checked.error(),
                  "Nothing was started.");
  }
  print_warnings(call, checked->warnings);
  if (call.is_json) {
    checked->record.set("label", base::Value::string(call.arguments.value("--workflow-id").value_or("")));
    print_json(call, checked->record);
    return ExitCode::done;
  }
  fmt::print("{}\n  Nodes: {}\n  Edges: {}\n", call.out.paint(view::Tint::green, "Workflow validation passed"),
             json::integer_of(checked->record, "nodes").value_or(0),
             json::integer_of(checked->record, "edges").value_or(0));
  return ExitCode::done;
}

ExitCode run(const Call& call) {
  if (call.arguments.has("--validate-only")) return check(call);
  return start_flow(call, call.arguments.positional(0), call.arguments.value("--workflow-id"));
}

}  // namespace

Command make_run_graph() {
  std::vector<Option> options = {
      {.name = "--workflow-id", .value = "LABEL", .help = "the execution's label", .is_required = true},
      {.name = "--validate-only", .help = "check the file, start nothing"}};
  for (Option& option : start_options()) options.push_back(std::move(option));
  for (Option& option : record_options()) options.push_back(std::move(option));
  return {
      .name = "run-graph",
      .summary = "Run a workflow file under a label, or check it (--validate-only)",
      .about = R"(Compatibility alias for `reeve flow run FILE --label LABEL`. Labels need not be unique. With
`--validate-only`, the file is checked and nothing is started.

Exit codes: as for `reeve flow run`.)",
      .examples = {{"reeve run-graph debug.yaml --workflow-id W1", "run it"},
                   {"reeve run-graph debug.yaml --workflow-id W1 --validate-only", "check it"}},
      .positionals = {{.name = "FILE",
                       .help = "a workflow file, the name of a project workflow, or - for standard input",
                       .is_file = true}},
      .options = std::move(options),
      .run = run,
  };
}

}  // namespace reeve::cli
