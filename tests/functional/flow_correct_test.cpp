#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"

// GRF-14: `flow retry --with`, with the built daemon.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Outcome;

class FlowCorrect : public testing::FlowTest {
 protected:
  std::string read(const std::string& name) const { return testing::read_text(project() / name); }
};

TEST_F(FlowCorrect, corrected_step_runs_and_completed_ones_are_not_repeated) {
  write_workflow("w", chain("w", {{"a", "echo a >> done"}, {"b", "exit 3"}, {"c", "echo c >> done"}}));
  EXPECT_EQ(reeve({"flow", "run", "w"}).code, 1);
  const std::string before = show("EX-1")["workflow_id"];
  write_workflow("w", chain("w", {{"a", "echo a >> done"}, {"b", "echo b >> done"}, {"c", "echo c >> done"}}));
  const Outcome retried = reeve({"flow", "retry", "EX-1", "--with", ".reeve/workflows/w.yaml"});
  EXPECT_EQ(retried.code, 0) << retried.err;
  EXPECT_EQ(wait_for("EX-1"), 0);
  EXPECT_EQ(read("done"), "a\nb\nc\n");
  EXPECT_EQ(show("EX-1")["workflow_id"], before);
  // The record says what was corrected, by whom; the new version is the execution's.
  const std::string record = reeve({"flow", "show", "EX-1", "--json"}).out;
  EXPECT_THAT(record, AllOf(HasSubstr("\"corrections\":[{\"at\":"), HasSubstr("\"from\":\"sha256:"),
                            HasSubstr("\"to\":\"sha256:")));
}

TEST_F(FlowCorrect, steps_may_be_added) {
  write_workflow("w", chain("w", {{"a", "echo a >> done"}, {"b", "test -e made"}}));
  EXPECT_EQ(reeve({"flow", "run", "w"}).code, 1);
  scratch().write("project/better.yaml", R"(id: w
name: w
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: coder, task_template: "echo a >> done"}}
  - {id: make, type: task, task_config: {role: coder, task_template: "echo make >> done; touch made"}}
  - {id: b, type: task, wait_for_incoming: all, task_config: {role: coder, task_template: "test -e made && echo b >> done"}}
edges:
  - {source: a, target: b}
  - {source: a, target: make}
  - {source: make, target: b}
)");
  const Outcome retried = reeve({"flow", "retry", "EX-1", "--with", "better.yaml"});
  EXPECT_EQ(retried.code, 0) << retried.err;
  EXPECT_EQ(wait_for("EX-1"), 0) << reeve({"flow", "show", "EX-1"}).out;
  EXPECT_EQ(read("done"), "a\nmake\nb\n");
}

TEST_F(FlowCorrect, completed_steps_cannot_change_and_nothing_happens) {
  write_workflow("w", chain("w", {{"a", "echo a >> done"}, {"b", "exit 3"}}));
  EXPECT_EQ(reeve({"flow", "run", "w"}).code, 1);
  const std::string record = reeve({"flow", "show", "EX-1", "--json"}).out;
  write_workflow("w", chain("w", {{"a", "echo A >> done"}, {"b", "true"}}));
  const Outcome refused = reeve({"flow", "retry", "EX-1", "--with", ".reeve/workflows/w.yaml"});
  EXPECT_EQ(refused.code, 4) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("execution.not_correctable"), HasSubstr("the node `a` has completed"),
                                 HasSubstr("Nothing changed")));
  EXPECT_EQ(reeve({"flow", "show", "EX-1", "--json"}).out, record);
  write_workflow("w", "id: w\n");
  EXPECT_EQ(reeve({"flow", "retry", "EX-1", "--with", ".reeve/workflows/w.yaml"}).code, 2);
  EXPECT_EQ(reeve({"flow", "show", "EX-1", "--json"}).out, record);
}

TEST_F(FlowCorrect, inputs_are_corrected_until_the_first_step_has_completed) {
  write_workflow("w", chain("w", {{"a", "{what} >> done"}, {"b", "exit 3"}}));
  EXPECT_EQ(reeve({"flow", "run", "w", "--input", "what=exit 4"}).code, 1);
  EXPECT_EQ(reeve({"flow", "retry", "EX-1", "--input", "what=echo fine"}).code, 0);
  EXPECT_EQ(wait_for("EX-1"), 1) << "the second step fails";
  EXPECT_EQ(read("done"), "fine\n");
  EXPECT_THAT(show("EX-1")["inputs"], HasSubstr("echo fine"));
  const Outcome late = reeve({"flow", "retry", "EX-1", "--input", "what=echo again"});
  EXPECT_EQ(late.code, 4);
  EXPECT_THAT(late.err, HasSubstr("has completed and used the inputs"));
}

}  // namespace
}  // namespace reeve
