#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"

// Declared inputs of workflows (GRF-8), with the built daemon.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Session;
using testing::Words;

class FlowInputs : public testing::FlowTest {
 protected:
  FlowInputs() {
    write_workflow("greet", R"(id: greet
name: Greet
entry_point: say
inputs:
  - { name: who, description: Whom to greet, max_length: 40 }
  - { name: times, type: integer, default: 2, min: 1, max: 5 }
  - { name: tone, type: choice, options: [plain, loud], default: plain }
nodes:
  - { id: say, type: task, task_config: { role: coder, task_template: "printf '%s' \"{who} {times} {tone}\" > said" } }
edges: []
)");
  }
  std::unique_ptr<Session> at_terminal(const Words& words, const testing::Variables& more = {}) const {
    testing::Variables environment = {{"NO_COLOR", "1"}, {"TERM", "xterm"}};
    environment.insert(environment.end(), more.begin(), more.end());
    return start(words, Session::Ends::terminal, environment);
  }
};

TEST_F(FlowInputs, get_their_types_and_defaults) {
  const Outcome done = reeve({"flow", "run", "greet", "--input", "who=you", "--input", "times=3"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(testing::read_text(project() / "said"), "you 3 plain");
  EXPECT_EQ(show("EX-1")["inputs"], R"({"who":"you","times":3,"tone":"plain"})");
}

// All mistakes at once, and nothing starts.
TEST_F(FlowInputs, are_checked_before_anything_starts) {
  const Outcome refused =
      reeve({"flow", "run", "greet", "--input", "whom=you", "--input", "times=9", "--input", "tone=shrill"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("error[flow.missing_input]: the input `who` is required: Whom to greet"),
                                 HasSubstr("fix: --input who="),
                                 HasSubstr("the input `times` must be a whole number from 1 to 5, not `9`"),
                                 HasSubstr("the input `tone` must be one of plain, loud, not `shrill`"),
                                 HasSubstr("error[flow.unknown_input]: the workflow has no input `whom`"),
                                 HasSubstr("did you mean `who`?"), HasSubstr("Nothing was started.")));
  EXPECT_EQ(reeve({"flow", "list"}).out, "");
}

// The daemon checks, whoever asks.
TEST_F(FlowInputs, are_checked_by_the_api) {
  scratch().write("project/in.json", R"({"who":{"a":1}})");
  const Outcome refused = reeve({"flow", "run", "greet", "--inputs", "in.json", "--json"});
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.out + refused.err,
              AllOf(HasSubstr("flow.invalid_inputs"), HasSubstr("must be text with a length of at most 40")));
}

TEST_F(FlowInputs, missing_ones_are_asked_for_at_a_terminal) {
  const auto session = at_terminal({"flow", "run", "greet"});
  ASSERT_TRUE(session->wait_for("who: Whom to greet"));
  session->type("\n");
  ASSERT_TRUE(session->wait_for("it is required"));
  session->type("Ana\n");
  ASSERT_TRUE(session->wait_for("times (a whole number from 1 to 5; Enter for 2): "));
  session->type("many\n");
  ASSERT_TRUE(session->wait_for("it must be a whole number from 1 to 5, not `many`"));
  session->type("4\n");
  ASSERT_TRUE(session->wait_for("tone (one of plain, loud; Enter for plain): "));
  session->type("\n");
  EXPECT_EQ(session->wait(), 0) << session->out();
  EXPECT_EQ(testing::read_text(project() / "said"), "Ana 4 plain");
}

// UX: prompts only where a person can answer.
TEST_F(FlowInputs, are_not_asked_for_where_nobody_answers) {
  for (const char* variable : {"CI", "REEVE_NO_INPUT"}) {
    const auto session = at_terminal({"flow", "run", "greet"}, {{variable, "1"}});
    EXPECT_EQ(session->wait(), 2) << session->out();
    EXPECT_THAT(session->out(), AllOf(HasSubstr("flow.missing_input"), Not(HasSubstr("Enter for"))));
  }
}

// GRF-11: a subgraph gets what its own workflow declares, and fails its node without running otherwise.
TEST_F(FlowInputs, of_a_subgraph_are_checked_too) {
  write_workflow("outer", R"(id: outer
name: Outer
entry_point: plan
nodes:
  - { id: plan, type: task, task_config: { role: coder, task_template: "printf '{{\"name\":\"Bea\",\"n\":{n}}}' > $REEVE_OUTPUT" } }
  - { id: greet, type: subgraph, subgraph_config: { workflow_name: greet, input_mapping: { who: name, times: n } } }
edges:
  - { source: plan, target: greet }
)");
  const Outcome done = reeve({"flow", "run", "outer", "--input", "n:=5"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(testing::read_text(project() / "said"), "Bea 5 plain");
  const Outcome failed = reeve({"flow", "run", "outer", "--input", "n:=6"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("`greet`: the input `times` must be a whole number from 1 to 5"));
}

// Nodes that pass their inputs on add a name for each of them; `{input}` has each value once.
TEST_F(FlowInputs, each_value_is_once_in_the_input_of_a_later_node) {
  write_workflow("relay", R"(id: relay
name: Relay
entry_point: first
inputs:
  - { name: goal }
nodes:
  - { id: first, type: task, task_config: { role: noop } }
  - { id: second, type: task, task_config: { role: noop } }
  - { id: third, type: task, task_config: { role: coder, task_template: "printf '%s' '{input}' > said" } }
edges:
  - { source: first, target: second }
  - { source: second, target: third }
)");
  const Outcome done = reeve({"flow", "run", "relay", "--input", "goal=unmistakable"});
  EXPECT_EQ(done.code, 0) << done.err;
  const std::string said = testing::read_text(project() / "said");
  EXPECT_EQ(testing::count_of(said, "unmistakable"), 1) << said;
  EXPECT_THAT(said, HasSubstr(R"("goal":"unmistakable")"));
}

// A value is data: names in braces within it are not looked up.
TEST_F(FlowInputs, values_are_not_templates) {
  const Outcome done = reeve({"flow", "run", "greet", "--input", "who={times} {nothing}"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(testing::read_text(project() / "said"), "{times} {nothing} 2 plain");
}

// A listing shows what people started; a workflow that runs as part of another one belongs to it.
TEST_F(FlowInputs, subgraphs_are_listed_on_request) {
  write_workflow("outer", R"(id: outer
name: Outer
entry_point: greet
nodes:
  - { id: greet, type: subgraph, subgraph_config: { workflow_name: greet, input_mapping: { who: name } } }
edges: []
)");
  EXPECT_EQ(reeve({"flow", "run", "outer", "--input", "name=Bea"}).code, 0);
  EXPECT_THAT(reeve({"flow", "list"}).out, AllOf(HasSubstr("EX-1\t"), Not(HasSubstr("EX-2"))));
  EXPECT_THAT(reeve({"flow", "list", "--parts"}).out, AllOf(HasSubstr("EX-1\t"), HasSubstr("part of EX-1/greet")));
}

}  // namespace
}  // namespace reeve
