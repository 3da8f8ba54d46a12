#include "json/decode.h"

#include <gtest/gtest.h>

#include "json/encode.h"
#include "json/parse.h"
#include "model/approval.h"
#include "model/run.h"
#include "model/workflow.h"
#include "spec/workflow_file.h"
#include "tests/support/engine/random_workflow.h"
#include "tests/support/files.h"

namespace reeve::json {
namespace {

TEST(Decode, round_trips_workflows) {
  for (const char* name : {"parallel-review.yaml", "debug-with-retry-loop.yaml"}) {
    const auto path = testing::source_folder() / "examples/workflows" / name;
    if (!std::filesystem::exists(path)) continue;
    const auto file = spec::parse_workflow(std::make_shared<const spec::Source>(name, testing::read_text(path)));
    ASSERT_TRUE(file);
    for (const Defaults defaults : {Defaults::show, Defaults::omit}) {
      const auto again = from_value<model::Workflow>(to_value(file->workflow, defaults));
      ASSERT_TRUE(again) << again.error();
      EXPECT_EQ(*again, file->workflow);
    }
  }
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    base::SeededRandom random(seed);
    const model::Workflow workflow = testing::make_random_workflow(random, {});
    const auto again = from_value<model::Workflow>(parse(encode(to_value(workflow, Defaults::omit))).value());
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(*again, workflow);
  }
}

TEST(Decode, ignores_unknown_members) {
  const auto read = from_value<model::ApprovalOption>(parse(R"({"value": "a", "new": [1], "label": null})").value());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->value, "a");
  EXPECT_EQ(read->label, "");
}

TEST(Decode, error_names_the_failing_path) {
  using Options = std::vector<model::ApprovalOption>;
  EXPECT_EQ(from_value<Options>(parse(R"([{"value": "a"}, {"value": 3}])").value()).error(),
            "[1].value: expected a string, found a whole number");
  EXPECT_EQ(from_value<model::Run>(parse(R"({"attempt": "x"})").value()).error(),
            "attempt: expected a whole number, found a string");
  EXPECT_NE(from_value<model::Run>(parse(R"({"status": "x"})").value()).error().find("status: expected one of queued"),
            std::string::npos);
  EXPECT_EQ(from_value<model::Run>(parse(R"({"usage": {"input_tokens": 1.5}})").value()).error(),
            "usage.input_tokens: expected a whole number, found a number");
  EXPECT_FALSE(from_value<model::Run>(parse(R"({"attempt": 99999999999})").value()));
  EXPECT_FALSE(from_value<model::Run>(parse(R"({"tool_run_id": "AP-1"})").value()));
  EXPECT_FALSE(from_value<model::Run>(parse("[]").value()));
}

}  // namespace
}  // namespace reeve::json
