#include <charconv>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/workflow_record.h"
#include "graph/draw.h"
#include "os/terminal.h"
#include "project/project.h"

namespace reeve::cli {

namespace {

constexpr std::size_t default_columns = 120;
constexpr std::size_t least_columns = 40;
constexpr std::size_t most_columns = 10'000;

std::size_t find_columns(const Call& call) {
  const auto given = call.arguments.value("--columns");
  if (!given) return std::max(os::terminal_columns(STDOUT_FILENO).value_or(default_columns), least_columns);
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), columns);
  if (error != std::errc() || end != given->data() + given->size() || columns < least_columns ||
      columns > most_columns) {
    throw base::Error("cli.usage", fmt::format("{} is no number of columns", base::quoted(*given)),
                      fmt::format("give one from {} to {}", least_columns, most_columns));
  }
  return columns;
}

ExitCode run(const Call& call) {
  const std::size_t columns = find_columns(call);
  const auto loaded = project::load_workflow(call.arguments.positional(0));
  if (!loaded) return refuse(call, "flow.invalid", "the workflow is not valid", loaded.error(), "Nothing was drawn.");
  const graph::Graph graph(loaded->workflow);
  if (call.is_json) {
    print_json(call, workflow_record(*loaded, graph));
    return ExitCode::done;
  }
  print_warnings(call, loaded->warnings);
  const std::string format = call.arguments.value("--format").value_or("text");
  const graph::DrawOptions options{.ascii = call.out.ascii, .columns = columns};
  if (format == "mermaid") {
    fmt::print("{}", graph::draw_mermaid(graph));
  } else if (format == "dot") {
    fmt::print("{}", graph::draw_dot(graph));
  } else if (format == "list") {
    fmt::print("{}", graph::draw_list(graph, options));
  } else {
    fmt::print("{}", graph::draw_text(graph, options));
  }
  return ExitCode::done;
}

}  // namespace

Command make_flow_graph() {
  return {
      .name = "flow graph",
      .summary = "Draw a workflow",
      .about = R"(As text, each row of boxes is a level: what stands side by side can run at the same time, and a
level starts when what it waits for is done. Lines carry the condition under which they are taken;
a line on the right leads back, at most as often as it says. A workflow that does not fit into the
columns is drawn as a list of levels (`--format list` always does).

`mermaid` is for pages and Markdown, `dot` for Graphviz: reeve flow graph x.yaml --format dot | dot -Tsvg.)",
      .examples = {{"reeve flow graph release.yaml", "see it"},
                   {"reeve flow graph release.yaml --format mermaid", "paste it into a page"},
                   {"reeve flow graph release.yaml --json", "levels, longest path, loops as data"}},
      .positionals = {{.name = "FILE", .help = "a workflow file, or - for standard input", .is_file = true}},
      .options = {{.name = "--format",
                   .value = "FORMAT",
                   .help = "text (default), list, mermaid, dot",
                   .choices = {"text", "list", "mermaid", "dot"}},
                  {.name = "--columns", .value = "N", .help = "how wide the text may be (default: the terminal)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
