#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/approvals.h"
#include "json/fields.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

using base::Value;

// 1234567 → "1,234,567".
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const Value verdict = client::verify_audit(daemon);
  const Value* whole = verdict.find("whole");
  const bool is_whole = whole != nullptr && whole->as_bool() != nullptr && *whole->as_bool();
  const std::int64_t entries = json::integer_of(verdict, "entries").value_or(0);
  if (call.is_json) {
    print_json(call, verdict);
  } else if (is_whole) {
    fmt::print("intact: {} {}\n", grouped(entries), entries == 1 ? "entry" : "entries");
  } else {
    const Value* reason = verdict.find("reason");
    const bool says_why = reason != nullptr && reason->as_string() != nullptr;
    const std::int64_t broken = json::integer_of(verdict, "broken_at").value_or(0);
    fmt::print("broken at entry {}: {}\n", grouped(broken), says_why ? base::visible(*reason->as_string()) : "");
    print_next(call, fmt::format("reeve audit list --since {}", broken > 2 ? broken - 2 : 0));
  }
  return is_whole ? ExitCode::done : ExitCode::failed;
}

}  // namespace

Command make_audit_verify() {
  return {
      .name = "audit verify",
      .summary = "Verify that the audit log is intact",
      .about =
          R"(Each entry carries the hash of the previous one, so a changed, removed or inserted entry breaks the chain.
Reports the first entry that does not match.

Exit codes: 0 intact, 1 broken.)",
      .examples = {{"reeve audit verify", "intact: 1,234 entries"}, {"reeve audit verify --json", "for a script"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
