#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/live/interrupt_message.h"
#include "cli/live/question_notifier.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/approvals.h"
#include "project/project.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Milliseconds;
using model::ApprovalStatus;

constexpr Milliseconds long_wait = std::chrono::seconds(30);

std::optional<Milliseconds> timeout_of(const Call& call) {
  const auto word = call.arguments.value("--timeout");
  if (!word) return std::nullopt;
  const auto limit = base::parse_time_limit(*word);
  if (!limit) {
    throw base::Error(ErrorCode::cli_usage, fmt::format("{} is not a valid value for `--timeout`", base::quoted(*word)),
                      fmt::format("{}, or off", base::duration_forms));
  }
  return limit->after;
}

// Empty if the timeout is reached first.
std::optional<client::ApprovalRecord> wait_for(client::Daemon& daemon, const std::string& name,
                                               const std::optional<Milliseconds>& timeout) {
  const auto now = [] { return base::SystemClock().boot_now(); };
  const auto deadline = timeout ? std::optional(now() + *timeout) : std::nullopt;
  while (true) {
    Milliseconds poll_timeout = long_wait;
    if (deadline) {
      const auto left = std::chrono::ceil<Milliseconds>(*deadline - now());
      poll_timeout = std::clamp(left, Milliseconds(0), long_wait);
    }
    auto record = client::wait_approval(daemon, name, poll_timeout);
    if (record.approval.status != ApprovalStatus::pending) return record;
    if (deadline && now() >= *deadline) return std::nullopt;
  }
}

ExitCode run(const Call& call) {
  const auto timeout = timeout_of(call);
  client::DaemonPlace place = patient_place(call);
  std::string name = call.arguments.positional(0);
  // Inside a run, the run's own socket is used, which also accepts the name that the tool gave the question (RUN-8).
  const auto own = project::variable("REEVE_SOCKET");
  if (own) {
    place.socket = *own;
    place.host.reset();
    place.no_start = "clients inside a run do not start one";
  }
  client::Daemon daemon(std::move(place));
  if (!own) name = find_approval(daemon, name).text();
  const InterruptMessage watching("stopped waiting; the question stays open");
  // The question is shown to a person only; a tool knows what it asked.
  if (!own) {
    const auto present = client::wait_approval(daemon, name, Milliseconds(0));
    if (present.approval.status == ApprovalStatus::pending) print_question(call, present.approval);
  }
  const auto record = wait_for(daemon, name, timeout);
  if (!record) {
    print_aside("{} is still pending\n", own ? base::visible(name) : shown_id(call, name));
    return ExitCode::timed_out;
  }
  if (call.is_json) {
    print_json(call, mark_source(record->wire, call, daemon));
  } else if (const auto& chosen = record->approval.chosen_value) {
    // A script gets the value unchanged.
    fmt::print("{}\n", call.out_is_terminal ? base::visible(*chosen) : *chosen);
  }
  return record->approval.status == ApprovalStatus::approved ? ExitCode::done : ExitCode::failed;
}

}  // namespace

Command make_approvals_wait() {
  return {
      .name = "approvals wait",
      .summary = "Wait for a question to be answered and print the answer",
      .about =
          R"(Prints the chosen value, or nothing if there is none. A tool that asks and keeps running can use this to
wait for its own question: inside a run, the name the tool gave it (`approval_id`) works as well as its
id.

With `--json`, prints the record.

Exit codes: 0 approved; 1 rejected or expired; 3 no such approval; 124 the timeout was reached first.)",
      .examples = {{"reeve approvals wait AP-4 && ./deploy.sh", "continue only if approved"},
                   {"target=$(reeve approvals wait AP-4 --timeout 1h)", "use the chosen value"}},
      .positionals = {{.name = "ID",
                       .help = "AP-4, @last for the newest, or the tool's own name for it",
                       .is_id = true}},
      .options = {{.name = "--timeout", .value = "TIME", .help = "how long to wait: 90s, 30m, off (default off)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
