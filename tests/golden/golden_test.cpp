#include <algorithm>
#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "graph/draw.h"
#include "spec/config_file.h"
#include "spec/pipelines_file.h"
#include "spec/workflow_file.h"
#include "tests/support/files.h"
#include "view/problem_text.h"

// Files as users might write them, and Reeve's exact error messages. REEVE_ACCEPT=1 accepts new ones.
namespace reeve {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(std::string_view folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(testing::source_folder() / "tests/golden" / folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string test_name(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
}

// The file name is shown without its folder, so that messages do not depend on where the repository is.
std::shared_ptr<const spec::Source> source_of(const fs::path& file) {
  return std::make_shared<const spec::Source>(file.filename().string(), testing::read_text(file));
}

void expect_words(const fs::path& file, const base::Problems& problems) {
  EXPECT_TRUE(problems.has_errors()) << "nothing is wrong with " << file;
  fs::path expected = file;
  testing::expect_golden(expected.replace_extension(".expected"),
                         fmt::format("{}{}.\n", view::problems_text(problems, {}), view::count_text(problems)));
}

bool is_trusted(const std::string&) { return true; }

class BrokenWorkflow : public ::testing::TestWithParam<fs::path> {};

// A project for files about roles, gates and subgraphs; the others ignore it.
const model::Config& project_config() {
  static const auto loaded = spec::parse_config(
      {.project = std::make_shared<const spec::Source>(
           "config.yaml", testing::read_text(testing::source_folder() / "tests/golden/project/config.yaml")),
       .is_trusted = is_trusted});
  EXPECT_TRUE(loaded);
  return loaded->config();
}

const spec::WorkflowCatalog& project_catalog() {
  static const spec::WorkflowCatalog catalog = [] {
    spec::WorkflowCatalog result;
    for (const fs::path& file : files_in("project/workflows")) result.add(file.stem().string(), source_of(file));
    return result;
  }();
  return catalog;
}

// GRF-1
TEST_P(BrokenWorkflow, errors_match_the_golden_file) {
  spec::WorkflowContext context{.config = nullptr, .catalog = project_catalog};
  if (GetParam().stem().string().starts_with("project-")) context.config = &project_config();
  const auto parsed = spec::parse_workflow(source_of(GetParam()), context);
  ASSERT_FALSE(parsed);
  expect_words(GetParam(), parsed.error());
}

INSTANTIATE_TEST_SUITE_P(Golden, BrokenWorkflow, ::testing::ValuesIn(files_in("flow")), test_name);

TEST(GoldenFiles, include_at_least_forty_broken_workflows) { EXPECT_GE(files_in("flow").size(), 40); }

class BrokenConfig : public ::testing::TestWithParam<fs::path> {};

TEST_P(BrokenConfig, errors_match_the_golden_file) {
  const auto parsed = spec::parse_config({.project = source_of(GetParam()), .is_trusted = is_trusted});
  ASSERT_FALSE(parsed);
  expect_words(GetParam(), parsed.error());
}

INSTANTIATE_TEST_SUITE_P(Golden, BrokenConfig, ::testing::ValuesIn(files_in("config")), test_name);

class BrokenPipelines : public ::testing::TestWithParam<fs::path> {};

// PIP-1
TEST_P(BrokenPipelines, errors_match_the_golden_file) {
  const auto parsed = spec::parse_pipelines(source_of(GetParam()), &project_config());
  ASSERT_FALSE(parsed);
  expect_words(GetParam(), parsed.error());
}

INSTANTIATE_TEST_SUITE_P(Golden, BrokenPipelines, ::testing::ValuesIn(files_in("pipelines")), test_name);

class Drawing : public ::testing::TestWithParam<fs::path> {};

// GRF-15
TEST_P(Drawing, output_matches_the_golden_files) {
  const auto parsed = spec::parse_workflow(source_of(GetParam()));
  ASSERT_TRUE(parsed) << view::problems_text(parsed.error(), {});
  const graph::Graph graph(parsed->workflow);
  const auto expect = [&](std::string_view ending, const std::string& text) {
    fs::path file = GetParam();
    testing::expect_golden(file.replace_extension(ending), text);
  };
  expect(".text", graph::draw_text(graph, {.ascii = false, .columns = 120}));
  expect(".ascii", graph::draw_text(graph, {.ascii = true, .columns = 120}));
  expect(".list", graph::draw_list(graph, {.ascii = false, .columns = 100}));
  expect(".mermaid", graph::draw_mermaid(graph));
  expect(".dot", graph::draw_dot(graph));
  for (const bool ascii : {true, false}) {
    for (const std::size_t columns : {40U, 80U, 120U}) {
      for (const std::string_view line :
           base::split(graph::draw_text(graph, {.ascii = ascii, .columns = columns}), '\n')) {
        EXPECT_LE(base::display_width(line), columns) << line;
        for (const std::string_view sign : {"│", "─", "┌", "┼", "▼", "◄", "→", "↺", "×", "∥", "…"}) {
          EXPECT_TRUE(!ascii || line.find(sign) == std::string_view::npos) << line;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Drawing, ::testing::ValuesIn(files_in("draw")), test_name);

}  // namespace
}  // namespace reeve
