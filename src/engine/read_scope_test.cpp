#include "engine/read_scope.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/engine/tool_calls.h"

namespace reeve::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> scopes(std::string_view tool, std::string_view arguments) {
  std::vector<std::string> shown;
  for (const ReadScope& scope : find_read_scopes(tool, testing::arguments_of(arguments))) {
    shown.push_back(fmt::format("{} in {}{}", scope.path, scope.folder, scope.is_pattern ? " by pattern" : ""));
  }
  return shown;
}

// TOOL-1: where an agent's own tool would look for files to read.
TEST(ReadScope, pattern_reads_the_folder_before_its_first_wildcard) {
  EXPECT_THAT(scopes("file_read", R"({"path": "/wt/a.c"})"), ElementsAre("/wt/a.c in /wt/a.c"));
  EXPECT_THAT(scopes("file_read", R"({"include": ["/wt/**/*", "/wt/src/a?.c"], "paths": ["/wt/b"]})"),
              ElementsAre("/wt/**/* in /wt by pattern", "/wt/src/a?.c in /wt/src by pattern", "/wt/b in /wt/b"));
  EXPECT_THAT(scopes("file_read", R"({"path": "*.ke?"})"), ElementsAre("*.ke? in . by pattern"));
  EXPECT_THAT(scopes("file_read", R"({"path": "/*/x"})"), ElementsAre("/*/x in / by pattern"));
  EXPECT_THAT(scopes("file_read", R"({"path": "/wt/{a/b,c}"})"), ElementsAre("/wt/{a/b,c} in /wt by pattern"));
  EXPECT_THAT(scopes("file_read", R"({"path": "/wt/app/[id]/p"})"),
              ElementsAre("/wt/app/[id]/p in /wt/app by pattern"));
  EXPECT_THAT(scopes("file_read", R"({"path": "/wt/@(a)/p"})"), ElementsAre("/wt/@(a)/p in /wt by pattern"));
}

// A filter narrows what the search reads.
TEST(ReadScope, search_reads_its_folder) {
  EXPECT_THAT(scopes("search_files", R"({"path": "/wt/src", "pattern": "x", "glob": "*.key", "include": "*"})"),
              ElementsAre("/wt/src in /wt/src"));
}

TEST(ReadScope, names_and_writes_are_not_contents) {
  for (const char* tool : {"list_directory", "file_write", "shell_execute", "git_diff", "mcp:a/b"}) {
    EXPECT_THAT(scopes(tool, R"({"path": "/wt", "glob": "/wt/**"})"), IsEmpty()) << tool;
  }
  EXPECT_THAT(scopes("file_read", "[]"), IsEmpty());
  EXPECT_THAT(scopes("file_read", R"({"path": 7, "paths": [7, ""]})"), IsEmpty());
}

}  // namespace
}  // namespace reeve::engine
