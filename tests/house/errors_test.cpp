#include <map>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error_code.h"
#include "base/text.h"
#include "cli/exit_code.h"
#include "client/refusal.h"
#include "tests/support/files.h"
#include "wire/problem.h"

// What is generated from base/errors.def and the table of exit codes: the tables of docs/ERRORS.md.
namespace reeve {
namespace {

using base::ErrorCode;

enum class Columns { means, exit, http_and_exit };

base::Error made(ErrorCode code) { return {code, ""}; }

// Errors of the daemon exit by their HTTP status. In the section on the command line, those without a status of their
// own are detected by the client.
int shown_exit(ErrorCode code, Columns columns) {
  const int status = wire::http_status(made(code));
  const bool is_local = columns == Columns::exit && status == 500;
  const auto exit =
      is_local ? cli::exit_code_of(made(code)) : cli::exit_code_of(client::Refusal(made(code), status, base::Value()));
  return static_cast<int>(exit);
}

// The tables by the heading above them.
class ErrorTables {
 public:
  void section(std::string_view title, Columns columns) {
    columns_ = columns;
    table_ = &tables_[std::string(title)];
    switch (columns) {
      case Columns::means:
        *table_ = "| code | means |\n|---|---|\n";
        break;
      case Columns::exit:
        *table_ = "| code | exit | means |\n|---|---|---|\n";
        break;
      case Columns::http_and_exit:
        *table_ = "| code | HTTP | exit | means |\n|---|---|---|---|\n";
        break;
    }
  }

  void row(ErrorCode code, int status, std::string_view means) {
    const std::string name = fmt::format("`{}`", base::spell(code));
    const std::string numbers = numbers_of(code, status);
    if (means.empty()) {
      EXPECT_EQ(numbers, numbers_) << name << " shares its row with a code of another status or exit code";
      table_->insert(names_end_, ", " + name);
      names_end_ += name.size() + 2;
      return;
    }
    numbers_ = numbers;
    *table_ += "| " + name;
    names_end_ = table_->size();
    *table_ += fmt::format(" |{} {} |\n", numbers, means);
  }

  void exit_codes(std::string_view title) {
    std::string& table = tables_[std::string(title)];
    table = "| exit code | means |\n|---|---|\n";
    for (const cli::ExitMeaning& row : cli::exit_meanings())
      table += fmt::format("| {} | {} |\n", row.code, row.meaning);
  }

  const std::map<std::string, std::string>& all() const { return tables_; }

 private:
  std::string numbers_of(ErrorCode code, int status) const {
    if (columns_ == Columns::means) return "";
    const std::string exit = status == 0 ? " – |" : fmt::format(" {} |", shown_exit(code, columns_));
    if (columns_ == Columns::exit) return exit;
    return status == 0 ? " – |" + exit : fmt::format(" {} |{}", status, exit);
  }

  std::map<std::string, std::string> tables_;
  std::string* table_ = nullptr;
  Columns columns_ = Columns::means;
  std::string numbers_;
  std::size_t names_end_ = 0;
};

ErrorTables make_tables() {
  ErrorTables tables;
  tables.exit_codes("Exit codes");
#define REEVE_ERROR_SECTION(title, columns) tables.section(title, Columns::columns);
#define REEVE_ERROR(area, word, status, exit, means) tables.row(ErrorCode::area##_##word, status, means);
#include "base/errors.def"
  return tables;
}

// The prose between the tables is written in docs/ERRORS.md itself.
TEST(House, error_tables_of_the_documentation_are_generated) {
  const ErrorTables tables = make_tables();
  const auto file = testing::source_folder() / "docs/ERRORS.md";
  std::set<std::string> placed;
  std::string heading;
  std::string page;
  const std::string present = testing::read_text(file);
  for (const std::string_view line : base::split(std::string_view(present).substr(0, present.size() - 1), '\n')) {
    if (line.starts_with("## ")) heading = line.substr(3);
    const auto table = line.starts_with('|') ? tables.all().find(heading) : tables.all().end();
    if (table == tables.all().end()) {
      page += fmt::format("{}\n", line);
    } else if (placed.insert(heading).second) {
      page += table->second;
    }
  }
  for (const auto& [title, _] : tables.all())
    EXPECT_TRUE(placed.contains(title)) << title << " has no table to replace";
  testing::expect_golden(file, page);
}

// Scripts depend on them, so a change must be seen.
TEST(House, statuses_and_exit_codes_of_errors_stay) {
  std::map<std::string, std::string> lines;
  const auto add = [&](ErrorCode code) {
    const std::string name(base::spell(code));
    lines[name] =
        fmt::format("{} {} {}\n", name, wire::http_status(made(code)), static_cast<int>(cli::exit_code_of(made(code))));
  };
// Problems have neither.
#define REEVE_PROBLEM(area, word, means)
#define REEVE_ERROR(area, word, status, exit, means) add(ErrorCode::area##_##word);
#include "base/errors.def"
  std::string all = "code, HTTP status, exit code if the client itself detects it\n";
  for (const auto& [_, line] : lines) all += line;
  testing::expect_golden(testing::source_folder() / "tests/golden/error_codes.txt", all);
}

}  // namespace
}  // namespace reeve
