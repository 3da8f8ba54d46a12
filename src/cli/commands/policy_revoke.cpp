#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/exit_code.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/grants.h"
#include "client/refusal.h"
#include "view/problem_text.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

base::GrantId parse_grant(const std::string& word) {
  const auto id = base::GrantId::parse(word);
  if (!id) {
    throw base::Error(ErrorCode::grant_not_found, fmt::format("there is no standing grant {}", base::quoted(word)),
                      "ids look like GR-3; `reeve policy grants` lists them");
  }
  return *id;
}

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  std::vector<base::GrantId> ids;
  for (const std::string& word : call.arguments.positionals()) ids.push_back(parse_grant(word));
  base::Value::Array wire;
  ExitCode code = ExitCode::done;
  for (const base::GrantId id : ids) {
    try {
      client::GrantRecord record = client::revoke_grant(daemon, id);
      if (!call.is_json) {
        fmt::print("{} is revoked: {}\n", shown_id(call, id.text()), base::visible(record.grant.describes));
      }
      wire.push_back(mark_source(std::move(record.wire), call, daemon));
    } catch (const client::Refusal& refusal) {
      // The other grants are revoked all the same.
      if (code == ExitCode::done) code = exit_code_of(refusal);
      if (!call.is_json) print_aside("{}", view::error_text(refusal, call.err));
      wire.push_back(refusal.document());
    }
  }
  if (call.is_json) print_json(call, wire.size() == 1 ? std::move(wire.front()) : base::Value::array(std::move(wire)));
  return code;
}

}  // namespace

Command make_policy_revoke() {
  return {
      .name = "policy revoke",
      .summary = "Revoke a standing grant",
      .about =
          R"(Takes effect with the next tool call: what the grant covered is decided by the rules again. Calls that it
has already allowed continue. A grant that was revoked or has expired stays as it is.

Exit codes: 0 revoked, 3 no such grant, 5 inside a run, or a token without the scope `approve`.)",
      .examples = {{"reeve policy revoke GR-3", ""}, {"reeve policy revoke GR-3 GR-4", "several at once"}},
      .positionals =
          {{.name = "ID", .help = "GR-3, as `reeve policy grants` lists it", .is_repeatable = true, .is_id = true}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
