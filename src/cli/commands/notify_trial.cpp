#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/notify.h"
#include "view/table.h"

// `reeve notify test`; a file whose name ends in `_test` would be a unit test.
namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const client::NotifyTestAnswer answer = client::test_notifications(daemon);
  bool is_good = !answer.record.results.empty();
  for (const wire::NotifyResult& result : answer.record.results) is_good = is_good && result.delivered;
  const ExitCode code = is_good ? ExitCode::done : ExitCode::failed;
  if (call.is_json) {
    print_json(call, answer.wire);
    return code;
  }
  view::Table table({"TARGET", "FOR", "RESULT", "PROBLEM"});
  for (const wire::NotifyResult& result : answer.record.results) {
    std::vector<std::string> events;
    for (const model::NotifyOn on : result.on) events.emplace_back(base::spell(on));
    table.add({base::visible(result.target), base::join(events, ","), result.delivered ? "delivered" : "failed",
               base::visible(result.problem.value_or(""))});
  }
  if (answer.record.results.empty()) {
    print_aside(
        "no notifications are configured: add `notify` to the config, for example\n"
        "  notify: [{{on: [approval_needed, failed], command: [notify-send, \"{{title}}\", \"{{body}}\"]}}]\n");
    print_next(call, "reeve config show");
    return code;
  }
  fmt::print("{}", call.out_is_terminal ? table.for_terminal(call.out) : table.for_pipe());
  return code;
}

}  // namespace

Command make_notify_test() {
  return {
      .name = "notify test",
      .summary = "Send a test message to every configured notification",
      .about =
          R"(Sends a test message to each entry of `notify` in the config as it is now, whatever events the entry is for,
and reports the results. Nothing is retried. Commands get the event `test`; webhooks get it in the header
`Reeve-Event`, with the sequence number 0, and are signed as usual.

When piped, each line has these tab-separated fields: target, events, delivered or failed, problem.

Exit codes: 0 all were delivered; 1 one was not, or none is configured; 2 the config is not valid.)",
      .examples = {{"reeve notify test", "after a change to `notify`"}, {"reeve notify test --json", "for a script"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
