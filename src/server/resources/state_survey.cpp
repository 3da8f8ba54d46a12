#include "server/resources/state_survey.h"

#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "store/foreign_file.h"

namespace reeve::server {

namespace {

using store::ForeignFile;
using store::ForeignRow;
using store::ForeignTable;
using store::ForeignValue;

constexpr std::size_t max_shown = 20;
constexpr std::size_t max_text_bytes = 120;

std::string text_of(const ForeignRow& row, std::string_view column) {
  const auto& columns = row.table().columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] != column) continue;
    const ForeignValue value = row.value(i);
    if (value.kind == ForeignValue::Kind::integer) return std::to_string(value.integer);
    if (value.kind != ForeignValue::Kind::text) return {};
    // Printing escapes control characters and invalid UTF-8.
    return std::string(value.bytes.substr(0, max_text_bytes));
  }
  return {};
}

// What to count in one table.
struct Wanted {
  const char* table;
  const char* prefix;
  std::initializer_list<const char*> statuses;
  // Columns that describe the entry.
  std::initializer_list<const char*> what;
};

std::int64_t count(ForeignFile& file, const Wanted& wanted, std::vector<PendingWork::Entry>& entries) {
  const ForeignTable* table = file.find(wanted.table);
  if (table == nullptr) return 0;
  std::int64_t found = 0;
  std::size_t shown = 0;
  for (const char* status : wanted.statuses) {
    const ForeignValue value{.kind = ForeignValue::Kind::text, .bytes = status};
    file.scan(*table, {.column = "status", .value = value}, [&](const ForeignRow& row) {
      ++found;
      if (shown++ >= max_shown) return;
      PendingWork::Entry entry{.id = fmt::format("{}-{}", wanted.prefix, text_of(row, "number")), .status = status};
      for (const char* column : wanted.what) {
        const std::string text = text_of(row, column);
        if (!text.empty()) entry.what += (entry.what.empty() ? "" : " ") + text;
      }
      entries.push_back(std::move(entry));
    });
  }
  return found;
}

}  // namespace

PendingWork survey_database(const std::filesystem::path& database) {
  ForeignFile file(database, [] { return false; });
  PendingWork work;
  work.runs = count(file,
                    {.table = "tool_runs",
                     .prefix = "TR",
                     .statuses = {"queued", "running", "stalled", "waiting_approval"},
                     .what = {"argv", "cwd"}},
                    work.entries);
  work.executions = count(
      file,
      {.table = "executions", .prefix = "EX", .statuses = {"running", "waiting_approval"}, .what = {"label", "inputs"}},
      work.entries);
  work.approvals =
      count(file, {.table = "approvals", .prefix = "AP", .statuses = {"pending"}, .what = {"question"}}, work.entries);
  if (const ForeignTable* grants = file.find("grants")) {
    std::size_t shown = 0;
    file.scan(*grants, [&](const ForeignRow& row) {
      if (!text_of(row, "revoked_at").empty() || shown++ >= max_shown) return;
      work.entries.push_back({.id = "GR-" + text_of(row, "number"),
                              .status = "granted until " + text_of(row, "expires_at"),
                              .what = text_of(row, "describes")});
    });
  }
  if (const ForeignTable* tokens = file.find("tokens")) {
    file.scan(*tokens, [&](const ForeignRow& row) { work.tokens += text_of(row, "revoked_at").empty() ? 1 : 0; });
  }
  return work;
}

}  // namespace reeve::server
