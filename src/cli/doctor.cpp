#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/doctor_checks.h"
#include "json/describe.h"

namespace reeve::cli {

namespace {

std::string sign_of(Health health, const view::Style& style) {
  switch (health) {
    case Health::ok:
      return style.paint(view::Tint::green, style.pick("✓ ok  ", "+ ok  "));
    case Health::warn:
      return style.paint(view::Tint::yellow, style.pick("▲ warn", "! warn"));
    case Health::fail:
      return style.paint(view::Tint::red, style.pick("✗ fail", "x fail"));
  }
  return {};
}

void print_checks(const Call& call, const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    if (!call.out_is_terminal) {
      fmt::print("{}\t{}\t{}\t{}\n", check.name, base::spell(check.status), base::visible(check.detail),
                 base::visible(check.fix));
      continue;
    }
    fmt::print("{}  {:<13} {}\n", sign_of(check.status, call.out), check.name, base::visible(check.detail));
    if (!check.fix.empty()) fmt::print("                        = fix: {}\n", base::visible(check.fix));
  }
}

ExitCode run(const Call& call) {
  refuse_host(call, "doctor");
  const client::DaemonPlace place = find_daemon_place(call);
  if (place.host) {
    throw base::Error("cli.usage", "REEVE_HOST names a daemon, and `reeve doctor` is about this machine",
                      "env -u REEVE_HOST reeve doctor");
  }
  const std::vector<Check> checks = check_machine(place);
  if (call.is_json) {
    print_json(call, json::to_value(checks));
  } else {
    print_checks(call, checks);
  }
  const bool has_failed = std::ranges::any_of(checks, [](const Check& check) { return check.status == Health::fail; });
  return has_failed ? ExitCode::failed : ExitCode::done;
}

}  // namespace

Command make_doctor() {
  return {
      .name = "doctor",
      .summary = "Whether this machine has what runs need",
      .about =
          R"(Looks at the state folder, its database, the disk, the config, the daemon, and what Reeve needs of the kernel; each line is ok,
warn (it works, with less) or fail, with how to mend it. Starts no daemon. In a pipe a line has,
separated by tabs: name, status, detail, fix.

Exit codes: 0 nothing failed, 1 something did.)",
      .examples = {{"reeve doctor", ""}, {"reeve doctor --json", "name, status, detail, fix of each check"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
