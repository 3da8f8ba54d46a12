#include <charconv>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/live/workflow_record.h"
#include "client/executions.h"
#include "graph/draw.h"
#include "os/terminal.h"
#include "project/workflows.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

constexpr std::size_t default_columns = 120;
constexpr std::size_t least_columns = 40;
constexpr std::size_t max_columns = 10'000;

std::size_t find_columns(const Call& call) {
  const auto given = call.arguments.value("--columns");
  if (!given) return std::max(os::terminal_columns(STDOUT_FILENO).value_or(default_columns), least_columns);
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), columns);
  if (error != std::errc() || end != given->data() + given->size() || columns < least_columns ||
      columns > max_columns) {
    throw base::Error(ErrorCode::cli_usage, fmt::format("--columns must be {} to {}", least_columns, max_columns));
  }
  return columns;
}

void draw(const Call& call, const graph::Graph& graph, std::vector<graph::NodeMark> marks, std::size_t columns) {
  const std::string format = call.arguments.value("--format").value_or("text");
  const graph::DrawOptions options{.ascii = call.out.ascii, .columns = columns, .marks = std::move(marks)};
  if (format == "mermaid") {
    fmt::print("{}", graph::draw_mermaid(graph, options.marks));
  } else if (format == "dot") {
    fmt::print("{}", graph::draw_dot(graph, options.marks));
  } else if (format == "list") {
    fmt::print("{}", graph::draw_list(graph, options));
  } else {
    fmt::print("{}", graph::draw_text(graph, options));
  }
}

std::vector<graph::NodeMark> marks_of(const Call& call, const model::Execution& execution) {
  std::vector<graph::NodeMark> marks;
  const base::WallTime now = base::SystemClock().wall_now();
  // The record has the nodes in the order of the file.
  for (const model::NodeExecution& node : execution.nodes) {
    const view::Look look = view::look_of(node.status);
    std::string text = fmt::format("{} {}", call.out.pick(look.sign, look.ascii), base::spell(node.status));
    if (node.started_at) text += " " + view::span_text(node.completed_at.value_or(now) - *node.started_at);
    if (node.iteration > 0) text += fmt::format(", round {}", node.iteration + 1);
    if (node.approval_id && !model::is_over(node.status)) text += " " + node.approval_id->text();
    marks.push_back({node.status, std::move(text)});
  }
  return marks;
}

ExitCode draw_execution(const Call& call, const std::string& word, std::size_t columns) {
  client::Daemon daemon(daemon_place(call));
  const base::ExecutionId id = find_execution(daemon, word);
  const auto execution = client::get_execution(daemon, id, client::NodeText::brief);
  if (call.is_json) {
    print_json(call, execution.wire);
    return ExitCode::done;
  }
  const auto stored = client::get_workflow(daemon, id);
  if (call.arguments.value("--format").value_or("text") == "text" || call.arguments.value("--format") == "list") {
    fmt::print("{}  {}\n", id.text(), view::status_text(execution.execution.status, call.out));
  }
  draw(call, graph::Graph(stored.workflow), marks_of(call, execution.execution), columns);
  return ExitCode::done;
}

ExitCode run(const Call& call) {
  const std::size_t columns = find_columns(call);
  const std::string file = call.arguments.positional(0);
  std::error_code error;
  const bool is_id = file == "@last" || base::ExecutionId::parse(file);
  if (is_id && !std::filesystem::exists(file, error)) return draw_execution(call, file, columns);
  const auto loaded = project::load_workflow(file, project::Tools::unasked);
  if (!loaded) {
    return refuse(call, ErrorCode::flow_invalid, "the workflow is not valid", loaded.error(), "Nothing was drawn.");
  }
  const graph::Graph graph(loaded->workflow);
  if (call.is_json) {
    print_json(call, workflow_record(*loaded, graph));
    return ExitCode::done;
  }
  print_warnings(call, loaded->warnings);
  draw(call, graph, {}, columns);
  return ExitCode::done;
}

}  // namespace

Command make_flow_graph() {
  return {
      .name = "flow graph",
      .summary = "Draw a workflow or the current state of an execution",
      .about = R"(As text, each row of boxes is a level: boxes side by side can run at the same time, and a level starts
when everything it depends on is done. Lines show the condition under which they are taken; a line on the
right leads back, at most as often as it says. A workflow that does not fit the columns is drawn as a list
of levels (`--format list` always does this).

For an execution, each node also shows its progress.

`mermaid` is for web pages and Markdown, `dot` for Graphviz: reeve flow graph x.yaml --format dot | dot -Tsvg.)",
      .examples = {{"reeve flow graph release.yaml", "draw it"},
                   {"reeve flow graph release.yaml --format mermaid", "paste it into a page"},
                   {"reeve flow graph EX-9", "show its progress"},
                   {"reeve flow graph release.yaml --json", "levels, longest path, loops as data"}},
      .positionals = {{.name = "FILE",
                       .help = "a workflow file, the name of a project workflow, - for standard input, or EX-9",
                       .is_file = true}},
      .options = {{.name = "--format",
                   .value = "FORMAT",
                   .help = "text (default), list, mermaid, dot",
                   .choices = {"text", "list", "mermaid", "dot"}},
                  {.name = "--columns", .value = "N", .help = "maximum width of the text (default: the terminal)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
