#include "adapter/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::adapter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string fault_of(const std::vector<std::string>& words) {
  const auto options = parse_options(words);
  return options ? "no fault" : options.error();
}

TEST(AdapterOptions, all_of_them_are_read) {
  const auto options = parse_options({"codex", "--model", "m1", "--budget-usd", "2.5", "--resume", "s-1",
                                      "--release-after", "90", "--reeve", "/opt/reeve", "--", "codex", "-c", "--"});
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->kind, agents::AgentKind::codex);
  EXPECT_EQ(options->model, "m1");
  EXPECT_EQ(options->budget_usd, 2.5);
  EXPECT_EQ(options->session, "s-1");
  EXPECT_EQ(options->release_after, std::chrono::seconds(90));
  EXPECT_EQ(options->reeve_program, "/opt/reeve");
  EXPECT_THAT(options->command, ElementsAre("codex", "-c", "--"));
}

// AGT-6: 5 m is the default.
TEST(AdapterOptions, release_has_a_default_and_can_be_off) {
  EXPECT_EQ(parse_options({"claude", "--", "claude"})->release_after, std::chrono::minutes(5));
  EXPECT_EQ(parse_options({"claude", "--release-after", "off", "--", "claude"})->release_after, std::nullopt);
}

TEST(AdapterOptions, faults_name_what_is_wrong) {
  EXPECT_THAT(fault_of({}), HasSubstr("KIND is missing: it is one of claude, codex"));
  EXPECT_THAT(fault_of({"cluade", "--", "x"}), HasSubstr("unknown kind `cluade`"));
  EXPECT_THAT(fault_of({"claude"}), HasSubstr("after `--`"));
  EXPECT_THAT(fault_of({"claude", "--"}), HasSubstr("after `--`"));
  EXPECT_THAT(fault_of({"claude", "--", ""}), HasSubstr("empty"));
  EXPECT_THAT(fault_of({"claude", "--modle", "x", "--", "claude"}), HasSubstr("unknown option `--modle`"));
  EXPECT_THAT(fault_of({"claude", "--model", "--", "claude"}), HasSubstr("--model needs a value"));
  EXPECT_THAT(fault_of({"claude", "--reeve", "reeve", "--", "claude"}), HasSubstr("absolute path"));
  for (const char* amount : {"0", "-1", "1usd", "nan", "inf", ""}) {
    EXPECT_NE(fault_of({"claude", "--budget-usd", amount, "--", "claude"}), "no fault") << amount;
  }
  for (const char* time : {"0", "-1", "5m", "on", "99999999999"}) {
    EXPECT_THAT(fault_of({"claude", "--release-after", time, "--", "claude"}), HasSubstr("or `off`")) << time;
  }
}

}  // namespace
}  // namespace reeve::adapter
