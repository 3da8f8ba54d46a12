#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/flow_start.h"
#include "cli/workflow_record.h"
#include "project/workflows.h"

namespace reeve::cli {

namespace {

ExitCode check(const Call& call) {
  const auto loaded = project::load_workflow(call.arguments.positional(0));
  if (!loaded) return refuse(call, "flow.invalid", "the workflow is not valid", loaded.error(), "Nothing was started.");
  print_warnings(call, loaded->warnings);
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
  return {
      .name = "run-graph",
      .summary = "Run a workflow file under a label, or check it (--validate-only)",
      .about = R"(The words of the graph engine's first design: `reeve flow run FILE --label LABEL`. Labels need not be
unique. With `--validate-only` the file is checked and nothing is started.

Exit codes: as `reeve flow run`.)",
      .examples = {{"reeve run-graph debug.yaml --workflow-id W1", "run it"},
                   {"reeve run-graph debug.yaml --workflow-id W1 --validate-only", "check it"}},
      .positionals = {{.name = "FILE",
                       .help = "a workflow file, a workflow of the project, or - for standard input",
                       .is_file = true}},
      .options = std::move(options),
      .run = run,
  };
}

}  // namespace reeve::cli
