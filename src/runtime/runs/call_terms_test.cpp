#include "runtime/runs/call_terms.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "json/encode.h"
#include "json/parse.h"
#include "runtime/runs/rerun.h"
#include "runtime/runs/run_files.h"
#include "runtime/runs/run_plan.h"
#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

using model::Policy;

model::Config config() {
  model::Config made;
  made.tools["agent"].command = {"agent"};
  made.policies.tools["file_write"] = {{Policy::auto_approve, {{"path", base::Value::string("src/**")}}},
                                       {Policy::require_approval, {}}};
  made.policies.tools["shell_execute"] = {{.policy = Policy::deny, .when = {}}};
  made.policies.roles["coder"]["git_push"] = {{Policy::auto_approve, {}, true}};
  made.agents.fallback_tools["WebFetch"] = {"file_read"};
  return made;
}

RunPlan plan_of(const model::Config& config) {
  return make_plan(config, {.tool = "agent", .prompt = "do it", .cwd = "/"}).value();
}

std::string launch_of(const RunPlan& plan) { return keeper::encode_launch(make_launch(plan)); }

// TOOL-1, SPEC §7: what decides the calls of a run is what its config said when it started.
TEST(CallTerms, are_taken_from_the_config) {
  const RunPlan plan = plan_of(config());
  EXPECT_EQ(plan.calls.policies, config().policies);
  EXPECT_EQ(plan.calls.agents, config().agents);
  EXPECT_EQ(plan.calls.role, "");
}

// APR-5, RUN-13: the next attempt and the next daemon decide by the same terms.
TEST(CallTerms, survive_the_launch_file) {
  RunPlan plan = plan_of(config());
  plan.calls.role = "coder";
  const auto read = read_plan(launch_of(plan));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->calls, plan.calls);
}

TEST(CallTerms, stay_when_limits_of_the_run_change) {
  const testing::ScratchFolder scratch;
  const RunPlan plan = plan_of(config());
  draft_run(scratch.path().string(), "0a", plan);
  ASSERT_TRUE(name_run(scratch.path().string(), "0a", base::RunId(7)));
  const std::string folder = (scratch.path() / "TR-7").string();
  model::ToolProfile profile = plan.profile;
  profile.timeout = base::TimeLimit::off();
  rewrite_profile(folder, profile);
  const auto read = read_launch(folder);
  ASSERT_TRUE(read.plan);
  EXPECT_EQ(read.plan->calls, plan.calls);
  EXPECT_EQ(read.plan->profile.timeout, base::TimeLimit::off());
}

// TOOL-9: a launch of an earlier version has no terms, and a person is asked about everything.
TEST(CallTerms, of_earlier_versions_ask_about_everything) {
  keeper::Launch launch = make_launch(plan_of(config()));
  auto settings = json::parse(launch.settings).value();
  std::erase_if(*settings.as_object(), [](const base::Member& member) { return member.key == "calls"; });
  launch.settings = json::encode(settings);
  const auto read = read_plan(keeper::encode_launch(launch));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->calls, CallTerms());
}

// TOOL-9: terms that cannot be understood are not replaced by looser ones.
TEST(CallTerms, unreadable_ones_make_the_launch_unreadable) {
  for (const char* broken : {"[]", R"({"policies": {"tools": {"git_push": "auto_approve"}}})",
                             R"({"policies": {"tools": {"git_push": [{"policy": "sure"}]}}})", R"({"role": 1})"}) {
    keeper::Launch launch = make_launch(plan_of(config()));
    auto settings = json::parse(launch.settings).value();
    std::erase_if(*settings.as_object(), [](const base::Member& member) { return member.key == "calls"; });
    settings.set("calls", json::parse(broken).value());
    launch.settings = json::encode(settings);
    EXPECT_FALSE(read_plan(keeper::encode_launch(launch))) << broken;
  }
}

// A new run of an old command is decided by the config of now.
TEST(CallTerms, of_a_rerun_are_those_of_the_config_now) {
  const wire::RunRequest request{.tool = "agent", .prompt = "do it", .cwd = "/"};
  const RunPlan plan = plan_of(config());
  model::Run run = make_run(plan);
  run.status = model::RunStatus::completed;
  model::Config now = config();
  now.policies.tools["file_write"] = {{Policy::deny, {}}};
  const auto again = make_rerun(now, run, encode_rerun(request, plan), {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->calls.policies, now.policies);
}

}  // namespace
}  // namespace reeve::runtime
