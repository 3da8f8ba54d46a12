#include "cli/commands.h"
#include "cli/decide.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return decide_all(call, client::Verdict::Word::reject); }

Command make(std::string_view name) {
  return {
      .name = name,
      .summary = name == "reject" ? "Say no to a question" : "The same as `reeve reject`",
      .about =
          R"(The first answer counts, whoever gives it; a later one is told who was faster, and changes nothing. A run
that left to ask is failed, one that waits for the answer gets it and goes on.

In a pipe a line has, separated by tabs: id, status, chosen value. With `--json` the decided record, of
several ids an array.

Exit codes: 0 rejected; 3 no such approval; 4 it was decided before, or has expired.)",
      .examples = {{"reeve reject AP-31", ""},
                   {"reeve reject AP-31 --comment \"not on a Friday\"", "say why"},
                   {"reeve reject AP-31 AP-32", "several at once"}},
      .positionals = decision_positionals(),
      .options = {{.name = "--choice", .value = "VALUE", .help = "one of several ways to say no"}, comment_option()},
      .run = run,
  };
}

}  // namespace

Command make_reject() { return make("reject"); }
Command make_deny() { return make("deny"); }
Command make_approvals_reject() { return make("approvals reject"); }
Command make_approvals_deny() { return make("approvals deny"); }

}  // namespace reeve::cli
