#include "cli/commands.h"
#include "cli/live/decide.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return decide_all(call, client::Verdict::Word::reject); }

Command make(std::string_view name) {
  return {
      .name = name,
      .summary = name == "reject" ? "Reject a pending question" : "Alias for `reeve reject`",
      .about =
          R"(The first answer wins; a later one changes nothing and reports who decided. A run that
exited to ask fails; one that is waiting for the answer receives it and continues.

When piped, each line has these tab-separated fields: id, status, chosen value, question, path of the
project, run. With `--json`, prints the
decided record; for several ids, an array.

Exit codes: 0 rejected; 3 no such approval; 4 already decided or expired.)",
      .examples = {{"reeve reject AP-31", ""},
                   {"reeve reject AP-31 --comment \"not on a Friday\"", "say why"},
                   {"reeve reject AP-31 AP-32", "several at once"}},
      .positionals = decision_positionals(),
      .options = {{.name = "--choice", .value = "VALUE", .help = "one of the options that reject"},
                  comment_option(),
                  equal_option()},
      .run = run,
  };
}

}  // namespace

Command make_reject() { return make("reject"); }
Command make_deny() { return make("deny"); }
Command make_approvals_reject() { return make("approvals reject"); }
Command make_approvals_deny() { return make("approvals deny"); }

}  // namespace reeve::cli
