#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "base/text.h"
#include "json/parse.h"
#include "runtime/tools/tool_host.h"

namespace reeve::testing {

// Calls hosted tools with arguments as JSON. In a header, because only unit tests link them.
class HostedTools {
 public:
  HostedTools(std::filesystem::path worktree, std::filesystem::path scratch)
      : worktree_(std::move(worktree)), scratch_(std::move(scratch)) {
    std::filesystem::create_directories(scratch_);
  }

  wire::CallResult call(const std::string& tool, std::string_view arguments, const std::stop_token& stop = {}) const {
    const auto parsed = json::parse(arguments);
    EXPECT_TRUE(parsed.has_value()) << arguments;
    if (!parsed) return {};
    EXPECT_EQ(runtime::find_argument_fault(tool, *parsed), std::nullopt) << arguments;
    wire::CallResult result = runtime::run_hosted(
        {.tool = tool, .arguments = *parsed, .worktree = worktree_.string(), .scratch = scratch_.string()}, stop);
    EXPECT_LE(result.content.size(), runtime::max_hosted_content);
    EXPECT_FALSE(base::find_invalid_utf8(result.content)) << tool;
    return result;
  }
  // The content. Fails the test if it is an error.
  std::string run(const std::string& tool, std::string_view arguments) const {
    wire::CallResult result = call(tool, arguments);
    EXPECT_FALSE(result.is_error) << tool << " " << arguments << ": " << result.content;
    return result.content;
  }
  // The error. Fails the test if it is none.
  std::string refuse(const std::string& tool, std::string_view arguments) const {
    wire::CallResult result = call(tool, arguments);
    EXPECT_TRUE(result.is_error) << tool << " " << arguments << ": " << result.content;
    return result.content;
  }

 private:
  std::filesystem::path worktree_;
  std::filesystem::path scratch_;
};

}  // namespace reeve::testing
