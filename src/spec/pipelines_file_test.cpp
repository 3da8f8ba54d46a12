#include "spec/pipelines_file.h"

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "view/problem_text.h"

namespace reeve::spec {
namespace {

// PIP-1
TEST(PipelinesFile, reads_agents_and_steps) {
  const auto parsed = parse_pipelines(std::make_shared<const Source>(
      "pipelines.yaml", testing::read_text(testing::source_folder() / "examples/pipelines.yaml")));
  ASSERT_TRUE(parsed) << view::problems_text(parsed.error(), {});
  const model::Pipeline& feature = parsed->pipelines.at("feature");
  ASSERT_EQ(feature.steps.size(), 4);
  EXPECT_EQ(feature.steps[0].type, model::StepType::agent) << "a step without a type is an agent step";
  EXPECT_EQ(feature.steps[0].agent, "architect");
  EXPECT_EQ(feature.steps[1].type, model::StepType::approval);
  EXPECT_FALSE(feature.steps[1].agent);
  EXPECT_EQ(parsed->agents.at("checker").tool, "pytest");
}

// S5 refers to agents only by name; the config defines them.
TEST(PipelinesFile, checks_roles_and_tools_only_against_a_config) {
  const auto source =
      std::make_shared<const Source>("p", "agents: {a: {role: nobody}}\npipelines: {p: {steps: [{agent: a}]}}\n");
  EXPECT_TRUE(parse_pipelines(source));
  const model::Config config;
  EXPECT_FALSE(parse_pipelines(source, &config));
}

}  // namespace
}  // namespace reeve::spec
