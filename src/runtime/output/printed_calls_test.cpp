#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "json/encode.h"
#include "keeper/output_writer.h"
#include "runtime/output/log_thread.h"
#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

constexpr const char* call_line = R"({"event":"tool_use","tool":"file_read","arguments":{"path":"a"},"id":"c1"})";

// The output of one attempt, written as its keeper does and read by the log thread.
class PrintedCalls : public ::testing::Test {
 protected:
  void open(bool speaks_reeve, std::uint64_t from = 0, const std::vector<std::string>& secrets = {}) {
    auto set = std::make_shared<base::SecretSet>();
    for (const std::string& secret : secrets) set->add(secret);
    set->prepare();
    log_.open({.number = ++feed_,
               .run = run_,
               .folder = place_.path().string(),
               .tool = "agent",
               .execution = {},
               .secret_values = secrets,
               .secrets = set,
               .secrets_file = "",
               .failure_markers = {},
               .speaks_reeve = speaks_reeve,
               .out_offset = from,
               .err_offset = from});
  }
  void print(std::string_view text, std::uint8_t stream = 0) {
    ASSERT_LE(text.size(), writer_.room().size());
    std::memcpy(writer_.room().data(), text.data(), text.size());
    writer_.append(stream, text.size(), 1);
  }
  // The next batch; the log thread is told that there is more.
  OutputBatch read() {
    log_.grew(run_);
    return next();
  }
  OutputBatch next() {
    std::unique_lock lock(mutex_);
    const bool is_there = arrived_.wait_for(lock, std::chrono::seconds(20), [&] { return !batches_.empty(); });
    EXPECT_TRUE(is_there);
    if (!is_there) return {};
    OutputBatch batch = std::move(batches_.front());
    batches_.pop_front();
    return batch;
  }

  testing::ScratchFolder place_;
  testing::ScratchFolder logs_;
  os::Folder folder_ = os::Folder::open(place_.path().string());
  keeper::OutputWriter writer_{folder_, 1ULL << 30U};
  base::RunId run_{7};
  std::uint64_t feed_ = 0;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<OutputBatch> batches_;
  // Declared last: its thread uses the members above.
  LogThread log_{{.path = (logs_.path() / "combined.log").string(),
                  .batch_read =
                      [this](OutputBatch batch) {
                        const std::lock_guard lock(mutex_);
                        batches_.push_back(std::move(batch));
                        arrived_.notify_one();
                      },
                  .log_warning = [](const std::string&) {}}};
};

// TOOL-4
TEST_F(PrintedCalls, line_of_a_tool_that_speaks_reeve_is_a_call) {
  open(true);
  print(std::string("working\n") + call_line + "\n");
  const OutputBatch batch = read();
  ASSERT_EQ(batch.calls.size(), 1U);
  EXPECT_EQ(batch.calls[0].id, "c1");
  EXPECT_EQ(batch.calls[0].tool, "file_read");
  EXPECT_EQ(json::encode(batch.calls[0].arguments), R"({"path":"a"})");
  EXPECT_EQ(batch.calls[0].end, batch.position);
}

// TOOL-4: never a line that merely looks like one.
TEST_F(PrintedCalls, same_line_of_any_other_tool_is_output) {
  open(false);
  print(std::string(call_line) + "\n");
  EXPECT_TRUE(read().calls.empty());
}

TEST_F(PrintedCalls, standard_error_makes_no_calls) {
  open(true);
  print(std::string(call_line) + "\n", 1);
  EXPECT_TRUE(read().calls.empty());
}

TEST_F(PrintedCalls, what_is_not_exactly_a_call_is_output) {
  open(true);
  print(std::string("> ") + call_line + "\n");
  print(R"({"event":"tool_use","tool":"a","tool":"b"})"
        "\n");
  print(std::string(call_line).substr(0, 40));
  EXPECT_TRUE(read().calls.empty());
}

// TOOL-9: a malformed call is handed on, because its agent waits for an answer.
TEST_F(PrintedCalls, malformed_calls_are_handed_on) {
  open(true);
  print(R"({"event":"tool_use","id":"c1","arguments":{}})"
        "\n"
        R"({"event":"tool_use","id":"c2","tool":"a","arguments":[]})"
        "\n");
  const OutputBatch batch = read();
  ASSERT_EQ(batch.calls.size(), 2U);
  EXPECT_EQ(batch.calls[0].id, "c1");
  EXPECT_EQ(batch.calls[0].tool, "");
  EXPECT_EQ(batch.calls[1].id, "c2");
  EXPECT_EQ(batch.calls[1].arguments.as_object(), nullptr);
}

// RUN-13: after a crash the same lines are read again; a call without an id is recognised by its place.
TEST_F(PrintedCalls, calls_without_an_id_have_the_same_one_when_read_again) {
  open(true);
  print(R"({"event":"tool_use","tool":"a"})"
        "\n"
        R"({"event":"tool_use","tool":"a"})"
        "\n");
  const OutputBatch batch = read();
  ASSERT_EQ(batch.calls.size(), 2U);
  EXPECT_NE(batch.calls[0].id, batch.calls[1].id);
  log_.close(run_);
  open(true);
  const OutputBatch again = read();
  ASSERT_EQ(again.calls.size(), 2U);
  EXPECT_EQ(again.calls[0].id, batch.calls[0].id);
  EXPECT_EQ(again.calls[1].id, batch.calls[1].id);
}

// LOG-4, TOOL-8: what is shown is masked, what is decided and run is what the agent printed.
TEST_F(PrintedCalls, arguments_are_as_printed) {
  open(true, 0, {"s3cret-value"});
  print(R"({"event":"tool_use","tool":"a","arguments":{"text":"s3cret-value"}})"
        "\n");
  const OutputBatch batch = read();
  ASSERT_EQ(batch.calls.size(), 1U);
  EXPECT_EQ(json::encode(batch.calls[0].arguments), R"({"text":"s3cret-value"})");
  log_.close(run_);
  EXPECT_EQ(testing::read_text(logs_.path() / "combined.log").find("s3cret-value"), std::string::npos);
}

// A daemon that dies before a call is stored finds its line again: nothing after it was read.
TEST_F(PrintedCalls, nothing_after_a_call_is_read_until_it_is_stored) {
  open(true);
  print(std::string(call_line) + "\n");
  print(R"({"event":"usage","input_tokens":3,"output_tokens":4})"
        "\n");
  const OutputBatch batch = read();
  ASSERT_EQ(batch.calls.size(), 1U);
  EXPECT_FALSE(batch.usage);
  EXPECT_LT(batch.position, writer_.position());
  log_.finish(run_, writer_.position());
  // Of an earlier batch.
  log_.calls_taken(run_, batch.position - 1);
  log_.calls_taken(run_, batch.position);
  const OutputBatch rest = next();
  EXPECT_TRUE(rest.usage);
  EXPECT_TRUE(rest.calls.empty());
}

TEST_F(PrintedCalls, number_of_calls_at_once_is_bounded) {
  open(true);
  std::string many;
  for (std::size_t i = 0; i < OutputBatch::max_calls + 5; ++i) many += "{\"event\":\"tool_use\",\"tool\":\"a\"}\n";
  print(many);
  const OutputBatch batch = read();
  EXPECT_EQ(batch.calls.size(), OutputBatch::max_calls);
  EXPECT_EQ(batch.more_calls, 5U);
}

}  // namespace
}  // namespace reeve::runtime
