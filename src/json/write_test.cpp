#include "json/write.h"

#include <limits>

#include <gtest/gtest.h>

#include "json/encode.h"
#include "model/approval.h"
#include "model/run.h"

namespace reeve::json {
namespace {

template <class T>
void expect_same(const T& value) {
  std::string text = "before ";
  append(text, value);
  EXPECT_EQ(text, "before " + encode(to_value(value)));
}

model::Run full_run() {
  model::Run run;
  run.tool_run_id = base::RunId(17);
  run.tool_name = "a \"tool\" \\ with\n\t\x01 é \u202e \xff and more";
  run.execution_id = base::ExecutionId(9);
  run.status = model::RunStatus::failed_timeout;
  run.outcome = model::Outcome::did_not_exit;
  run.exit_code = -1;
  run.argv = {"", "sh", "-c", "echo 'x'"};
  run.started_at = base::parse_time("2026-11-16T07:03:20.125Z");
  run.duration_ms = std::numeric_limits<std::int64_t>::min();
  run.progress = model::Progress{.percent = 40.0, .message = "half\r\n"};
  run.usage = model::Usage{.input_tokens = 1, .output_tokens = 2, .cost_usd = 0.1};
  run.tool_errors = {{"t", "m"}, {"", "\x7f"}};
  run.metadata = {{"a key \"", "v"}, {"b", ""}};
  return run;
}

// API, SPEC §7: a record has the same text, whichever way it is written.
TEST(JsonWrite, direct_writer_matches_the_tree_encoder) {
  expect_same(model::Run());
  expect_same(full_run());
  expect_same(std::vector{full_run(), model::Run()});
  model::Approval approval;
  approval.question = "Go on?\u2028";
  approval.options = {{"yes", "Yes", true}, {"no", "No", std::nullopt}};
  base::Value arguments = base::Value::object();
  arguments.set("list", base::Value::array({base::Value(), base::Value::number(1e300), base::Value::boolean(true)}));
  approval.arguments = arguments;
  expect_same(approval);
}

TEST(JsonWrite, numbers_match_the_tree_encoder) {
  for (const double number : {0.0, -0.0, 1.0, 0.1, 1e15, 1e16, 1e300, -2.5e-9, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    expect_same(number);
  }
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    expect_same(number);
  }
}

// Every byte alone, and between plain ones.
TEST(JsonWrite, strings_match_the_tree_encoder) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    expect_same(one);
    expect_same("plain" + one + "text" + one);
    EXPECT_EQ(encode(base::Value::string("a" + one)).substr(0, 2), "\"a");
  }
}

}  // namespace
}  // namespace reeve::json
