#include "spec/key_table.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "model/config.h"
#include "model/pipeline.h"
#include "model/workflow.h"
#include "spec/bind.h"
#include "spec/key_help.h"
#include "spec/yaml.h"
#include "tests/support/engine/sample_files.h"
#include "tests/support/files.h"
#include "view/problem_text.h"

// The tables and the Binder must agree about every key.
namespace reeve::spec {
namespace {

using testing::SampleFile;

template <class Model>
base::Problems problems_of(const std::string& text, const FileCodes& codes) {
  base::Problems problems;
  const auto document = parse_yaml(std::make_shared<const Source>("sample.yaml", text), problems);
  if (!document) return problems;
  Model value;
  Binder(codes, problems, Binder::Required::ignore).bind(document->root, value);
  return problems;
}

base::Problems problems_of(FileType type, const std::string& text) {
  switch (type) {
    case FileType::workflow:
      return problems_of<model::Workflow>(text, flow_codes);
    case FileType::pipelines:
      return problems_of<model::Pipelines>(text, pipeline_codes);
    case FileType::config:
      return problems_of<model::Config>(text, config_codes);
  }
  return {};
}

class KeyTable : public ::testing::TestWithParam<FileType> {};

TEST_P(KeyTable, values_of_every_key_are_those_that_the_reader_accepts) {
  const auto files = testing::sample_files(GetParam());
  EXPECT_GE(files.size(), 50);
  for (const SampleFile& file : files) {
    const base::Problems problems = problems_of(GetParam(), file.text);
    EXPECT_EQ(!problems.has_errors(), file.is_allowed) << file.text << "\n" << view::problems_text(problems, {});
  }
}

TEST_P(KeyTable, blocks_have_no_keys_beside_those_of_the_table) {
  for (const SampleFile& file : testing::files_with_unknown_keys(GetParam())) {
    const base::Problems problems = problems_of(GetParam(), file.text);
    ASSERT_EQ(problems.errors(), 1) << file.text;
    const std::string& allowed = problems.list().front().allowed;
    if (allowed.empty()) continue;
    std::vector<std::string> names;
    visit_keys(file_form(GetParam()), [&](const std::string& path, const KeyEntry& key) {
      const std::string expected = file.path.empty() ? key.name : fmt::format("{}.{}", file.path, key.name);
      if (path == expected) names.push_back(key.name);
    });
    EXPECT_EQ(allowed, base::join(names, ", ")) << file.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, KeyTable, ::testing::Values(FileType::workflow, FileType::pipelines, FileType::config));

// The list stays empty: a new key needs a sentence, and a sentence needs its key.
TEST(KeyHelpTable, has_a_sentence_for_every_key) {
  std::string text = "keys without a sentence in spec/key_help.cpp, and sentences without a key\n";
  for (const FileType type : {FileType::workflow, FileType::pipelines, FileType::config}) {
    std::vector<std::string> paths;
    visit_keys(file_form(type), [&](const std::string& path, const KeyEntry& key) {
      paths.push_back(path);
      if (find_key_help(type, path).empty()) text += fmt::format("key {}\n", path);
      std::string at = path;
      for (const ValueForm* form = &key.form; form != nullptr; form = form->items.get()) {
        for (const std::string& word : form->words) paths.push_back(fmt::format("{}={}", path, word));
        at = path_of_items(*form, at);
        paths.push_back(at);
      }
    });
    for (const KeyHelp& row : all_key_help(type)) {
      if (std::ranges::find(paths, row.path) == paths.end()) text += fmt::format("sentence {}\n", row.path);
    }
  }
  testing::expect_golden(testing::source_folder() / "tests/golden/keys_without_help.txt", text);
}

TEST(KeyTableText, describes_values_and_defaults) {
  const auto find = [](FileType type, std::string_view wanted) {
    KeyEntry found;
    visit_keys(file_form(type), [&](const std::string& path, const KeyEntry& key) {
      if (path == wanted) found = key;
    });
    return found;
  };
  const KeyEntry timeout = find(FileType::config, "tools.*.timeout");
  EXPECT_EQ(describe_form(timeout.form), "a duration or `off`");
  EXPECT_EQ(format_default(timeout.fallback), "30m");
  EXPECT_TRUE(find(FileType::config, "tools.*.command").is_required);
  EXPECT_EQ(describe_form(find(FileType::config, "worktree.setup").form), "a list of lists of texts");
  EXPECT_EQ(describe_form(find(FileType::config, "tools.*.on_stall").form), "`mark` or `kill`");
  const KeyEntry on = find(FileType::workflow, "nodes[].task_config.retry.on");
  EXPECT_EQ(describe_form(on.form), "a list of `failed` or `failed_timeout`");
  EXPECT_EQ(format_default(on.fallback), "[failed, failed_timeout]");
}

}  // namespace
}  // namespace reeve::spec
