#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "base/enum.h"
#include "base/error_code.h"
#include "base/text.h"
#include "model/event.h"
#include "runtime/events/event_filter.h"
#include "server/resources/contract.h"
#include "tests/support/files.h"

// Checks of the repository's own rules. They read the sources as text.
namespace reeve {
namespace {

namespace fs = std::filesystem;

struct SourceFile {
  // Relative to the repository.
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

// The layer table of docs/ARCHITECTURE.md.
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

// The rooms in the order of the table.
std::vector<std::string> read_room_order() {
  std::vector<std::string> order;
  const std::string document = testing::read_text(testing::source_folder() / "docs/ARCHITECTURE.md");
  for (const std::string_view line : base::split(document, '\n')) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != 6 || !cells[2].starts_with('`') || !cells[2].contains('/')) continue;
    order.push_back(cells[2].substr(1, cells[2].size() - 2));
  }
  return order;
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

// A row for a room, a folder inside a layer: `runtime/loop`, or `cli/*` for the files directly in the layer's folder.
bool is_room(std::string_view name) { return name.contains('/'); }

// "runtime/loop" for runtime/loop/loop.h, "runtime/*" for runtime/daemon.h.
std::string room_of(std::string_view path) {
  const std::size_t layer = path.find('/');
  const std::size_t room = path.find('/', layer + 1);
  return std::string(room == std::string_view::npos ? path.substr(0, layer) : path.substr(0, room)) +
         (room == std::string_view::npos ? "/*" : "");
}

TEST(House, layers_use_only_lower_layers) {
  const auto layers = read_layers();
  EXPECT_GE(layers.size(), 10);
  for (const auto& [name, layer] : layers) {
    if (is_room(name)) continue;
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
    // Unit tests may include everything.
    if (file.name.ends_with("_test.cpp")) continue;
    for (const std::string& include : includes_of(file)) {
      const std::string used = folder_of(include);
      const bool is_ours = layers.contains(used) || include.starts_with("tests/");
      if (!is_ours) continue;
      EXPECT_TRUE(used == layer || layers.at(layer).may_use.contains(used)) << file.name << " includes " << include;
    }
  }
  for (const auto& [name, _] : layers) {
    EXPECT_TRUE(is_room(name) || seen.contains(name)) << name << " is in the table but has no code";
  }
}

// Within a layer, a room includes only the rooms of its row, and each of those stands above it in the table: no cycles.
TEST(House, rooms_include_only_earlier_rooms_of_their_row) {
  const auto layers = read_layers();
  const std::vector<std::string> order = read_room_order();
  std::set<std::string> seen;
  for (const SourceFile& file : code_files()) {
    if (!file.name.starts_with("src/")) continue;
    const std::string_view path = std::string_view(file.name).substr(4);
    const std::string layer = folder_of(path);
    const std::string room = room_of(path);
    const bool has_rooms = std::ranges::any_of(order, [&](const std::string& one) { return folder_of(one) == layer; });
    EXPECT_TRUE(has_rooms || room == layer + "/*") << file.name << " is in a room that has no row";
    if (!has_rooms) continue;
    ASSERT_TRUE(layers.contains(room)) << file.name << ": " << room << " has no row in docs/ARCHITECTURE.md";
    seen.insert(room);
    if (file.name.ends_with("_test.cpp")) continue;
    for (const std::string& include : includes_of(file)) {
      if (folder_of(include) != layer || room_of(include) == room) continue;
      const std::string used = room_of(include);
      EXPECT_TRUE(layers.at(room).may_use.contains(used.substr(layer.size() + 1)))
          << file.name << " includes " << include;
      EXPECT_LT(std::ranges::find(order, used), std::ranges::find(order, room)) << room << " stands above " << used;
    }
  }
  for (const std::string& room : order) EXPECT_TRUE(seen.contains(room)) << room << " is in the table but has no code";
}

// DESIGN: `base` does not use Boost; CLI11, libfyaml and RE2 are each used in one file only.
TEST(House, libraries_are_included_only_where_allowed) {
  const std::map<std::string, std::set<std::string>> homes = {
      {"<boost/",
       {"src/json/", "src/model/", "src/runtime/loop/loop.cpp", "src/server/http/", "src/server/http/tls.cpp",
        "src/client/http.cpp"}},
      {"<openssl/", {"src/client/tls.cpp"}},
      {"<CLI/", {"src/cli/command_line.cpp"}},
      {"<libfyaml.h>", {"src/spec/yaml.cpp"}},
      {"<re2/", {"src/spec/config_check.cpp", "src/runtime/output/tool_line", "src/runtime/tools/search_files.cpp"}},
      {"<simdjson.h>", {"src/runtime/output/tool_line"}},
      {"<sodium.h>", {"src/base/base64.cpp", "src/base/hash.cpp", "src/base/random.cpp", "src/base/sha256_stream.cpp"}},
      {"<vterm.h>", {"src/term/screen.cpp"}},
      {"<sqlite3.h>",
       {"src/store/sqlite.cpp", "src/store/foreign_file.cpp", "src/store/file_check.cpp", "src/store/snapshot.cpp"}},
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
    // Generated, and read by searching in it.
    if (file.name == "docs/CLI.md") continue;
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

TEST(House, no_file_has_unfinished_markers) {
  for (const SourceFile& file : code_files()) {
    // Split, so that this file does not match itself.
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

// STO-2: users can read beforehand which of their columns are imported.
TEST(House, every_imported_column_is_documented) {
  const std::string documented = testing::read_text(testing::source_folder() / "docs/IMPORT.md");
  const std::regex pick(R"re(columns\.pick\(\{([^}]*)\}\))re");
  const std::regex name(R"re("([a-z_]+)")re");
  std::set<std::string> names;
  for (const SourceFile& file : code_files()) {
    if (!file.name.starts_with("src/import/") || file.name.ends_with("_test.cpp")) continue;
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

// `ErrorCode::…` in these sources.
std::set<std::string> codes_named_in(const std::vector<SourceFile>& files) {
  const std::regex enumerator(R"re(\bErrorCode::([a-z_0-9]+))re");
  std::set<std::string> names;
  for (const SourceFile& file : files) {
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), enumerator), end; it != end; ++it) {
      names.insert((*it)[1]);
    }
  }
  return names;
}

std::string enumerator_of(base::ErrorCode code) {
  std::string name(base::spell(code));
  std::ranges::replace(name, '.', '_');
  return name;
}

// A code that nothing reports has no place in base/errors.def.
TEST(House, every_error_code_is_used) {
  const std::set<std::string> used = codes_named_in(shipped_code());
  for (const base::ErrorRow& row : base::error_rows()) {
    EXPECT_TRUE(used.contains(enumerator_of(row.code))) << row.spelling;
  }
}

// An operation must not declare a code that nothing throws.
TEST(House, every_error_code_of_an_operation_is_thrown) {
  const std::regex promises(R"re(\.errors = \{[^}]*\})re");
  std::vector<SourceFile> files = shipped_code();
  for (SourceFile& file : files) file.text = std::regex_replace(file.text, promises, "");
  const std::set<std::string> thrown = codes_named_in(files);
  std::set<base::ErrorCode> promised;
  for (const server::Operation& operation : server::contract().operations) {
    promised.insert(operation.errors.begin(), operation.errors.end());
  }
  EXPECT_GE(promised.size(), 50);
  for (const base::ErrorCode code : promised) {
    EXPECT_TRUE(thrown.contains(enumerator_of(code))) << base::spell(code) << " is promised, never thrown";
  }
}

// Subscribers are warned about names that are never sent, so the list must be exactly the events that no code emits.
TEST(House, events_listed_as_never_sent_are_sent_nowhere) {
  std::set<std::string> told = {"tool_output"};
  const std::regex tell(R"re(\btell\(model::EventKind::([a-z_]+))re");
  for (const SourceFile& file : shipped_code()) {
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), tell), end; it != end; ++it) told.insert((*it)[1]);
  }
  for (const auto& [kind, name] : base::names_of<model::EventKind>()) {
    EXPECT_EQ(runtime::is_sent(kind), told.contains(std::string(name))) << name;
  }
}

// STYLE, "Words": the marks of prose that a reader stumbles over, in messages, help and documents.
TEST(House, messages_and_documents_use_plain_words) {
  const std::regex odd(
      R"(\b(anew|whoever|whomever|is no (?!longer|more\b)[a-z`]\w*|goes on|go on with|counts no more|of its own accord|is told|are told|none of ours)\b)",
      std::regex::icase);
  const auto expect_plain = [&](const std::string& where, const std::string& text) {
    std::smatch found;
    // "There is no X" is plain; "X is no Y" is not.
    const std::string judged = std::regex_replace(text, std::regex("[Tt]here is no "), "");
    if (std::regex_search(judged, found, odd)) {
      ADD_FAILURE() << where << ": \"" << found.str() << "\" in: " << text.substr(0, 160);
    }
  };
  const std::regex literal(R"re("((?:[^"\\\n]|\\.)*)")re");
  for (const SourceFile& file : shipped_code()) {
    for (const std::string_view line : base::split(file.text, '\n')) {
      if (base::trim(line).starts_with("//")) continue;
      const std::string text(line);
      for (std::sregex_iterator found(text.begin(), text.end(), literal), end; found != end; ++found) {
        expect_plain(file.name, (*found)[1].str());
      }
    }
  }
  for (const SourceFile& file : read_sources({"docs", "examples"}, {".md"})) {
    EXPECT_FALSE(file.text.contains("«")) << file.name << ": use straight quotes or `code`";
    for (const std::string_view line : base::split(file.text, '\n')) expect_plain(file.name, std::string(line));
  }
  for (const char* name : {"README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"}) {
    const std::string text = testing::read_text(testing::source_folder() / name);
    for (const std::string_view line : base::split(text, '\n')) expect_plain(name, std::string(line));
  }
}

// A newcomer reads these two first.
TEST(House, the_first_pages_are_short) {
  const auto lines = [](const char* name) {
    return std::ranges::count(testing::read_text(testing::source_folder() / name), '\n');
  };
  EXPECT_LE(lines("README.md"), 160);
  EXPECT_LE(lines("docs/ARCHITECTURE.md"), 200);
}

}  // namespace
}  // namespace reeve
