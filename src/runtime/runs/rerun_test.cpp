#include "runtime/runs/rerun.h"

#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

using model::StandardInput;

wire::RunRequest request() { return {.argv = {"cat"}, .cwd = "/"}; }

// The next run of one that has ended.
std::expected<RunPlan, base::Error> repeat(const wire::RunRequest& first, const wire::RerunRequest& caller) {
  const RunPlan plan = make_plan(model::Config(), first).value();
  model::Run run = make_run(plan);
  run.status = model::RunStatus::completed;
  return make_rerun(model::Config(), run, encode_rerun(first, plan), caller);
}

// RUN-9: standard input is deleted with the final status, so it must be sent again.
TEST(Rerun, of_a_run_that_read_standard_input_needs_it_again) {
  wire::RunRequest first = request();
  first.standard_input = StandardInput::offered;
  const auto refused = repeat(first, {});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(base::ErrorCode::run_no_rerun));
  const auto piped = repeat(first, {.standard_input = StandardInput::offered});
  ASSERT_TRUE(piped);
  EXPECT_TRUE(piped->has_stdin);
  const auto without = repeat(first, {.standard_input = StandardInput::none});
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->has_stdin);
}

// RUN-9: what was offered to a tool that reads its prompt there was not read.
TEST(Rerun, of_a_run_that_took_no_standard_input_needs_none) {
  wire::RunRequest first = request();
  first.standard_input = StandardInput::offered;
  first.prompt = "Fix the build";
  EXPECT_TRUE(repeat(first, {}));
  EXPECT_TRUE(repeat(request(), {}));
  const auto piped = repeat(request(), {.standard_input = StandardInput::offered});
  ASSERT_TRUE(piped);
  EXPECT_TRUE(piped->has_stdin);
}

// RUN-14
TEST(Rerun, keeps_the_queue_and_the_priority) {
  wire::RunRequest first = request();
  first.queue = true;
  first.priority = 7;
  const auto again = repeat(first, {});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->is_queued);
  EXPECT_EQ(again->priority, 7);
  EXPECT_EQ(repeat(first, {.priority = -2})->priority, -2);
  EXPECT_FALSE(repeat(request(), {})->is_queued);
  EXPECT_TRUE(repeat(request(), {.queue = true})->is_queued);
}

// Terms of earlier versions say nothing about input and queue.
TEST(Rerun, reads_the_terms_of_earlier_versions) {
  model::Run run = make_run(make_plan(model::Config(), request()).value());
  run.status = model::RunStatus::completed;
  const auto again = make_rerun(model::Config(), run, "{}", {});
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->is_queued);
  EXPECT_FALSE(again->has_stdin);
}

}  // namespace
}  // namespace reeve::runtime
