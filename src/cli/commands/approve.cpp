#include <algorithm>
#include <iterator>

#include "cli/commands.h"
#include "cli/live/confirm.h"
#include "cli/live/decide.h"
#include "cli/live/grant_terms.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return decide_all(call, client::Verdict::Word::approve); }

std::vector<Option> options() {
  std::vector<Option> all = {{.name = "--choice", .value = "VALUE", .help = "one of the question's options"},
                             comment_option(),
                             {.name = "--secret-stdin", .help = "read the requested secret from standard input"},
                             equal_option()};
  std::ranges::copy(grant_options(), std::back_inserter(all));
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

For the question of a tool call, `--always` also makes a standing grant: such calls of the agent are then
allowed without asking, in this run (or `--for execution`, `--for project`), for 8 hours (`--expires`). By
default exactly this call; `--match program` covers its program and subcommand with any further arguments,
`--match path=GLOB` the same tool on paths of the worktree. A grant never overrides a `deny`. What it allows
beyond this call is shown as `this also allows: …` and must be confirmed: at a terminal with `y`, otherwise
with `--yes`, or `--confirm=ID` for high risk. Interpreters, shells and programs that start others are never
granted by program. `reeve policy grants` lists grants, `reeve policy revoke` ends them.

`--equal` decides all pending questions of the same run about exactly the same call together.

When piped, each line has these tab-separated fields: id, status, chosen value, question, path of the
project, run. With `--json`, prints the
decided record; for several ids, an array.

Exit codes: 0 approved; 2 no such choice, a choice or a confirmation is required, or no such grant can be
made; 3 no such approval; 4 already decided or expired; 5 a grant needs the daemon's socket or the scope
`admin`; 130 not confirmed.)",
      .examples = {{"reeve approve AP-31", ""},
                   {"reeve approve AP-31 --comment \"ship it\"", "say why"},
                   {"reeve approve AP-7 --choice staging", "choose one of several options"},
                   {"reeve approve AP-31 --yes", "from a script, for medium risk"},
                   {"reeve approve AP-32 --confirm=AP-32", "from a script, for high risk"},
                   {"reeve approve AP-31 --always", "and exactly this call from now on, in this run"},
                   {"reeve approve AP-31 --always --match program --yes", "and its program with its subcommand"},
                   {"reeve approve AP-31 --always --match 'path=src/**' --for execution --expires 2h", ""},
                   {"reeve approve AP-31 --equal", "and all equal questions of the run"},
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
