#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/help.h"
#include "spec/config_file.h"
#include "spec/workflow_file.h"
#include "spec/yaml.h"
#include "tests/support/doc_blocks.h"
#include "tests/support/files.h"
#include "view/problem_text.h"

// Commands and files in the documentation and in the help, whether or not a test can execute them.
namespace reeve {
namespace {

using testing::DocBlock;

void expect_valid_calls(const std::string& line, const std::string& where, int& calls) {
  for (const std::vector<std::string>& words : testing::find_reeve_calls(line)) {
    ++calls;
    const auto parsed = cli::parse_command_line(words);
    if (const auto* error = std::get_if<cli::UsageError>(&parsed)) {
      ADD_FAILURE() << where << ": " << line << "\n" << error->message << "\n" << error->hint;
    }
  }
}

TEST(House, commands_in_the_documentation_are_valid_calls) {
  int calls = 0;
  for (const std::string& page : testing::doc_pages()) {
    for (const DocBlock& block : testing::read_doc_blocks(page)) {
      if (!block.is_commands()) continue;
      for (const std::string& line : block.commands()) expect_valid_calls(line, block.place(), calls);
    }
  }
  EXPECT_GE(calls, 50);
}

// What follows `run:` in the job of a CI service: a command, or the lines of a block.
std::vector<std::string> find_run_lines(const DocBlock& job) {
  std::vector<std::string> lines;
  std::size_t block = std::string::npos;
  for (const std::string& line : job.lines) {
    const std::size_t indent = std::min(line.find_first_not_of(" -"), line.size());
    const std::string_view words = std::string_view(line).substr(indent);
    constexpr std::string_view key = "run: ";
    if (block != std::string::npos && indent > block) {
      lines.emplace_back(words);
    } else if (words == "run: |") {
      block = indent;
    } else {
      block = std::string::npos;
      if (words.starts_with(key)) lines.emplace_back(words.substr(key.size()));
    }
  }
  return lines;
}

TEST(House, commands_of_ci_jobs_in_the_documentation_are_valid_calls) {
  int calls = 0;
  for (const std::string& page : testing::doc_pages()) {
    for (const DocBlock& block : testing::read_doc_blocks(page)) {
      if (block.language != "yaml" || !base::join(block.lines, "\n").contains("\njobs:")) continue;
      for (const std::string& line : find_run_lines(block)) expect_valid_calls(line, block.place(), calls);
    }
  }
  EXPECT_GE(calls, 5) << "trust, run, list, cancel, stop";
}

// A reader begins with the first commands of an example, so that a test plays them (examples_test.cpp).
TEST(House, every_example_begins_with_commands_that_a_test_plays) {
  const std::string tests = testing::read_text(testing::source_folder() / "tests/functional/examples_test.cpp");
  int examples = 0;
  for (const std::string& page : testing::doc_pages()) {
    const std::filesystem::path path(page);
    if (!page.starts_with("examples/") || path.parent_path() == "examples") continue;
    ++examples;
    const std::vector<DocBlock> blocks = testing::read_doc_blocks(page);
    ASSERT_FALSE(blocks.empty()) << page;
    EXPECT_TRUE(blocks.front().is_commands() && blocks.front().not_run.empty()) << page;
    const std::string name = path.parent_path().filename();
    EXPECT_TRUE(tests.contains(fmt::format("open(\"{}\")", name))) << page;
  }
  EXPECT_GE(examples, 8);
}

// Examples of the help are copied too.
TEST(House, examples_of_the_help_are_valid_calls) {
  int calls = 0;
  std::vector<cli::Example> examples = cli::first_examples();
  for (const cli::Command& command : cli::all_commands()) {
    examples.insert(examples.end(), command.examples.begin(), command.examples.end());
  }
  for (const cli::Example& example : examples) expect_valid_calls(std::string(example.line), "help", calls);
  EXPECT_GE(calls, static_cast<int>(cli::all_commands().size()));
}

// A YAML block is a workflow if it has nodes, otherwise a part of a config.
TEST(House, files_in_the_documentation_are_valid) {
  int files = 0;
  for (const std::string& page : testing::doc_pages()) {
    for (const DocBlock& block : testing::read_doc_blocks(page)) {
      if (block.language != "yaml") continue;
      ++files;
      const std::string text = base::join(block.lines, "\n") + "\n";
      const auto source = std::make_shared<const spec::Source>(block.place(), text);
      // The inputs of a workflow are shown alone, too, and what a CI service reads.
      if (text.starts_with("inputs:") || text.contains("\njobs:")) continue;
      const bool is_workflow = text.contains("\nnodes:");
      if (const auto workflow = spec::parse_workflow(source); is_workflow && !workflow) {
        ADD_FAILURE() << view::problems_text(workflow.error(), {});
      }
      if (is_workflow) continue;
      base::Problems problems;
      const auto config = spec::parse_config({.user = source});
      if (config) continue;
      for (const base::Problem& problem : config.error().list()) {
        // A part may name a tool that it does not show.
        if (problem.code != base::ErrorCode::config_unknown_tool) problems.add(problem);
      }
      EXPECT_FALSE(problems.has_errors()) << view::problems_text(problems, {});
    }
  }
  EXPECT_GE(files, 5);
}

// A block with another language would be neither executed nor listed.
TEST(House, blocks_are_commands_or_of_a_known_language) {
  const std::set<std::string> known = {"text", "yaml", "json", "sql"};
  int outputs = 0;
  for (const std::string& page : testing::doc_pages()) {
    const DocBlock* before = nullptr;
    const std::vector<DocBlock> blocks = testing::read_doc_blocks(page);
    for (const DocBlock& block : blocks) {
      EXPECT_TRUE(block.is_commands() || known.contains(block.language)) << block.place() << ": " << block.language;
      EXPECT_TRUE(block.is_commands() || (block.not_run.empty() && block.prepared.empty()))
          << block.place() << ": only commands are executed";
      const bool follows_commands = before != nullptr && before->is_commands() && before->not_run.empty();
      EXPECT_TRUE(!block.is_output || follows_commands) << block.place() << ": not the output of commands";
      outputs += block.is_output ? 1 : 0;
      before = &block;
    }
  }
  EXPECT_GE(outputs, 8);
}

// The source of the tests that a reason names: "flow_apply_test and patch_test run these commands".
std::string named_tests(const DocBlock& block) {
  std::string sources;
  for (std::string_view word : base::split(block.not_run, ' ')) {
    while (word.ends_with(',')) word.remove_suffix(1);
    if (!word.ends_with("_test")) continue;
    const auto file = testing::source_folder() / fmt::format("tests/functional/{}.cpp", word);
    if (std::filesystem::exists(file)) {
      sources += testing::read_text(file);
    } else {
      ADD_FAILURE() << block.place() << ": there is no test " << word;
    }
  }
  return sources;
}

// A reason that names tests is true: they run every command of the block.
TEST(House, tests_that_blocks_name_run_their_commands) {
  int checked = 0;
  for (const std::string& page : testing::doc_pages()) {
    for (const DocBlock& block : testing::read_doc_blocks(page)) {
      const std::string sources = named_tests(block);
      if (sources.empty()) continue;
      for (const std::string& line : block.commands()) {
        for (const std::vector<std::string>& words : testing::find_reeve_calls(line)) {
          const auto parsed = cli::parse_command_line(words);
          const auto* call = std::get_if<cli::ParsedCall>(&parsed);
          if (call == nullptr) continue;
          std::string spelled;
          for (const std::string_view word : base::split(call->command->name, ' ')) {
            spelled += fmt::format("{}\"{}\"", spelled.empty() ? "" : ", ", word);
          }
          ++checked;
          EXPECT_TRUE(sources.contains(spelled)) << block.place() << ": " << line << ": " << block.not_run;
        }
      }
    }
  }
  EXPECT_GE(checked, 2);
}

// What cannot be executed says why; the list shows a reviewer what is not proved.
TEST(House, blocks_that_no_test_executes_are_listed) {
  std::string text = "blocks of commands that no test executes (tests/functional/docs_test.cpp), with the reason\n";
  for (const std::string& page : testing::doc_pages()) {
    for (const DocBlock& block : testing::read_doc_blocks(page)) {
      if (!block.is_commands() || block.not_run.empty()) continue;
      text += fmt::format("{}: `{}`: {}\n", page, block.commands().empty() ? "" : base::trim(block.commands().front()),
                          block.not_run);
    }
  }
  testing::expect_golden(testing::source_folder() / "tests/golden/blocks_not_run.txt", text);
}

}  // namespace
}  // namespace reeve
