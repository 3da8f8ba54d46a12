#include "spec/pipeline_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/dropped_input.h"
#include "spec/pipelines_file.h"
#include "spec/workflow_file.h"

// Pipelines compiled to graphs (SPEC §4, GRF-16).
namespace reeve::spec {
namespace {

using base::Value;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view file = R"(
agents:
  architect: {role: planner, prompt: "Design {ticket} ({{braces}}): {input}"}
  coder: {role: implementer}
  checker: {tool: pytest}
  odd: {role: agentless, prompt: "{prompt}|{text}"}
pipelines:
  feature:
    description: From idea to code
    steps:
      - {agent: architect, description: "Design {it}"}
      - {type: approval, description: Good?}
      - {type: approval}
      - {agent: coder, description: Write it}
      - {agent: checker}
  asks_first:
    steps: [{type: approval}, {agent: odd}]
)";

model::Config config() {
  model::Config config;
  config.tools["pytest"].command = {"pytest"};
  config.tools["claude"].command = {"claude"};
  config.roles["planner"] = {.tool = "claude", .timeout = base::TimeLimit::off()};
  config.roles["implementer"] = {.tool = "claude", .prompt = "Implement: {input}"};
  config.roles["agentless"] = {.tool = "claude"};
  config.roles["agent:odd"] = {.tool = "pytest"};
  return config;
}

PipelineGraph compile(const PipelineOrder& order) {
  const model::Config known = config();
  const auto parsed = parse_pipelines(std::make_shared<const Source>("p.yaml", std::string(file)), &known, order.name);
  EXPECT_TRUE(parsed) << parsed.error().list().front().message;
  return compile_pipeline(*parsed, known, order);
}

Value with_ticket() {
  Value inputs = Value::object();
  inputs.set("ticket", Value::string("T-{7}"));
  inputs.set("tries", Value::integer(3));
  return inputs;
}

// GRF-16: the result could also be a workflow in a file.
TEST(PipelineGraph, pipeline_is_a_chain_of_tasks_and_questions) {
  const PipelineGraph graph = compile({.name = "feature", .prompt = "Logins", .inputs = with_ticket()});
  const model::Workflow& workflow = graph.workflow;
  EXPECT_EQ(workflow.id, "pipeline:feature");
  EXPECT_EQ(workflow.name, "feature");
  EXPECT_EQ(workflow.entry_point, "step-1");
  ASSERT_EQ(workflow.nodes.size(), 5U);
  ASSERT_EQ(workflow.edges.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(workflow.edges[i].source, workflow.nodes[i].id);
    EXPECT_EQ(workflow.edges[i].target, workflow.nodes[i + 1].id);
    // A rejection has no outgoing edge: the pipeline fails (PIP-3).
    EXPECT_FALSE(workflow.edges[i].condition);
  }
  EXPECT_EQ(workflow.nodes[0].label, "architect");
  EXPECT_EQ(workflow.nodes[0].description, "Design {it}");
  EXPECT_EQ(workflow.nodes[1].type, model::NodeType::human);
  EXPECT_EQ(workflow.nodes[1].human_config->title, "Good?");
  EXPECT_EQ(workflow.nodes[2].human_config->title, "Continue after architect?");
  EXPECT_EQ(*graph.seeds.find("prompt")->as_string(), "Logins");
  EXPECT_EQ(*graph.seeds.find("ticket")->as_string(), "T-{7}");
}

// PIP-1: rendering the template gives the original text.
TEST(PipelineGraph, every_agent_receives_prompt_step_and_inputs) {
  const PipelineGraph graph = compile({.name = "feature", .prompt = "Use {x} and }", .inputs = with_ticket()});
  EXPECT_EQ(graph.workflow.nodes[0].task_config->task_template,
            "Use {{x}} and }}\n\nYour step: Design {{it}}\n\nInputs:\nticket: T-{{7}}\ntries: 3");
  EXPECT_THAT(graph.workflow.nodes[4].task_config->task_template, HasSubstr("Use {{x}} and }}\n\nInputs:"));
}

// PIP-3: only comments of approvals between the previous agent and this one.
TEST(PipelineGraph, agent_receives_text_and_comments_since_the_previous_agent) {
  const PipelineGraph graph = compile({.name = "feature", .prompt = "P"});
  EXPECT_THAT(graph.workflow.nodes[0].task_config->context, IsEmpty());
  const auto& coder = graph.workflow.nodes[3].task_config->context;
  ASSERT_EQ(coder.size(), 3U);
  EXPECT_EQ(coder[0].field, "step-1.text");
  EXPECT_EQ(coder[1].field, "step-2.comment");
  EXPECT_EQ(coder[2].field, "step-3.comment");
  const auto& checker = graph.workflow.nodes[4].task_config->context;
  ASSERT_EQ(checker.size(), 1U);
  EXPECT_EQ(checker[0].field, "step-4.text");
}

TEST(PipelineGraph, agent_with_tool_or_prompt_becomes_its_own_role) {
  const PipelineGraph graph = compile({.name = "feature", .prompt = "P", .inputs = with_ticket()});
  EXPECT_EQ(graph.workflow.nodes[0].task_config->role, "agent:architect");
  EXPECT_EQ(graph.workflow.nodes[3].task_config->role, "implementer");
  EXPECT_EQ(graph.workflow.nodes[4].task_config->role, "agent:checker");
  ASSERT_EQ(graph.roles.size(), 2U);
  const model::Role& architect = graph.roles.at("agent:architect");
  EXPECT_EQ(architect.prompt, "Design T-{{7}} ({{braces}}): {input}");
  // Other settings come from its role.
  EXPECT_EQ(architect.tool, "claude");
  EXPECT_EQ(architect.timeout, base::TimeLimit::off());
  EXPECT_EQ(graph.roles.at("agent:checker").tool, "pytest");
  EXPECT_EQ(graph.roles.at("agent:checker").prompt, "{input}");
}

// ORC-3: `prompt_takes_input` applies only to the prompt that it belongs to.
TEST(PipelineGraph, prompt_takes_input_applies_to_its_own_prompt_only) {
  model::Pipelines pipelines;
  pipelines.agents["a"] = {.role = "implementer", .tool = {}, .prompt = "Other", .description = {}};
  pipelines.agents["b"] = {
      .role = "implementer", .tool = {}, .prompt = {}, .prompt_takes_input = true, .description = {}};
  pipelines.agents["c"] = {.role = "implementer", .tool = {}, .prompt = {}, .description = {}};
  pipelines.pipelines["p"].steps = {
      {.agent = "a", .description = {}}, {.agent = "b", .description = {}}, {.agent = "c", .description = {}}};
  model::Config known = config();
  known.roles["implementer"] = {.tool = "claude", .prompt = "No task", .prompt_takes_input = false};
  const PipelineGraph graph =
      compile_pipeline(pipelines, known, {.name = "p", .prompt = "P", .inputs = Value::object()});
  EXPECT_EQ(graph.roles.at("agent:a").prompt_takes_input, std::nullopt);
  EXPECT_EQ(graph.roles.at("agent:b").prompt_takes_input, true);
  EXPECT_EQ(graph.workflow.nodes[2].task_config->role, "implementer");
  using ::testing::ElementsAre;
  EXPECT_THAT(find_dropped_input(pipelines, known, "p"), ElementsAre("the agent `a`"));
  known.roles["implementer"].prompt_takes_input.reset();
  EXPECT_THAT(find_dropped_input(pipelines, known, "p"), ElementsAre("the agent `a`", "the role `implementer`"));
  EXPECT_THAT(find_dropped_input(known), ElementsAre("the role `implementer`"));
  EXPECT_THAT(find_dropped_input(pipelines), ElementsAre("the agent `a`"));
}

TEST(PipelineGraph, agent_roles_do_not_clash_with_config_roles) {
  const PipelineGraph graph = compile({.name = "asks_first", .prompt = "P {a}"});
  EXPECT_EQ(graph.workflow.nodes[0].human_config->title, "Start asks_first?");
  EXPECT_EQ(graph.workflow.nodes[1].task_config->role, "agent:odd_");
  EXPECT_EQ(graph.roles.at("agent:odd_").prompt, "P {{a}}|{text}");
}

TEST(PipelineGraph, workflow_files_cannot_use_pipeline_ids) {
  EXPECT_TRUE(is_pipeline(pipeline_workflow_id("x")));
  EXPECT_FALSE(is_pipeline("pipeline"));
  const auto parsed = parse_workflow(std::make_shared<const Source>(
      "w.yaml",
      "id: 'pipeline:x'\nname: W\nentry_point: h\nnodes:\n  - {id: h, type: human, human_config: {title: T}}\nedges: "
      "[]\n"));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().list().front().code.text(), "flow.bad_id");
}

// Checked before anything starts; agents that the pipeline does not need are not checked.
TEST(PipelineGraph, only_agents_of_the_started_pipeline_need_a_tool) {
  const auto source = std::make_shared<const Source>(
      "p.yaml",
      "agents: {a: {role: reviewer}, b: {tool: t}}\npipelines: {p: {steps: [{agent: a}]}, q: {steps: [{agent: b}]}}");
  model::Config two;
  two.tools["t"].command = {"t"};
  two.tools["u"].command = {"u"};
  EXPECT_TRUE(parse_pipelines(source, &two));
  EXPECT_TRUE(parse_pipelines(source, &two, "q"));
  const auto refused = parse_pipelines(source, &two, "p");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().list().front().code.text(), "pipeline.role_without_tool");
}

TEST(PipelineGraph, unprintable_names_are_rejected) {
  const auto parsed = parse_pipelines(std::make_shared<const Source>(
      "p.yaml", "agents: {\"a\\tb\": {tool: t}}\npipelines: {\" \": {steps: [{agent: \"a\\tb\"}]}}"));
  ASSERT_FALSE(parsed);
  ASSERT_EQ(parsed.error().list().size(), 2U);
  for (const base::Problem& problem : parsed.error().list()) EXPECT_EQ(problem.code.text(), "pipeline.bad_id");
}

}  // namespace
}  // namespace reeve::spec
