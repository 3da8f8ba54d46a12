#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/tokens.h"
#include "view/table.h"

namespace reeve::cli {

namespace {

std::string time_or_dash(const std::optional<base::WallTime>& time) { return time ? base::format_time(*time) : "-"; }

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  std::vector<client::TokenRecord> records = client::list_tokens(daemon);
  if (call.is_json) {
    base::Value::Array items;
    for (client::TokenRecord& record : records) items.push_back(std::move(record.wire));
    print_json(call, base::Value::array(std::move(items)));
    return ExitCode::done;
  }
  view::Table table({"NAME", "STATUS", "SCOPES", "MADE", "BY", "EXPIRES", "LAST USED", "PROJECT"});
  for (const client::TokenRecord& record : records) {
    const model::Token& token = record.token;
    std::vector<std::string> scopes;
    for (const model::Scope scope : token.scopes) scopes.emplace_back(base::spell(scope));
    table.add({token.name, record.status, base::join(scopes, ","), base::format_time(token.created_at),
               base::visible(token.created_by), time_or_dash(token.expires_at), time_or_dash(token.last_used_at),
               token.project ? base::visible(*token.project) : std::string("all")});
  }
  if (!call.out_is_terminal) {
    fmt::print("{}", table.for_pipe());
  } else if (records.empty()) {
    print_aside("no tokens\n");
    print_next(call, "reeve token create NAME");
  } else {
    fmt::print("{}", table.for_terminal(call.out));
  }
  return ExitCode::done;
}

}  // namespace

Command make_token_list() {
  return {
      .name = "token list",
      .summary = "List tokens, newest first",
      .about =
          R"(Lists API tokens and their scopes, never the secrets. When piped, each line has these tab-separated fields:
name, status (active, expired, revoked), scopes, created at, created by, expires at, last used, path of the
only project that it may use, or `all`.)",
      .examples = {{"reeve token list", ""}, {"reeve token list --json", "for a script"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
