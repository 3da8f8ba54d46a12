#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/workflow_record.h"
#include "graph/summary.h"
#include "project/workflows.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  const std::string file = call.arguments.positional(0);
  const auto loaded = project::load_workflow(file);
  if (!loaded) return refuse(call, "flow.invalid", "the workflow is not valid", loaded.error(), "Nothing was started.");
  const model::Workflow& workflow = loaded->workflow;
  const graph::Graph graph(workflow);
  if (call.is_json) {
    print_json(call, workflow_record(*loaded, graph));
    return ExitCode::done;
  }
  const graph::Summary summary = graph::summarize(graph);
  print_warnings(call, loaded->warnings);
  const auto count = [](std::size_t number, std::string_view noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
  };
  fmt::print("{} {}  {} ({} {})\n  {}, {}, {}, {}\n  {}\n", call.out.paint(view::Tint::green, call.out.pick("✓", "+")),
             base::visible(file), base::visible(workflow.name), base::visible(workflow.id),
             base::visible(workflow.version), count(workflow.nodes.size(), "node"),
             count(workflow.edges.size(), "edge"), count(summary.levels.size(), "level"),
             count(summary.loops.size(), "loop"), loaded->content_hash);
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
against `.reeve/workflows/` and the files beside this one.

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
