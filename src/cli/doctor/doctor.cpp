#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/doctor/doctor_checks.h"
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
    throw base::Error(base::ErrorCode::cli_usage, "REEVE_HOST is set, but `reeve doctor` checks only this machine",
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
      .summary = "Check that this machine has what Reeve needs",
      .about =
          R"(Checks the state folder, its database, the disk, the config, the daemon, and the kernel features that Reeve
needs. Each line is ok, warn (works with limitations) or fail, and says how to fix it. Starts no daemon. When
piped, each line has these tab-separated fields: name, status, detail, fix.

Exit codes: 0 no check failed, 1 at least one failed.)",
      .examples = {{"reeve doctor", ""}, {"reeve doctor --json", "name, status, detail, fix of each check"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
