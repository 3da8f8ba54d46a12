#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/program.h"

// Malicious files are rejected with a clear error, within bounded memory.
namespace reeve {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;
using testing::ScratchFolder;

struct Hostile {
  std::string name;
  std::string text;
  std::string code;
};

void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

std::string repeat(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

std::vector<Hostile> hostile_files() {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb +=
        std::string(1, c) + ": &" + c + " [" + repeat("*" + std::string(1, static_cast<char>(c - 1)) + ", ", 9) + "]\n";
  }
  return {
      {"alias_bomb", bomb, "yaml.too_many_aliases"},
      {"deep_lists", std::string(100'000, '['), "yaml.too_deep"},
      {"deep_mappings", repeat("{a: ", 100'000), "yaml.too_deep"},
      {"deep_dashes", repeat("- ", 100'000), "yaml.too_deep"},
      {"fifty_megabytes", std::string(50'000'000, '#'), "file.too_large"},
      {"four_megabytes_of_brackets", std::string(4'000'000, '['), "yaml.too_deep"},
      {"brackets_on_lines", repeat("[\n", 2'000'000), "yaml.too_deep"},
      {"a_desert_of_blanks", "- " + std::string(1'000'000, ' ') + "x", "yaml.too_large"},
      {"a_desert_of_lines", "a: |\n" + std::string(1'000'000, '\n') + "  x", "yaml.too_large"},
      {"endless_directive", "%a" + std::string(1'000, 'b'), "yaml.directive"},
      {"bad_utf8", "id: \xc3\x28\n", "yaml.bad_utf8"},
      {"nul", std::string("id: a\0b\n", 8), "yaml.control_character"},
      {"only_nuls", std::string(1'000'000, '\0'), "yaml.control_character"},
      {"duplicate_keys", "id: a\nid: b\n", "yaml.duplicate_key"},
      {"a_million_anchors", repeat("- &a x\n", 200'000), "yaml.too_many_aliases"},
      {"one_long_line", "id: " + std::string(1'000'000, 'x'), "yaml.too_large"},
      {"nothing_but_keys",
       [] {
         std::string text;
         for (int i = 0; i < 200'000; ++i) text += "k" + std::to_string(i) + ": 1\n";
         return text;
       }(),
       "yaml.too_large"},
  };
}

class HostileFile : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileFile, is_rejected_within_memory_and_time_limits) {
  const ScratchFolder scratch;
  scratch.write("x.yaml", GetParam().text);
  std::vector<std::string> argv = {testing::reeve_binary(), "flow", "validate", "x.yaml"};
#ifndef REEVE_SANITIZED
  // Limits the address space, libraries included, and the CPU time, which only an endless loop reaches.
  argv.insert(argv.begin(), {"prlimit", "--as=200000000", "--cpu=20"});
#endif
  const Outcome outcome = testing::run_program({.argv = argv, .folder = scratch.path()});
  EXPECT_EQ(outcome.code, 2) << outcome.err.substr(0, 1000);
  EXPECT_THAT(outcome.err.substr(0, 200), HasSubstr("error[" + GetParam().code + "]"));
  EXPECT_LT(outcome.err.size(), 100'000);
}

INSTANTIATE_TEST_SUITE_P(Functional, HostileFile, ::testing::ValuesIn(hostile_files()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reeve
