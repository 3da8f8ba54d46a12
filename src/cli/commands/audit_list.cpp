#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/approvals.h"
#include "json/encode.h"
#include "json/fields.h"
#include "view/table.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;

constexpr std::size_t default_limit = 20;

std::string number_of(const Value& entry) {
  const auto number = json::integer_of(entry, "seq");
  return number ? fmt::format("{}", *number) : "";
}

// Without --since, the last `limit` entries.
std::int64_t since_of(const Call& call, std::size_t limit) {
  const auto word = call.arguments.value("--since");
  if (!word) return -static_cast<std::int64_t>(limit);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), number);
  if (error != std::errc() || end != word->data() + word->size() || number < 0) {
    throw base::Error(ErrorCode::cli_usage, fmt::format("{} is not a valid entry number", base::quoted(*word)),
                      "use 0 for all, or the number of the last entry you have");
  }
  return number;
}

std::string data_text(const Value& entry) {
  const Value* data = entry.find("data");
  return data != nullptr ? json::encode(*data) : std::string();
}

// "AP-31": the record that the entry is about.
std::string subject_of(const Value& entry) {
  const Value* data = entry.find("data");
  if (data == nullptr) return {};
  for (const char* key : {"approval_id", "tool_run_id", "execution_id", "name"}) {
    if (std::string id = json::text_of(*data, key); !id.empty()) return id;
  }
  return {};
}

std::string remark_of(const Value& entry) {
  constexpr std::size_t columns = 60;
  const Value* data = entry.find("data");
  std::string remark;
  for (const char* key : {"chosen_value", "action", "comment", "reason"}) {
    const std::string text = data != nullptr ? json::text_of(*data, key) : "";
    if (!text.empty()) remark += (remark.empty() ? "" : "; ") + base::visible(text);
  }
  return base::fit_width(remark, columns, false);
}

ExitCode run(const Call& call) {
  const std::size_t limit = limit_of(call, default_limit);
  const std::int64_t since = since_of(call, limit);
  client::Daemon daemon(daemon_place(call));
  std::vector<Value> entries = client::list_audit(daemon, since, limit);
  if (call.is_json) {
    print_json(call, Value::array(std::move(entries)));
    return ExitCode::done;
  }
  view::Table table(call.out_is_terminal ? std::vector<std::string>{"NO", "TIME", "WHAT", "WHO", "ABOUT", "NOTE"}
                                         : std::vector<std::string>{"NO", "TIME", "WHAT", "WHO", "DATA"});
  for (const Value& entry : entries) {
    std::vector<std::string> cells = {number_of(entry), json::text_of(entry, "at"), json::text_of(entry, "kind"),
                                      json::text_of(entry, "actor")};
    if (call.out_is_terminal) {
      cells.insert(cells.end(), {subject_of(entry), remark_of(entry)});
    } else {
      cells.push_back(data_text(entry));
    }
    table.add(cells);
  }
  if (!call.out_is_terminal) {
    fmt::print("{}", table.for_pipe());
    return ExitCode::done;
  }
  if (entries.empty()) {
    print_aside("no entries\n");
  } else {
    fmt::print("{}", table.for_terminal(call.out));
  }
  print_next(call, "reeve audit verify");
  return ExitCode::done;
}

}  // namespace

Command make_audit_list() {
  return {
      .name = "audit list",
      .summary = "List questions, decisions and refusals in order",
      .about =
          R"(Every question, decision, expiry, use of a grant and refusal is an entry that carries the hash of the
previous one. Lists the last 20, or with `--since N` those after entry N. When piped, each line has these
tab-separated fields: number, time, event, actor, data as JSON.)",
      .examples = {{"reeve audit list", "the last 20"},
                   {"reeve audit list --since 0 --limit 10000 --json", "everything, for a script"}},
      .positionals = {},
      .options = {{.name = "--since", .value = "N", .help = "start after entry N"},
                  {.name = "--limit", .value = "N", .help = "maximum number to list (default 20)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
