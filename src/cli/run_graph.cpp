#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/workflow_record.h"
#include "project/project.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  const auto loaded = project::load_workflow(call.arguments.positional(0));
  if (!loaded) return refuse(call, "flow.invalid", "the workflow is not valid", loaded.error(), "Nothing was started.");
  print_warnings(call, loaded->warnings);
  if (!call.arguments.has("--validate-only")) {
    throw base::Error("daemon.unavailable",
                      "this version of reeve checks and draws workflows, it does not run them yet",
                      "add --validate-only to check the file");
  }
  if (call.is_json) {
    const graph::Graph graph(loaded->workflow);
    base::Value record = workflow_record(*loaded, graph);
    record.set("label", base::Value::string(call.arguments.value("--workflow-id").value_or("")));
    print_json(call, record);
    return ExitCode::done;
  }
  fmt::print("{}\n  Nodes: {}\n  Edges: {}\n", call.out.paint(view::Tint::green, "Workflow validation passed"),
             loaded->workflow.nodes.size(), loaded->workflow.edges.size());
  return ExitCode::done;
}

}  // namespace

Command make_run_graph() {
  return {
      .name = "run-graph",
      .summary = "Check a workflow file under a label (with --validate-only)",
      .about = R"(The words of the graph engine's first design. `--workflow-id` is the label under which an execution
is found again; labels need not be unique. With `--validate-only` the file is checked and nothing
is started; this version of reeve does not run workflows yet.

Exit codes: 0 valid, 2 not valid, 3 no such file, 6 it cannot be run.)",
      .examples = {{"reeve run-graph debug.yaml --workflow-id W1 --validate-only", "check it"}},
      .positionals = {{.name = "FILE", .help = "a workflow file, or - for standard input", .is_file = true}},
      .options = {{.name = "--workflow-id", .value = "LABEL", .help = "the execution's label", .is_required = true},
                  {.name = "--validate-only", .help = "check the file, start nothing"}},
      .run = run,
  };
}

}  // namespace reeve::cli
