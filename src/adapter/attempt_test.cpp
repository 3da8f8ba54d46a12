#include "adapter/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::adapter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Variables inside{{"REEVE_SOCKET", "/s/run.sock"}, {"REEVE_OUTPUT", "/s/1/own/output.json"}};

AttemptFault fault_of(const Variables& variables) {
  const auto attempt = read_attempt(variables);
  return attempt ? AttemptFault{"none", 0} : attempt.error();
}

TEST(AdapterAttempt, is_what_a_run_gives_to_its_process) {
  Variables variables = inside;
  EXPECT_EQ(read_attempt(variables)->socket, "/s/run.sock");
  EXPECT_EQ(read_attempt(variables)->folder, "/s/1/own");
  EXPECT_EQ(read_attempt(variables)->answers, std::nullopt);
  variables["REEVE_DECISIONS"] = "{}";
  EXPECT_EQ(read_attempt(variables)->answers, "{}");
  variables["REEVE_APPROVAL_ID"] = "AP-1";
  EXPECT_EQ(read_attempt(variables)->answers, std::nullopt) << "the answer to a question is not that to a call";
}

TEST(AdapterAttempt, outside_of_a_run_nothing_starts) {
  EXPECT_EQ(fault_of({}).exit_code, 2);
  EXPECT_THAT(fault_of({}).text, HasSubstr("use `reeve agent run`"));
  EXPECT_EQ(fault_of({{"REEVE_SOCKET", "/s"}}).exit_code, 2);
  EXPECT_EQ(fault_of({{"REEVE_SOCKET", "/s"}, {"REEVE_OUTPUT", "output.json"}}).exit_code, 2);
}

// An agent that was to be confined never runs without its sandbox.
TEST(AdapterAttempt, wrapper_that_cannot_be_read_starts_nothing) {
  const testing::ScratchFolder scratch;
  Variables variables = inside;
  variables["REEVE_AGENT_WRAPPER"] = scratch.write("words", std::string("bwrap\0--ro-bind\0/\0/\0--\0", 23)).string();
  EXPECT_THAT(read_attempt(variables)->wrapper, ElementsAre("bwrap", "--ro-bind", "/", "/", "--"));
  for (const std::string& text : {std::string(), std::string("bwrap"), std::string("\0", 1), std::string("a\0b", 3)}) {
    variables["REEVE_AGENT_WRAPPER"] = scratch.write("words", text).string();
    EXPECT_THAT(fault_of(variables).text, HasSubstr("the agent was not started"));
  }
  variables["REEVE_AGENT_WRAPPER"] = (scratch.path() / "nothing").string();
  EXPECT_THAT(fault_of(variables).text, HasSubstr("the agent was not started"));
  variables["REEVE_AGENT_WRAPPER"] = "";
  EXPECT_THAT(fault_of(variables).text, HasSubstr("the agent was not started"));
}

TEST(AdapterAttempt, variables_are_names_and_values) {
  std::string one = "A=1=2";
  std::string odd = "nothing";
  char* environment[] = {one.data(), odd.data(), nullptr};
  EXPECT_EQ(read_variables(environment), (Variables{{"A", "1=2"}}));
}

}  // namespace
}  // namespace reeve::adapter
