#include "spec/schema.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "json/encode.h"
#include "spec/config_file.h"
#include "spec/pipelines_file.h"
#include "spec/workflow_file.h"
#include "spec/yaml.h"
#include "tests/support/engine/sample_files.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

// The schemas against an independent validator: they accept what the readers accept, and refuse every wrong key and
// kind of value.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using base::Value;
using spec::FileType;

std::shared_ptr<const spec::Source> source_of(std::string name, std::string text) {
  return std::make_shared<const spec::Source>(std::move(name), std::move(text));
}

std::optional<Value> read_yaml(const std::string& name, const std::string& text) {
  base::Problems problems;
  const auto document = spec::parse_yaml(source_of(name, text), problems);
  return document ? std::optional(spec::to_value(document->root)) : std::nullopt;
}

class SchemaCases {
 public:
  void add(const std::string& name, Value document, bool is_valid, bool may_lack_keys) {
    Value one = Value::object();
    one.set("name", Value::string(name));
    one.set("document", std::move(document));
    one.set("is_valid", Value::boolean(is_valid));
    one.set("may_lack_keys", Value::boolean(may_lack_keys));
    cases_.as_array()->push_back(std::move(one));
  }
  std::size_t size() const { return cases_.as_array()->size(); }

  // The cases that the schema judges wrongly, one per line.
  std::string run(FileType type) const {
    Value all = Value::object();
    all.set("schema", spec::make_schema(type));
    all.set("cases", cases_);
    const testing::Outcome outcome =
        testing::run_program({.argv = {(testing::source_folder() / "tests/contract/schema").string()},
                              .input = json::encode(all),
                              .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }

 private:
  Value cases_ = Value::array();
};

bool is_accepted(FileType type, const std::string& name, const std::string& text) {
  switch (type) {
    case FileType::workflow:
      return spec::parse_workflow(source_of(name, text)).has_value();
    case FileType::pipelines:
      return spec::parse_pipelines(source_of(name, text)).has_value();
    case FileType::config:
      return spec::parse_config({.user = source_of(name, text)}).has_value();
  }
  return false;
}

FileType type_of(const fs::path& file, const Value& document) {
  if (document.find("nodes") != nullptr) return FileType::workflow;
  return document.find("pipelines") != nullptr && file.filename() != "config.yaml" ? FileType::pipelines
                                                                                   : FileType::config;
}

class Schemas : public ::testing::TestWithParam<FileType> {};

TEST_P(Schemas, agree_with_the_tables_about_every_key) {
  SchemaCases cases;
  auto files = testing::sample_files(GetParam());
  const auto unknown = testing::files_with_unknown_keys(GetParam());
  files.insert(files.end(), unknown.begin(), unknown.end());
  for (const testing::SampleFile& file : files) {
    const auto document = read_yaml("sample.yaml", file.text);
    ASSERT_TRUE(document) << file.text;
    cases.add(file.text, *document, file.is_allowed, true);
  }
  EXPECT_EQ(cases.run(GetParam()), "");
}

TEST_P(Schemas, accept_every_file_that_reeve_accepts) {
  SchemaCases cases;
  for (const char* folder : {"examples", "tests/golden", "tests/fuzz/corpus"}) {
    for (const auto& entry : fs::recursive_directory_iterator(testing::source_folder() / folder)) {
      if (!entry.is_regular_file() || entry.path().extension() != ".yaml") continue;
      const std::string name = fs::relative(entry.path(), testing::source_folder()).string();
      const std::string text = testing::read_text(entry.path());
      const auto document = read_yaml(name, text);
      if (!document || document->is_null() || type_of(entry.path(), *document) != GetParam()) continue;
      if (is_accepted(GetParam(), name, text)) cases.add(name, *document, true, false);
    }
  }
  EXPECT_GE(cases.size(), 1);
  EXPECT_EQ(cases.run(GetParam()), "");
}

INSTANTIATE_TEST_SUITE_P(Files, Schemas, ::testing::Values(FileType::workflow, FileType::pipelines, FileType::config));

// What makes completion in an editor useful, beside the keys themselves.
TEST(Schema, names_required_keys_and_the_block_of_each_node_type) {
  SchemaCases cases;
  const auto add = [&](const std::string& text, bool is_valid) {
    cases.add(text, *read_yaml("workflow.yaml", text), is_valid, false);
  };
  const std::string head = "{id: a, name: a, entry_point: x, edges: [], nodes: [";
  add(head + "{id: x, type: gate, gate_config: {gate_type: t}}]}", true);
  add(head + "{id: x, type: merge}]}", true);
  add(head + "{id: x, type: gate}]}", false);
  add(head + "{id: x}]}", false);
  add(head + "{id: x, type: gate, gate_config: {}}]}", false);
  add(head + "{id: x, type: task, task_config: {role: r}, gate_config: {gate_type: t}}]}", false);
  add("{name: a, entry_point: x, edges: [], nodes: []}", false);
  EXPECT_EQ(cases.run(FileType::workflow), "");
}

// The command of a tool may be in another file than its time limit.
TEST(Schema, of_the_config_accepts_a_part_of_a_tool) {
  SchemaCases cases;
  cases.add("part", *read_yaml("config.yaml", "tools: {claude: {timeout: 1h}}"), true, false);
  cases.add("notify", *read_yaml("config.yaml", "notify: [{command: [true]}]"), false, false);
  EXPECT_EQ(cases.run(FileType::config), "");
}

}  // namespace
}  // namespace reeve
