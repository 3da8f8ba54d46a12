#include "tests/support/generated_page.h"

#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::testing {

void expect_generated(const std::filesystem::path& page, const std::map<std::string, std::string>& parts) {
  constexpr std::string_view begin = "<!-- generated: ";
  constexpr std::string_view begin_end = " -->\n";
  constexpr std::string_view end = "<!-- end of generated text -->\n";
  const std::string present = read_text(page);
  std::string text;
  std::size_t at = 0;
  std::size_t placed = 0;
  while (true) {
    const std::size_t mark = present.find(begin, at);
    if (mark == std::string::npos) break;
    const std::size_t name_at = mark + begin.size();
    const std::size_t name_end = present.find(begin_end, name_at);
    const std::size_t after = present.find(end, name_at);
    ASSERT_TRUE(name_end < after && after != std::string::npos) << page << " has a part without an end";
    const std::string name = present.substr(name_at, name_end - name_at);
    const auto part = parts.find(name);
    ASSERT_NE(part, parts.end()) << page << ": nothing generates " << name;
    text += present.substr(at, name_end + begin_end.size() - at);
    text += fmt::format("\n{}\n", part->second);
    at = after;
    ++placed;
  }
  EXPECT_EQ(placed, parts.size()) << page << " lacks a place for a generated part";
  expect_golden(page, text + present.substr(at));
}

}  // namespace reeve::testing
