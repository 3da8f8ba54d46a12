#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "base/enum.h"
#include "base/text.h"
#include "model/event.h"
#include "runtime/event_filter.h"
#include "tests/support/files.h"

// Checks that keep the house in order. They read the repository as text.
namespace reeve {
namespace {

namespace fs = std::filesystem;

struct SourceFile {
  // From the repository's folder.
  std::string name;
  std::string text;
};

std::vector<SourceFile> read_sources(const std::vector<std::string>& folders, const std::set<std::string>& endings) {
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(testing::source_folder() / folder)) {
      if (!entry.is_regular_file() || !endings.contains(entry.path().extension().string())) continue;
      const std::string name = fs::relative(entry.path(), testing::source_folder()).string();
      files.push_back({name, testing::read_text(entry.path())});
    }
  }
  std::ranges::sort(files, {}, &SourceFile::name);
  return files;
}

const std::vector<SourceFile>& code_files() {
  static const std::vector<SourceFile> files = read_sources({"src", "tests", "bench"}, {".cpp", ".h"});
  return files;
}

std::vector<SourceFile> shipped_code() {
  std::vector<SourceFile> files = code_files();
  std::erase_if(
      files, [](const SourceFile& file) { return !file.name.starts_with("src/") || file.name.ends_with("_test.cpp"); });
  return files;
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (const std::string_view cell : base::split(line, '|')) cells.emplace_back(base::trim(cell));
  return cells;
}

struct Layer {
  int level;
  std::set<std::string> may_use;
};

// The table of docs/ARCHITECTURE.md.
std::map<std::string, Layer> read_layers() {
  std::map<std::string, Layer> layers;
  const std::string document = testing::read_text(testing::source_folder() / "docs/ARCHITECTURE.md");
  for (const std::string_view line : base::split(document, '\n')) {
    const std::vector<std::string> cells = cells_of(line);
    const bool is_layer = cells.size() == 6 && cells[2].starts_with('`') && base::is_ascii_digit((cells[1] + " ")[0]);
    if (!is_layer) continue;
    Layer layer{std::stoi(cells[1]), {}};
    for (const std::string_view name : base::split(cells[4], ',')) {
      if (base::trim(name) != "–") layer.may_use.emplace(base::trim(name));
    }
    layers.emplace(cells[2].substr(1, cells[2].size() - 2), std::move(layer));
  }
  return layers;
}

std::vector<std::string> includes_of(const SourceFile& file) {
  std::vector<std::string> includes;
  // Either spelling: `<spec/yaml.h>` finds the same file.
  constexpr std::string_view directive = "#include ";
  for (const std::string_view line : base::split(file.text, '\n')) {
    if (!line.starts_with(directive) || line.size() < directive.size() + 2) continue;
    const std::string_view rest = line.substr(directive.size() + 1);
    includes.emplace_back(rest.substr(0, rest.find_first_of("\">")));
  }
  return includes;
}

std::string folder_of(std::string_view path) { return std::string(path.substr(0, path.find('/'))); }

TEST(House, layers_stand_on_lower_levels_only) {
  const auto layers = read_layers();
  EXPECT_GE(layers.size(), 10);
  for (const auto& [name, layer] : layers) {
    for (const std::string& used : layer.may_use) {
      ASSERT_TRUE(layers.contains(used)) << name << " names " << used << ", which is no layer";
      EXPECT_LT(layers.at(used).level, layer.level) << name << " → " << used;
    }
  }
}

TEST(House, layers_include_only_what_the_table_allows) {
  const auto layers = read_layers();
  std::set<std::string> seen;
  for (const SourceFile& file : code_files()) {
    if (!file.name.starts_with("src/")) continue;
    const std::string layer = folder_of(std::string_view(file.name).substr(4));
    ASSERT_TRUE(layers.contains(layer)) << file.name << ": src/" << layer
                                        << " is not in the table of docs/ARCHITECTURE.md";
    seen.insert(layer);
    // Tests beside the code may look at everything.
    if (file.name.ends_with("_test.cpp")) continue;
    for (const std::string& include : includes_of(file)) {
      const std::string used = folder_of(include);
      const bool is_ours = layers.contains(used) || include.starts_with("tests/");
      if (!is_ours) continue;
      EXPECT_TRUE(used == layer || layers.at(layer).may_use.contains(used)) << file.name << " includes " << include;
    }
  }
  for (const auto& [name, _] : layers) EXPECT_TRUE(seen.contains(name)) << name << " is in the table but has no code";
}

// DESIGN: `base` knows no Boost; only one file each knows CLI11, libfyaml and RE2.
TEST(House, libraries_stay_where_they_belong) {
  const std::map<std::string, std::set<std::string>> homes = {
      {"<boost/",
       {"src/json/", "src/model/", "src/runtime/loop.cpp", "src/server/http", "src/server/tls.cpp",
        "src/client/http.cpp"}},
      {"<openssl/", {"src/client/tls.cpp"}},
      {"<CLI/", {"src/cli/command_line.cpp"}},
      {"<libfyaml.h>", {"src/spec/yaml.cpp"}},
      {"<re2/", {"src/spec/config_check.cpp", "src/runtime/tool_line"}},
      {"<simdjson.h>", {"src/runtime/tool_line"}},
      {"<sodium.h>", {"src/base/hash.cpp"}},
      {"<vterm.h>", {"src/term/screen.cpp"}},
      {"<sqlite3.h>", {"src/store/sqlite.cpp", "src/store/foreign_file.cpp", "src/store/file_check.cpp"}},
      {"<libpq-fe.h>", {"src/store/libpq.h"}},
  };
  for (const SourceFile& file : code_files()) {
    if (!file.name.starts_with("src/") || file.name.ends_with("_test.cpp")) continue;
    for (const auto& [header, places] : homes) {
      if (file.text.find("#include " + header) == std::string::npos) continue;
      EXPECT_TRUE(std::ranges::any_of(places, [&](const std::string& place) { return file.name.starts_with(place); }))
          << file.name << " includes " << header;
    }
  }
}

TEST(House, no_file_is_longer_than_800_lines) {
  constexpr std::ptrdiff_t most = 800;
  for (const SourceFile& file :
       read_sources({"src", "tests", "bench", "cmake", "docs"}, {".cpp", ".h", ".cmake", ".txt", ".md"})) {
    EXPECT_LE(std::ranges::count(file.text, '\n'), most) << file.name;
  }
  EXPECT_LE(std::ranges::count(testing::read_text(testing::source_folder() / "dev"), '\n'), most);
}

TEST(House, files_are_well_formed) {
  for (const SourceFile& file : code_files()) {
    if (file.name.ends_with(".h")) EXPECT_TRUE(file.text.starts_with("#pragma once\n")) << file.name;
    EXPECT_TRUE(file.text.ends_with('\n')) << file.name;
    EXPECT_EQ(file.text.find('\t'), std::string::npos) << file.name << " has a tab";
    EXPECT_EQ(file.text.find("\r"), std::string::npos) << file.name << " has a carriage return";
  }
}

TEST(House, nothing_unfinished_is_called_done) {
  for (const SourceFile& file : code_files()) {
    // Spelled apart, so that this file does not find itself.
    for (const std::string word : {"TO"
                                   "DO",
                                   "FIX"
                                   "ME",
                                   "XX"
                                   "X "}) {
      EXPECT_EQ(file.text.find(word), std::string::npos) << file.name << " has " << word;
    }
  }
}

// STO-2: whoever imports can read beforehand which of their columns count.
TEST(House, every_column_that_an_import_reads_is_documented) {
  const std::string documented = testing::read_text(testing::source_folder() / "docs/IMPORT.md");
  const std::regex pick(R"re(columns\.pick\(\{([^}]*)\}\))re");
  const std::regex name(R"re("([a-z_]+)")re");
  std::set<std::string> names;
  for (const SourceFile& file : code_files()) {
    if (!file.name.starts_with("src/server/import_") || file.name.ends_with("_test.cpp")) continue;
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), pick), end; it != end; ++it) {
      const std::string list = (*it)[1];
      for (std::sregex_iterator word(list.begin(), list.end(), name); word != end; ++word) names.insert((*word)[1]);
    }
  }
  EXPECT_GE(names.size(), 60);
  for (const std::string& column : names) {
    EXPECT_NE(documented.find("`" + column + "`"), std::string::npos) << column << " is not in docs/IMPORT.md";
  }
}

// `run` of `run.not_found`: everything that a failure is made with somewhere, so that a new area needs no entry here.
std::set<std::string> areas_of_errors() {
  const std::regex failure(R"re(\b(?:Error|throw_errno|fail)\([^";]*"([a-z_]+)\.[a-z_0-9]+")re");
  std::set<std::string> areas;
  for (const SourceFile& file : shipped_code()) {
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), failure), end; it != end; ++it) {
      areas.insert((*it)[1]);
    }
  }
  return areas;
}

struct CodeInSource {
  std::string code;
  std::string file;
};

std::vector<CodeInSource> codes_in_source() {
  const std::set<std::string> areas = areas_of_errors();
  const std::set<std::string> files = {"config.yaml", "http.token"};
  const std::regex literal(R"re("([a-z_]+)(\.[a-z_0-9]+)")re");
  std::vector<CodeInSource> codes;
  for (const SourceFile& file : shipped_code()) {
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), literal), end; it != end; ++it) {
      const std::string area = (*it)[1];
      const std::string code = area + (*it)[2].str();
      // Places where a test may let the program die are named alike.
      const bool is_crash_point = it->prefix().str().ends_with("crash_point(");
      if (areas.contains(area) && !files.contains(code) && !is_crash_point) codes.push_back({code, file.name});
    }
  }
  return codes;
}

// Every code that a person may see is in the documentation: those in the source, and those made of an area and a word,
// which the golden files show.
TEST(House, every_error_code_is_documented) {
  const std::string documented = testing::read_text(testing::source_folder() / "docs/ERRORS.md");
  std::set<std::string> codes;
  for (const auto& entry : fs::recursive_directory_iterator(testing::source_folder() / "tests/golden")) {
    if (entry.path().extension() != ".expected") continue;
    for (const std::string_view line : base::split(testing::read_text(entry.path()), '\n')) {
      const std::size_t start = line.starts_with("error[") ? 6 : line.starts_with("warning[") ? 8 : 0;
      if (start > 0) codes.emplace(line.substr(start, line.find(']') - start));
    }
  }
  for (const CodeInSource& found : codes_in_source()) codes.insert(found.code);
  EXPECT_GE(codes.size(), 250);
  for (const std::string& code : codes) {
    EXPECT_NE(documented.find("`" + code + "`"), std::string::npos) << code << " is not in docs/ERRORS.md";
  }
}

// A subscriber is warned of names that are never sent: so they must be exactly those that nothing tells of.
TEST(House, events_that_are_said_to_be_never_sent_are_told_nowhere) {
  std::set<std::string> told = {"tool_output"};
  const std::regex tell(R"re(\btell\(model::EventKind::([a-z_]+))re");
  for (const SourceFile& file : shipped_code()) {
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), tell), end; it != end; ++it) told.insert((*it)[1]);
  }
  for (const auto& [kind, name] : base::names_of<model::EventKind>()) {
    EXPECT_EQ(runtime::is_sent(kind), told.contains(std::string(name))) << name;
  }
}

// An operation that promises a code which nothing throws sends its readers after a case that does not exist.
TEST(House, every_error_code_of_an_operation_is_thrown) {
  std::set<std::string> thrown;
  std::set<std::string> promised;
  for (const CodeInSource& found : codes_in_source()) {
    (found.file.starts_with("src/server/operations_") ? promised : thrown).insert(found.code);
  }
  EXPECT_GE(promised.size(), 50);
  for (const std::string& code : promised) EXPECT_TRUE(thrown.contains(code)) << code << " is promised, never thrown";
}

}  // namespace
}  // namespace reeve
