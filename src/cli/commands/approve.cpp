#include <algorithm>
#include <iterator>

#include "cli/commands.h"
#include "cli/live/confirm.h"
#include "cli/live/decide.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return decide_all(call, client::Verdict::Word::approve); }

std::vector<Option> options() {
  std::vector<Option> all = {{.name = "--choice", .value = "VALUE", .help = "one of the question's options"},
                             comment_option(),
                             {.name = "--secret-stdin", .help = "read the requested secret from standard input"}};
  std::ranges::copy(confirmation_options(), std::back_inserter(all));
  return all;
}

Command make(std::string_view name) {
  return {
      .name = name,
      .summary = name == "approve" ? "Approve a pending question" : "Alias for `reeve approve`",
      .about = R"(The first answer wins; a later one changes nothing and reports who decided. If there
are several ways to approve, `--choice` selects one; at a terminal you are asked. Decisions are recorded
under your user account; you cannot choose another name.

Each approval has a risk, which `reeve show` explains. At a terminal, medium risk asks `y/N` and high risk
asks you to type the id. Without a terminal, medium needs `--yes` and high needs `--confirm=ID`. Only what
was shown is approved: if the question has changed since, nothing is decided.

If the question is a password prompt, you are asked for the secret at the terminal; it is typed into the
tool and neither stored nor shown. `--secret-stdin` reads it from standard input.

When piped, each line has these tab-separated fields: id, status, chosen value, question, path of the
project, run. With `--json`, prints the
decided record; for several ids, an array.

Exit codes: 0 approved; 2 no such choice, or a choice or a confirmation is required; 3 no such approval; 4
already decided or expired; 130 not confirmed.)",
      .examples = {{"reeve approve AP-31", ""},
                   {"reeve approve AP-31 --comment \"ship it\"", "say why"},
                   {"reeve approve AP-7 --choice staging", "choose one of several options"},
                   {"reeve approve AP-31 --yes", "from a script, for medium risk"},
                   {"reeve approve AP-32 --confirm=AP-32", "from a script, for high risk"},
                   {"pass show sudo | reeve approve AP-9 --yes --secret-stdin", "answer a password prompt"}},
      .positionals = decision_positionals(),
      .options = options(),
      .run = run,
  };
}

}  // namespace

Command make_approve() { return make("approve"); }
Command make_approvals_approve() { return make("approvals approve"); }

}  // namespace reeve::cli
