#include "cli/gate/mcp_session.h"

#include <condition_variable>
#include <mutex>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/write.h"

namespace reeve::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The written lines; waits for them.
class Lines {
 public:
  void add(std::string_view line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
    changed_.notify_all();
  }
  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return lines_.size() >= count; });
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

// A tool that waits until its call is stopped.
agents::McpOutcome wait_for_stop(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait(lock, stop, [] { return false; });
  return agents::McpToolResult{.text = "stopped"};
}

agents::McpOutcome perform(const agents::McpWork& work, const std::stop_token& stop) {
  if (work.tool == "wait") return wait_for_stop(stop);
  return agents::McpToolResult{.text = work.tool};
}

std::string call(int id, const std::string& tool) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"tools/call","params":{"name":")" + tool +
         "\"}}";
}

const std::string hello = R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})";

// A call that waits for a person holds up neither a ping nor other calls.
TEST(McpSession, waiting_calls_do_not_hold_up_others) {
  Lines lines;
  McpSession session("1", perform, [&](std::string_view line) { lines.add(line); });
  session.on_line(hello);
  for (int i = 1; i < 10; ++i) session.on_line(call(i, "wait"));
  session.on_line(R"({"jsonrpc":"2.0","id":100,"method":"ping"})");
  session.on_line(call(101, "quick"));
  EXPECT_THAT(lines.wait_for(3), ElementsAre(HasSubstr("\"id\":0"), HasSubstr("\"id\":100"), HasSubstr("\"quick\"")));
}

TEST(McpSession, cancelled_calls_are_stopped_and_not_answered) {
  Lines lines;
  McpSession session("1", perform, [&](std::string_view line) { lines.add(line); });
  session.on_line(hello);
  session.on_line(call(1, "wait"));
  session.on_line(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  session.drain(std::chrono::seconds(30));
  session.on_line(call(1, "again"));
  EXPECT_THAT(lines.wait_for(2), ElementsAre(HasSubstr("\"id\":0"), HasSubstr("\"again\"")));
}

TEST(McpSession, more_calls_than_threads_all_end) {
  Lines lines;
  McpSession session("1", perform, [&](std::string_view line) { lines.add(line); });
  session.on_line(hello);
  for (int i = 1; i <= 60; ++i) session.on_line(call(i, "quick"));
  EXPECT_EQ(lines.wait_for(61).size(), 61U);
  for (int i = 1; i <= 40; ++i) session.on_line(call(i, "wait"));
  // The destructor stops what runs and what is queued.
}

TEST(McpSession, long_lines_are_dropped_and_the_next_one_is_read) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::jthread writer([&] {
    os::write_all(ends[1], "one\n" + std::string(5000, 'x') + "\ntwo\n" + std::string(300, 'y'));
    ::close(ends[1]);
  });
  std::vector<std::string> seen;
  read_lines(
      ends[0], 1000, [&](std::string_view line) { seen.emplace_back(line); },
      [&](std::string_view beginning) { seen.push_back("long " + std::string(beginning.substr(0, 3))); });
  ::close(ends[0]);
  EXPECT_THAT(seen, ElementsAre("one", "long xxx", "two"));
}

}  // namespace
}  // namespace reeve::cli
