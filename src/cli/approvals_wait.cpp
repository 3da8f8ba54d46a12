#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/question_teller.h"
#include "cli/watching.h"
#include "client/approvals.h"
#include "project/project.h"

namespace reeve::cli {

namespace {

using base::Milliseconds;
using model::ApprovalStatus;

constexpr Milliseconds long_wait = std::chrono::seconds(30);

std::optional<Milliseconds> timeout_of(const Call& call) {
  const auto word = call.arguments.value("--timeout");
  if (!word) return std::nullopt;
  const auto limit = base::parse_time_limit(*word);
  if (!limit) {
    throw base::Error("cli.usage", fmt::format("{} is not a value for `--timeout`", base::quoted(*word)),
                      fmt::format("{}, or off", base::duration_forms));
  }
  return limit->after;
}

// Nothing when the time is over first.
std::optional<client::ApprovalRecord> wait_for(client::Daemon& daemon, const std::string& name,
                                               const std::optional<Milliseconds>& timeout) {
  const auto now = [] { return base::SystemClock().boot_now(); };
  const auto deadline = timeout ? std::optional(now() + *timeout) : std::nullopt;
  while (true) {
    Milliseconds patience = long_wait;
    if (deadline) {
      const auto left = std::chrono::ceil<Milliseconds>(*deadline - now());
      patience = std::clamp(left, Milliseconds(0), long_wait);
    }
    auto record = client::wait_approval(daemon, name, patience);
    if (record.approval.status != ApprovalStatus::pending) return record;
    if (deadline && now() >= *deadline) return std::nullopt;
  }
}

ExitCode run(const Call& call) {
  const auto timeout = timeout_of(call);
  client::DaemonPlace place = patient_place(call);
  std::string name = call.arguments.positional(0);
  // Inside a run its own socket answers, also to the name that the tool gave the question (RUN-8).
  const auto own = project::variable("REEVE_SOCKET");
  if (own) {
    place.socket = *own;
    place.host.reset();
    place.no_start = "a client inside a run starts none";
  }
  client::Daemon daemon(std::move(place));
  if (!own) name = find_approval(daemon, name).text();
  const Watching watching("stopped waiting; the question stays as it is");
  // A person sees what is waited for; a tool knows what it has asked.
  if (!own) {
    const auto present = client::wait_approval(daemon, name, Milliseconds(0));
    if (present.approval.status == ApprovalStatus::pending) print_question(call, present.approval);
  }
  const auto record = wait_for(daemon, name, timeout);
  if (!record) {
    print_aside("{} is still pending\n", base::visible(name));
    return ExitCode::timed_out;
  }
  if (call.is_json) {
    print_json(call, record->wire);
  } else if (const auto& chosen = record->approval.chosen_value) {
    // A script gets the value as it is.
    fmt::print("{}\n", call.out_is_terminal ? base::visible(*chosen) : *chosen);
  }
  return record->approval.status == ApprovalStatus::approved ? ExitCode::done : ExitCode::failed;
}

}  // namespace

Command make_approvals_wait() {
  return {
      .name = "approvals wait",
      .summary = "Wait until a question is answered, and print the answer",
      .about =
          R"(Prints the chosen value, nothing when there is none. A tool that asked and stayed waits with it for its
own question: inside a run the name that the tool gave it (`approval_id`) does as well as its id.

With `--json` the record.

Exit codes: 0 approved; 1 rejected or expired; 3 no such approval; 124 the time was over first.)",
      .examples = {{"reeve approvals wait AP-4 && ./deploy.sh", "go on with a yes"},
                   {"target=$(reeve approvals wait AP-4 --timeout 1h)", "which one was chosen"}},
      .positionals = {{.name = "ID", .help = "AP-4, @last for the newest, or a tool's own name of it"}},
      .options = {{.name = "--timeout", .value = "TIME", .help = "how long: 90s, 30m, off (off)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
