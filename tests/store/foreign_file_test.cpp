#include "store/foreign_file.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/files.h"
#include "tests/support/old_database.h"
#include "tests/support/store/stores.h"

// STO-2: a file of another program is read but not trusted.
namespace reeve::store {
namespace {

namespace fs = std::filesystem;
using testing::code_of;
using ::testing::ElementsAre;
using testing::write_database;

class ForeignFileTest : public ::testing::Test {
 protected:
  fs::path make(std::string_view sql) const {
    fs::path file = scratch_.path() / "old.db";
    write_database(file, sql);
    return file;
  }
  static std::string open_code(const fs::path& path, const ForeignFile::Limits& limits = {}) {
    return code_of([&] { const ForeignFile file(path, {}, limits); });
  }
  static std::vector<std::string> read(ForeignFile& file, const std::string& table) {
    std::vector<std::string> found;
    file.scan(*file.find(table), [&](const ForeignRow& row) { found.emplace_back(row.value(0).bytes); });
    return found;
  }
  testing::ScratchFolder scratch_;
};

TEST_F(ForeignFileTest, rows_keep_their_value_types) {
  ForeignFile file(make("CREATE TABLE t (a TEXT, b INTEGER); INSERT INTO t VALUES ('x', 'not a number'), (NULL, 7), "
                        "(x'00ff', 1.5)"),
                   {});
  ASSERT_NE(file.find("T"), nullptr) << "in any case";
  std::vector<ForeignValue::Kind> kinds;
  file.scan(*file.find("t"), [&](const ForeignRow& row) {
    kinds.push_back(row.value(0).kind);
    kinds.push_back(row.value(1).kind);
  });
  using enum ForeignValue::Kind;
  EXPECT_THAT(kinds, ElementsAre(text, text, null, integer, blob, real));
}

TEST_F(ForeignFileTest, files_that_are_not_databases_get_specific_errors) {
  const fs::path folder = scratch_.path();
  EXPECT_EQ(open_code(folder / "none.db"), "import.not_found");
  EXPECT_EQ(open_code(folder), "import.unreadable");
  EXPECT_EQ(open_code(scratch_.write("empty.db", "")), "import.not_a_database");
  EXPECT_EQ(open_code(scratch_.write("text.db", std::string(5'000, 'x'))), "import.not_a_database");
  EXPECT_EQ(open_code(scratch_.write("head.db", "SQLite format 3")), "import.not_a_database");
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(open_code(pipe), "import.unreadable") << "and nobody is waited for";
}

TEST_F(ForeignFileTest, damaged_file_is_reported) {
  std::string rows = "CREATE TABLE t (a TEXT);";
  for (int i = 0; i < 2'000; ++i) rows += "INSERT INTO t VALUES ('" + std::string(100, 'x') + "');";
  const fs::path path = make("BEGIN;" + rows + "COMMIT;");
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4'096 * 3);
  file << std::string(4'096 * 10, '\xa5');
  file.close();
  EXPECT_EQ(code_of([&] {
              ForeignFile damaged(path, {});
              read(damaged, "t");
            }),
            "import.damaged");
}

// Views, virtual tables and generated columns are not read; triggers never run because nothing is written.
TEST_F(ForeignFileTest, views_triggers_and_generated_columns_are_not_used) {
  const fs::path path = make(
      "CREATE TABLE real (a TEXT, b TEXT GENERATED ALWAYS AS (a || 'computed') VIRTUAL);"
      "CREATE VIEW tool_runs AS SELECT a FROM real;"
      "CREATE VIRTUAL TABLE approvals USING fts5(a);"
      "CREATE TRIGGER t AFTER INSERT ON real BEGIN DELETE FROM real; END;");
  ForeignFile file(path, {});
  EXPECT_EQ(file.find("tool_runs"), nullptr);
  EXPECT_EQ(file.find("approvals"), nullptr);
  EXPECT_THAT(file.others(), ElementsAre("tool_runs", "approvals"));
  ASSERT_NE(file.find("real"), nullptr);
  EXPECT_THAT(file.find("real")->columns, ElementsAre("a"));
}

// The file and its folder are unchanged: no WAL, no journal.
TEST_F(ForeignFileTest, reading_leaves_nothing_behind) {
  const fs::path path = make("PRAGMA journal_mode = WAL; CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x')");
  const std::string before = testing::read_text(path);
  {
    ForeignFile file(path, {});
    EXPECT_THAT(read(file, "t"), ElementsAre("x"));
  }
  EXPECT_EQ(testing::read_text(path), before);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(scratch_.path())) names.push_back(entry.path().filename());
  EXPECT_THAT(names, ElementsAre("old.db"));
}

// Rows in the WAL of a program that uses the file, or that died, are read too.
TEST_F(ForeignFileTest, rows_in_the_wal_are_read) {
  const fs::path path = make("PRAGMA journal_mode = WAL; CREATE TABLE t (a TEXT)");
  const testing::ScratchFolder other;
  {
    const testing::OpenDatabase open(path, "INSERT INTO t VALUES ('late')");
    fs::copy_file(path, other.path() / "old.db");
    fs::copy_file(path.string() + "-wal", other.path() / "old.db-wal");
    ForeignFile file(path, {});
    EXPECT_THAT(read(file, "t"), ElementsAre("late"));
  }
  ForeignFile left(other.path() / "old.db", {});
  EXPECT_THAT(read(left, "t"), ElementsAre("late"));
}

TEST_F(ForeignFileTest, size_limits_are_enforced) {
  const fs::path path =
      make("CREATE TABLE t (a TEXT); CREATE TABLE u (a TEXT); INSERT INTO t VALUES (zeroblob(3000000))");
  EXPECT_EQ(open_code(path, {.file_bytes = 1'000}), "import.too_large");
  EXPECT_EQ(open_code(path, {.tables = 1}), "import.too_large");
  EXPECT_EQ(code_of([&] {
              ForeignFile file(path, {}, {.row_bytes = 1'000'000});
              read(file, "t");
            }),
            "import.too_large");
}

TEST_F(ForeignFileTest, slow_scan_is_interrupted) {
  std::string rows = "CREATE TABLE t (a INTEGER);";
  for (int i = 0; i < 5'000; ++i) rows += "INSERT INTO t VALUES (" + std::to_string(i) + ");";
  const fs::path path = make("BEGIN;" + rows + "COMMIT;");
  const auto look = [&](ForeignFile& file) {
    const ForeignTable& table = *file.find("t");
    for (std::int64_t i = 0; i < 1'000; ++i) {
      file.scan(table, {.column = "a", .value = {.kind = ForeignValue::Kind::integer, .integer = i}},
                [](const ForeignRow&) {});
    }
  };
  EXPECT_EQ(code_of([&] {
              ForeignFile file(path, {}, {.steps = 1'000'000});
              look(file);
            }),
            "import.too_slow");
  EXPECT_EQ(code_of([&] {
              ForeignFile file(path, [] { return true; });
              look(file);
            }),
            "import.stopped");
}

}  // namespace
}  // namespace reeve::store
