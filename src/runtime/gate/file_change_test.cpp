#include "runtime/gate/file_change.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

using base::Value;

std::string lines(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

Value write_call(const std::string& path, const std::string& content) {
  Value arguments = Value::object();
  arguments.set("path", Value::string(path));
  arguments.set("content", Value::string(content));
  return arguments;
}

// TOOL-3
TEST(FileChange, shows_each_change_with_the_lines_around_it) {
  std::string after = lines(30);
  after.replace(after.find("line 2\n"), 7, "line two\n");
  after.insert(after.find("line 25\n"), "inserted\n");
  EXPECT_EQ(make_diff("a.txt", lines(30), after).value(),
            "--- a/a.txt\n+++ b/a.txt\n"
            "@@ -1,5 +1,5 @@\n line 1\n-line 2\n+line two\n line 3\n line 4\n line 5\n"
            "@@ -22,6 +22,7 @@\n line 22\n line 23\n line 24\n+inserted\n line 25\n line 26\n line 27\n");
}

TEST(FileChange, equal_texts_have_no_diff) {
  EXPECT_EQ(make_diff("a", "same\n", "same\n"), "");
  EXPECT_TRUE(make_diff("a", "same", "same\n").value().contains("adds a newline"));
}

TEST(FileChange, what_is_no_text_or_too_large_is_not_compared) {
  EXPECT_FALSE(make_diff("a", std::string("\0", 1), "x"));
  EXPECT_FALSE(make_diff("a", "\xff", "x"));
  EXPECT_FALSE(make_diff("a", lines(2'001), "x"));
  EXPECT_FALSE(make_diff("a", "x", std::string(max_compared_bytes + 1, 'x')));
}

// The person sees what the write would change; what is not a file of the folder is never read.
TEST(FileChange, only_files_beneath_the_folder_are_compared) {
  const testing::ScratchFolder outside;
  std::ofstream(outside.path() / "secret") << "secret\n";
  const testing::ScratchFolder place;
  std::ofstream(place.path() / "a") << "old\n";
  std::ofstream(place.path() / ".env") << "KEY=1\n";
  std::filesystem::create_symlink(outside.path() / "secret", place.path() / "link");
  const Value shown = show_change(place.path().string(), write_call((place.path() / "a").string(), "new\n"));
  ASSERT_NE(shown.find("diff"), nullptr);
  EXPECT_TRUE(shown.find("diff")->as_string()->contains("+++ b/a\n@@ -1,1 +1,1 @@\n-old\n+new\n"));
  EXPECT_EQ(shown.find("content"), nullptr);
  for (const std::string path : {"link", "../x", "none", ".env", (outside.path() / "secret").c_str()}) {
    const Value call = write_call(path, "new\n");
    EXPECT_EQ(show_change(place.path().string(), call), call) << path;
  }
}

}  // namespace
}  // namespace reeve::runtime
