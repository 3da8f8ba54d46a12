#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <libfyaml.h>

#include "base/error.h"
#include "base/redaction.h"
#include "graph/draw.h"
#include "json/parse.h"
#include "spec/workflow_file.h"
#include "spec/yaml.h"

// Parsing and validating workflows, compared with their floors: only libfyaml's parser over the same bytes, or a copy.
namespace {

using namespace reeve;

// Blocks of task, gate, branch with a loop; every tenth block fans out and merges again.
std::string make_workflow(int nodes) {
  std::string text = "id: bench\nname: Bench\nentry_point: n0\nnodes:\n";
  std::string edges = "edges:\n";
  int edge = 0;
  const auto add_edge = [&](int from, int to, std::string_view more = "") {
    edges += fmt::format("  - {{ id: e{}, source: n{}, target: n{}{} }}\n", edge++, from, to, more);
  };
  int n = 0;
  const auto task = [&] {
    text += fmt::format(
        "  - id: n{}\n    type: task\n    label: Step {}\n    task_config:\n      role: implementer\n      "
        "task_template: \"Do step {}: {{input}}\"\n",
        n, n, n);
    return n++;
  };
  const auto gate = [&] {
    text += fmt::format("  - {{ id: n{}, type: gate, gate_config: {{ gate_type: test_gate }} }}\n", n);
    return n++;
  };
  int last = task();
  while (n + 10 < nodes) {
    const int work = task();
    const int check = gate();
    const int branch = n++;
    text += fmt::format(
        "  - id: n{}\n    type: branch\n    branch_config:\n      condition: {{ field: test_status, operator: \"==\", "
        "value: passed, max_iterations: 3 }}\n      on_true: n{}\n      on_false: n{}\n",
        branch, n, work);
    const int split = n++;
    text += fmt::format("  - {{ id: n{}, type: parallel, parallel_config: {{ branches: [n{}, n{}, n{}] }} }}\n", split,
                        n, n + 1, n + 2);
    add_edge(last, work);
    add_edge(work, check);
    add_edge(check, branch);
    add_edge(branch, split);
    add_edge(branch, work, ", is_loop_edge: true");
    const int first = gate();
    gate();
    gate();
    const int merge = n++;
    text += fmt::format("  - {{ id: n{}, type: merge, merge_config: {{ wait_for: all }} }}\n", merge);
    for (int i = first; i < first + 3; ++i) {
      add_edge(split, i);
      add_edge(i, merge);
    }
    last = merge;
  }
  while (n < nodes) {
    const int next = task();
    add_edge(last, next);
    last = next;
  }
  return text + edges;
}

void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

// Floor: libfyaml's events for the same bytes, without storing anything.
void floor_yaml_events(benchmark::State& state) {
  const std::string text = make_workflow(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    fy_parse_cfg config{};
    config.search_path = "";
    config.flags = FYPCF_QUIET;
    fy_parser* parser = fy_parser_create(&config);
    fy_parser_set_string(parser, text.data(), text.size());
    std::size_t events = 0;
    while (fy_event* event = fy_parser_parse(parser)) {
      ++events;
      fy_parser_event_free(parser, event);
    }
    benchmark::DoNotOptimize(events);
    fy_parser_destroy(parser);
  }
  count_bytes(state, text.size());
}
BENCHMARK(floor_yaml_events)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);

void validate_workflow(benchmark::State& state) {
  const auto source =
      std::make_shared<const spec::Source>("bench.yaml", make_workflow(static_cast<int>(state.range(0))));
  for (auto _ : state) {
    const auto parsed = spec::parse_workflow(source);
    REEVE_ASSERT(parsed.has_value());
    benchmark::DoNotOptimize(parsed->content_hash);
  }
  count_bytes(state, source->text().size());
}
BENCHMARK(validate_workflow)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);

void draw_list(benchmark::State& state) {
  const auto parsed = spec::parse_workflow(
      std::make_shared<const spec::Source>("bench.yaml", make_workflow(static_cast<int>(state.range(0)))));
  const graph::Graph graph(parsed->workflow);
  for (auto _ : state) benchmark::DoNotOptimize(graph::draw_text(graph, {}));
}
BENCHMARK(draw_list)->Arg(100)->Arg(10'000)->Unit(benchmark::kMillisecond);

std::string make_log() {
  std::string log;
  while (log.size() < 1'000'000)
    log += "[12:00:00] compiling src/net/socket.cpp: 3 warnings, token budget 4096 of 16000\n";
  return log;
}

// Floor: the same bytes copied.
void floor_copy(benchmark::State& state) {
  const std::string log = make_log();
  for (auto _ : state) {
    std::string copy(log);
    benchmark::DoNotOptimize(copy.data());
  }
  count_bytes(state, log.size());
}
BENCHMARK(floor_copy);

void redact_output(benchmark::State& state) {
  const std::string log = make_log();
  base::SecretSet secrets;
  for (int i = 0; i < 8; ++i) secrets.add(fmt::format("sk-{}-abcdefghijklmnop", i));
  secrets.prepare();
  for (auto _ : state) {
    base::Redactor redactor(secrets);
    std::string shown = redactor.feed(log);
    benchmark::DoNotOptimize(shown.data());
  }
  count_bytes(state, log.size());
}
BENCHMARK(redact_output);

}  // namespace

BENCHMARK_MAIN();
