#include <fmt/format.h>

#include "tests/support/flow_proof.h"

// The shapes of executions in a proof.
namespace reeve::testing {

namespace {

struct Shape {
  const char* name;
  const char* status;
  const char* text;
};

constexpr Shape all_shapes[] = {
    {"chain", "completed", R"(
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: quick}}
  - {id: b, type: task, task_config: {role: noop}}
  - {id: c, type: task, task_config: {role: quick}}
  - {id: d, type: gate, gate_config: {gate_type: sound}}
  - {id: e, type: task, task_config: {role: quick}}
edges:
  - {id: e1, source: a, target: b}
  - {id: e2, source: b, target: c}
  - {id: e3, source: c, target: d}
  - {id: e4, source: d, target: e}
)"},
    {"fan", "completed", R"(
entry_point: split
nodes:
  - {id: split, type: parallel, parallel_config: {branches: [p1, p2, p3, p4, p5]}}
  - {id: p1, type: task, task_config: {role: quick}}
  - {id: p2, type: task, task_config: {role: slow}}
  - {id: p3, type: gate, gate_config: {gate_type: sound}}
  - {id: p4, type: task, task_config: {role: noop}}
  - {id: p5, type: task, task_config: {role: quick}}
  - {id: join, type: merge}
  - {id: after, type: task, task_config: {role: quick}}
edges:
  - {id: e1, source: split, target: p1}
  - {id: e2, source: split, target: p2}
  - {id: e3, source: split, target: p3}
  - {id: e4, source: split, target: p4}
  - {id: e5, source: split, target: p5}
  - {id: e6, source: p1, target: join}
  - {id: e7, source: p2, target: join}
  - {id: e8, source: p3, target: join}
  - {id: e9, source: p4, target: join}
  - {id: e10, source: p5, target: join}
  - {id: e11, source: join, target: after}
config: {max_parallel_nodes: 3}
)"},
    {"loop", "completed", R"(
entry_point: work
nodes:
  - {id: work, type: task, task_config: {role: quick}}
  - {id: test, type: gate, gate_config: {gate_type: third}}
  - id: check
    type: branch
    branch_config:
      condition: {field: test_status, operator: "==", value: passed, max_iterations: 5}
      on_true: review
      on_false: work
  - {id: review, type: task, task_config: {role: quick}}
edges:
  - {id: e1, source: work, target: test}
  - {id: e2, source: test, target: check}
  - {id: e3, source: check, target: review}
  - {id: e4, source: check, target: work, is_loop_edge: true}
)"},
    {"asked", "completed", R"(
entry_point: prepare
nodes:
  - {id: prepare, type: task, task_config: {role: quick}}
  - {id: review, type: human, human_config: {title: "Publish it?"}}
  - {id: publish, type: task, task_config: {role: quick}}
  - {id: again, type: human, human_config: {title: "And tell about it?"}}
  - {id: tell, type: task, task_config: {role: noop}}
edges:
  - {id: e1, source: prepare, target: review}
  - {id: e2, source: review, target: publish}
  - {id: e3, source: publish, target: again}
  - {id: e4, source: again, target: tell}
)"},
    {"refused", "failed", R"(
entry_point: review
nodes:
  - {id: review, type: human, human_config: {title: "Reject it?"}}
  - {id: publish, type: task, task_config: {role: quick}}
edges:
  - {id: e1, source: review, target: publish}
)"},
    {"gated", "completed", R"(
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: quick, gates: [sound, second]}}
  - {id: b, type: task, task_config: {role: noop, gates: [sound]}}
edges:
  - {id: e1, source: a, target: b}
)"},
    {"inner", "completed", R"(
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: quick}}
  - {id: b, type: human, human_config: {title: "Go on in it?"}}
  - {id: c, type: task, task_config: {role: quick}}
edges:
  - {id: e1, source: a, target: b}
  - {id: e2, source: b, target: c}
)"},
    {"outer", "completed", R"(
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: quick}}
  - {id: sub, type: subgraph, subgraph_config: {workflow_name: inner}}
  - {id: c, type: task, task_config: {role: quick}}
edges:
  - {id: e1, source: a, target: sub}
  - {id: e2, source: sub, target: c}
)"},
    {"stubborn", "completed", R"(
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: third, retry: {attempts: 6, backoff: 100ms}}}
  - {id: b, type: task, task_config: {role: quick}}
edges:
  - {id: e1, source: a, target: b}
)"},
    {"first", "completed", R"(
entry_point: split
nodes:
  - {id: split, type: parallel, parallel_config: {branches: [fast, long], wait_for: first}}
  - {id: fast, type: task, task_config: {role: quick}}
  - {id: long, type: task, task_config: {role: long}}
  - {id: join, type: merge}
  - {id: after, type: task, task_config: {role: quick}}
edges:
  - {id: e1, source: split, target: fast}
  - {id: e2, source: split, target: long}
  - {id: e3, source: fast, target: join}
  - {id: e4, source: long, target: join}
  - {id: e5, source: join, target: after}
)"},
    {"any", "completed", R"(
entry_point: split
nodes:
  - {id: split, type: parallel, parallel_config: {branches: [p1, p2], wait_for: any}}
  - {id: p1, type: task, task_config: {role: quick}}
  - {id: p2, type: task, task_config: {role: slow}}
  - {id: join, type: merge}
  - {id: after, type: task, task_config: {role: quick}}
edges:
  - {id: e1, source: split, target: p1}
  - {id: e2, source: split, target: p2}
  - {id: e3, source: p1, target: join}
  - {id: e4, source: p2, target: join}
  - {id: e5, source: join, target: after}
)"},
    {"broken", "failed", R"(
entry_point: split
nodes:
  - {id: split, type: parallel, parallel_config: {branches: [bad, long]}}
  - {id: bad, type: task, task_config: {role: never}}
  - {id: long, type: task, task_config: {role: long}}
  - {id: join, type: merge}
edges:
  - {id: e1, source: split, target: bad}
  - {id: e2, source: split, target: long}
  - {id: e3, source: bad, target: join}
  - {id: e4, source: long, target: join}
)"},
    // A person retries it.
    {"mended", "completed", R"(
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: quick}}
  - {id: b, type: task, task_config: {role: third}}
  - {id: c, type: task, task_config: {role: quick}}
edges:
  - {id: e1, source: a, target: b}
  - {id: e2, source: b, target: c}
)"},
    {"mended-outer", "completed", R"(
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: quick}}
  - {id: sub, type: subgraph, subgraph_config: {workflow_name: mended}}
  - {id: c, type: task, task_config: {role: quick}}
edges:
  - {id: e1, source: a, target: sub}
  - {id: e2, source: sub, target: c}
)"},
    // A person cancels it.
    {"unwanted", "cancelled", R"(
entry_point: split
nodes:
  - {id: split, type: parallel, parallel_config: {branches: [p1, p2]}}
  - {id: p1, type: task, task_config: {role: long}}
  - {id: p2, type: task, task_config: {role: quick}}
  - {id: join, type: merge}
edges:
  - {id: e1, source: split, target: p1}
  - {id: e2, source: split, target: p2}
  - {id: e3, source: p1, target: join}
  - {id: e4, source: p2, target: join}
)"},
};

}  // namespace

const std::map<std::string, std::string>& FlowProofTest::shapes() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> named;
    for (const Shape& shape : all_shapes) named.emplace(shape.name, shape.status);
    return named;
  }();
  return all;
}

void FlowProofTest::write_project(const std::string& head) const {
  for (const Shape& shape : all_shapes) {
    scratch().write(fmt::format("project/.reeve/workflows/{}.yaml", shape.name),
                    fmt::format("id: {0}\nname: {0}\n{1}", shape.name, shape.text));
  }
  const auto step = [&](const std::string& word, const std::string& more) {
    return fmt::format("command: ['{}', step, {}{}], env: {{STEP_LEDGER: '{}'}}", zoo_binary(), word, more,
                       ledger_path().string());
  };
  std::string config = head + "tools:\n";
  config += fmt::format("  quick: {{{}}}\n", step("task", ", --pause, '30'"));
  config += fmt::format("  slow: {{{}}}\n", step("task", ", --pause, '400'"));
  config += fmt::format("  long: {{{}, kill_grace: 100ms}}\n", step("task", ", --pause, '60000'"));
  config += fmt::format("  third: {{{}}}\n", step("task", ", --fail, '2'"));
  config += fmt::format("  never: {{{}}}\n", step("task", ", --pause, '50', --fail, '1000000'"));
  config += "roles:\n";
  for (const char* name : {"quick", "slow", "long", "third", "never"})
    config += fmt::format("  {0}: {{tool: {0}}}\n", name);
  config += "gates:\n";
  config += fmt::format("  sound: {{{}}}\n", step("sound", ""));
  config += fmt::format("  third: {{{}}}\n", step("third", ", --fail, '2'"));
  config +=
      fmt::format("  second: {{{}, on_fail: retry_with_feedback}}\n", step("second", ", --pause, '20', --fail, '1'"));
  // The user's config, which every state folder uses.
  scratch().write("home/.config/reeve/config.yaml", config);
}

}  // namespace reeve::testing
