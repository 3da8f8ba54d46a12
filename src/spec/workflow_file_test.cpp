#include "spec/workflow_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "graph/summary.h"
#include "tests/support/files.h"
#include "view/problem_text.h"

namespace reeve::spec {
namespace {

std::shared_ptr<const Source> make_source(std::string text) {
  return std::make_shared<const Source>("w.yaml", std::move(text));
}

WorkflowFile parse_good(const std::string& text) {
  const auto parsed = parse_workflow(make_source(text));
  if (parsed) return *parsed;
  ADD_FAILURE() << view::problems_text(parsed.error(), {});
  return {};
}

std::string read_example(const std::string& name) {
  return testing::read_text(testing::source_folder() / "examples/workflows" / name);
}

// SPEC §3: the YAML of S6's two examples is accepted as written.
TEST(WorkflowFile, accepts_the_reference_debug_example) {
  const WorkflowFile file = parse_good(read_example("debug-with-retry-loop.yaml"));
  EXPECT_EQ(file.workflow.nodes.size(), 5);
  EXPECT_EQ(file.workflow.config.max_parallel_nodes, 2);
  const graph::Graph graph(file.workflow);
  const graph::Summary summary = graph::summarize(graph);
  ASSERT_EQ(summary.loops.size(), 1);
  EXPECT_EQ(summary.loops[0].body, (std::vector<std::string>{"analyze", "fix", "test", "check"}));
  EXPECT_EQ(summary.loops[0].max_iterations, 3);
  EXPECT_TRUE(file.warnings.empty());
}

TEST(WorkflowFile, accepts_the_reference_parallel_example) {
  const WorkflowFile file = parse_good(read_example("parallel-review.yaml"));
  EXPECT_EQ(file.workflow.nodes.size(), 8);
  EXPECT_EQ(file.workflow.exit_points, std::vector<std::string>{"merge"});
  EXPECT_TRUE(*file.workflow.edges.back().condition->value.as_bool());
  EXPECT_TRUE(file.warnings.empty());
}

constexpr std::string_view every_field = R"(
id: w
name: W
description: D
version: 2.1.0
entry_point: t
exit_points: [end]
nodes:
  - id: t
    type: task
    label: L
    description: D
    ui_metadata: {x: 1, nested: [a, {b: 2.5}]}
    wait_for_incoming: all
    apply: true
    task_config:
      role: coder
      task_template: "{input} {a.b} {{}}"
      context: [{title: Said, field: a-1.text}]
      timeout: 90
      gates: [g1, g2]
      worktree_id: shared
      retry: {attempts: 3, backoff: 500ms, on: [failed_timeout]}
  - {id: g, type: gate, gate_config: {gate_type: g1, auto_approve: true, requires_worktree: false}}
  - {id: p, type: parallel, parallel_config: {branches: [s, h], wait_for: any}}
  - {id: s, type: subgraph, subgraph_config: {workflow_name: other, input_mapping: {a: b}, output_mapping: {c: d.e}}}
  - id: h
    type: human
    human_config:
      title: T
      description: D
      options: [{value: go, label: Go}, {value: stop, approves: false}]
      expires: never
  - {id: m, type: merge, merge_config: {wait_for: any, merge_strategy: first}}
  - id: b
    type: branch
    branch_config:
      condition: {field: m.x, operator: not_in, value: [1, two, true], max_iterations: 7}
      on_true: end
      on_false: t
  - {id: end, type: task, task_config: {role: coder}}
edges:
  - {id: e1, source: t, target: g, data_mapping: {a: b, c: d.e}}
  - {id: e2, source: g, target: p}
  - {id: e3, source: p, target: s}
  - {id: e4, source: p, target: h}
  - {id: e5, source: s, target: m, condition: {field: x, operator: starts_with, value: y}}
  - {id: e6, source: h, target: m}
  - {id: e7, source: m, target: b}
  - {id: e8, source: b, target: end}
  - {id: e9, source: b, target: t, is_loop_edge: true}
config: {max_parallel_nodes: 8, fail_fast: false, apply: on_approval, isolation: none}
)";

// S6 §1.1 and SPEC §3: all fields.
TEST(WorkflowFile, reads_every_field) {
  const model::Workflow w = parse_good(std::string(every_field)).workflow;
  EXPECT_EQ(w.version, "2.1.0");
  const model::Node& task = w.nodes[0];
  EXPECT_EQ(task.label, "L");
  EXPECT_EQ(task.wait_for_incoming, model::WaitFor::all);
  EXPECT_TRUE(task.apply);
  EXPECT_EQ(*task.ui_metadata->find("nested")->as_array()->at(1).find("b")->as_number(), 2.5);
  EXPECT_EQ(task.task_config->timeout, base::TimeLimit::of(std::chrono::seconds(90)));
  EXPECT_EQ(task.task_config->context, (std::vector<model::TaskContext>{{"Said", "a-1.text"}}));
  EXPECT_EQ(task.task_config->gates, (std::vector<std::string>{"g1", "g2"}));
  EXPECT_EQ(task.task_config->worktree_id, "shared");
  EXPECT_EQ(task.task_config->retry->attempts, 3);
  EXPECT_EQ(task.task_config->retry->backoff, std::chrono::milliseconds(500));
  EXPECT_EQ(task.task_config->retry->on, std::vector{model::RetryOn::failed_timeout});
  EXPECT_TRUE(w.nodes[1].gate_config->auto_approve);
  EXPECT_FALSE(w.nodes[1].gate_config->requires_worktree);
  EXPECT_EQ(w.nodes[2].parallel_config->wait_for, model::ParallelWait::any);
  EXPECT_EQ(w.nodes[3].subgraph_config->output_mapping.at("c"), "d.e");
  EXPECT_EQ(w.nodes[4].human_config->options[1].label, "stop") << "an option without a label shows its value";
  EXPECT_EQ(w.nodes[4].human_config->expires, base::TimeLimit::off());
  EXPECT_EQ(w.nodes[5].merge_config->merge_strategy, model::MergeStrategy::first);
  EXPECT_EQ(w.nodes[6].branch_config->condition.operator_, model::Operator::not_in);
  EXPECT_EQ(w.nodes[6].branch_config->condition.value.as_array()->size(), 3);
  EXPECT_EQ(w.nodes[6].branch_config->condition.max_iterations, 7);
  EXPECT_EQ(w.edges[0].data_mapping.at("c"), "d.e");
  EXPECT_EQ(w.config.max_parallel_nodes, 8);
  EXPECT_FALSE(w.config.fail_fast);
  EXPECT_EQ(w.config.apply, model::ApplyWhen::on_approval);
  EXPECT_EQ(w.config.isolation, model::Isolation::none);
}

TEST(WorkflowFile, defaults_match_the_reference) {
  const model::Workflow w =
      parse_good("id: w\nname: W\nentry_point: a\nnodes: [{id: a, type: task, task_config: {role: r}}]\nedges: []\n")
          .workflow;
  EXPECT_EQ(w.version, "1.0.0");
  EXPECT_EQ(w.config.max_parallel_nodes, 4);
  EXPECT_TRUE(w.config.fail_fast);
  EXPECT_EQ(w.config.apply, model::ApplyWhen::on_complete);
  EXPECT_EQ(w.nodes[0].task_config->task_template, "{input}");
  EXPECT_EQ(w.nodes[0].wait_for_incoming, model::WaitFor::any);
  EXPECT_EQ(model::BranchCondition{}.max_iterations, 10);
}

constexpr std::string_view plain_form = R"(
id: w
name: W
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: r, timeout: 60}}
  - {id: b, type: task, task_config: {role: r}}
edges:
  - {id: e, source: a, target: b, condition: {field: x, operator: "==", value: 1}}
)";
constexpr std::string_view same_in_other_words = R"(# a comment
edges:
  - condition:
      value: 1        # another
      operator: '=='
      field: x
    target: "b"
    source: a
    id: e
    is_loop_edge: false
entry_point: a
version: 1.0.0
name: "W"
exit_points: []
config: {fail_fast: true}
nodes:
  - task_config: {timeout: 1m, role: r, gates: [], task_template: "{input}"}
    type: task
    id: a
    description:
  - id: b
    type: task
    task_config: {role: r}
id: w
)";

TEST(ContentHash, ignores_formatting) {
  const std::string hash = parse_good(std::string(plain_form)).content_hash;
  EXPECT_EQ(parse_good(std::string(same_in_other_words)).content_hash, hash);
  EXPECT_EQ(hash.size(), 7 + 64);
  EXPECT_TRUE(hash.starts_with("sha256:"));
}

TEST(ContentHash, ignores_blocks_that_only_state_defaults) {
  const auto with = [](std::string_view merge, std::string_view retry) {
    return parse_good(fmt::format(R"(
id: w
name: W
entry_point: p
nodes:
  - {{id: p, type: parallel, parallel_config: {{branches: [a, b]}}}}
  - {{id: a, type: task, task_config: {{role: r{}}}}}
  - {{id: b, type: task, task_config: {{role: r}}}}
  - {{id: m, type: merge{}}}
edges:
  - {{id: e1, source: p, target: a}}
  - {{id: e2, source: p, target: b}}
  - {{id: e3, source: a, target: m}}
  - {{id: e4, source: b, target: m}}
)",
                                  retry, merge))
        .content_hash;
  };
  EXPECT_EQ(with("", ""), with(", merge_config: {}", ", retry: {}"));
  EXPECT_EQ(with("", ""), with(", merge_config: {wait_for: all}", ", retry: {attempts: 1}"));
  EXPECT_NE(with("", ""), with(", merge_config: {wait_for: any}", ""));
}

// S6's fields are optional: a dump of its models has nulls for all blocks but one.
TEST(WorkflowFile, null_blocks_count_as_absent) {
  const WorkflowFile file = parse_good(
      "id: w\nname: W\nentry_point: a\nedges: []\nnodes:\n  - {id: a, type: task, label: ~, task_config: {role: r}, "
      "gate_config: ~, human_config: null}\n");
  EXPECT_FALSE(file.workflow.nodes[0].gate_config);
}

TEST(ContentHash, ignores_the_order_of_free_form_keys) {
  const auto with = [](std::string_view metadata) {
    return parse_good(fmt::format("id: w\nname: W\nentry_point: a\nedges: []\nnodes:\n  - {{id: a, type: task, "
                                  "task_config: {{role: r}}, ui_metadata: {}}}\n",
                                  metadata))
        .content_hash;
  };
  EXPECT_EQ(with("{x: 1, y: {b: 2, a: 3}}"), with("{y: {a: 3, b: 2}, x: 1}"));
  EXPECT_NE(with("{x: 1}"), with("{x: 2}"));
}

TEST(ContentHash, changes_with_the_meaning) {
  const std::string text(plain_form);
  const std::string hash = parse_good(text).content_hash;
  const auto changed = [&](std::string_view what, std::string_view with) {
    std::string other = text;
    other.replace(other.find(what), what.size(), with);
    return parse_good(other).content_hash;
  };
  EXPECT_NE(changed("timeout: 60", "timeout: 61"), hash);
  EXPECT_NE(changed("name: W", "name: V"), hash);
  EXPECT_NE(changed("value: 1", "value: \"1\""), hash) << "a number is not a string";
  EXPECT_NE(changed("id: e,", "id: f,"), hash);
}

// The hash is stored forever: if this changes, every stored workflow gets another identity.
TEST(ContentHash, is_stable_across_versions) {
  EXPECT_EQ(parse_good(read_example("debug-with-retry-loop.yaml")).content_hash,
            "sha256:62d4442396ab1b9111c2db19f4e81cc05234c1599ccdb49f7a4f35ea27230921");
  EXPECT_EQ(parse_good(read_example("parallel-review.yaml")).content_hash,
            "sha256:4554a91cc595f45aa52db996ede38f83b912a0aad90b557c93420201ef82f3ae");
}

TEST(WorkflowFile, too_many_nodes_are_rejected) {
  std::string text = "id: w\nname: W\nentry_point: n0\nedges: []\nnodes:\n";
  for (int i = 0; i <= 20'000; ++i) text += fmt::format("- {{id: n{}, type: task, task_config: {{role: r}}}}\n", i);
  const auto parsed = parse_workflow(make_source(text));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().list().front().code.text(), "flow.too_large");
  EXPECT_EQ(parsed.error().errors(), 1);
}

TEST(WorkflowFile, number_of_reported_errors_is_bounded) {
  std::string text = "id: w\nname: W\nentry_point: a\nedges: []\nnodes:\n";
  for (int i = 0; i < 15'000; ++i) text += "- {ib: a, tipe: task, x: 1, y: 2, z: 3}\n";
  const auto parsed = parse_workflow(make_source(text));
  ASSERT_FALSE(parsed);
  EXPECT_LE(parsed.error().list().size(), base::limits::problems_kept);
  EXPECT_GT(parsed.error().dropped(), 50'000);
}

TEST(WorkflowFile, accepts_a_file_with_warnings) {
  const WorkflowFile file = parse_good(R"(
id: w
name: W
entry_point: b
nodes:
  - {id: b, type: branch, branch_config: {condition: {field: x, operator: ">", value: 1}, on_true: t, on_false: f}}
  - {id: t, type: human, human_config: {title: T, options: [{value: no}]}}
  - {id: f, type: task, task_config: {role: r}}
  - {id: never, type: task, task_config: {role: r}}
edges:
  - {id: e1, source: b, target: t}
  - {id: e2, source: b, target: f}
  - {id: e3, source: b, target: never}
)");
  ASSERT_EQ(file.warnings.warnings(), 2);
  EXPECT_EQ(file.warnings.list()[0].code.text(), "flow.no_approving_option");
  EXPECT_EQ(file.warnings.list()[1].code.text(), "flow.edge_never_taken");
}

// GRF-11: by id, then by name, then by file stem.
TEST(WorkflowCatalog, finds_by_id_then_name_then_file) {
  const auto add = [](WorkflowCatalog& catalog, const char* stem, const char* id, const char* name) {
    catalog.add(
        stem,
        make_source(fmt::format(
            "id: {}\nname: {}\nentry_point: a\nnodes: [{{id: a, type: task, task_config: {{role: r}}}}]\nedges: []\n",
            id, name)));
  };
  WorkflowCatalog catalog;
  add(catalog, "one", "x", "two");
  add(catalog, "two", "y", "z");
  add(catalog, "three", "two", "w");
  EXPECT_EQ(catalog.find("two")->workflow.id, "two") << "the id comes first";
  EXPECT_EQ(catalog.find("z")->workflow.id, "y");
  EXPECT_EQ(catalog.find("one")->workflow.id, "x");
  EXPECT_EQ(catalog.find("nothing"), nullptr);
  catalog.add("notes", make_source("just: notes\n"));
  EXPECT_EQ(catalog.find("notes"), nullptr) << "not a workflow";
}

}  // namespace
}  // namespace reeve::spec
