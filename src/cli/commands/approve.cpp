#include "cli/commands.h"
#include "cli/live/decide.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return decide_all(call, client::Verdict::Word::approve); }

Command make(std::string_view name) {
  return {
      .name = name,
      .summary = name == "approve" ? "Approve a pending question" : "Alias for `reeve approve`",
      .about = R"(The first answer wins; a later one changes nothing and reports who decided. If there
are several ways to approve, `--choice` selects one; at a terminal you are asked. Decisions are recorded
under your user account; you cannot choose another name.

If the question is a password prompt, you are asked for the secret at the terminal; it is typed into the
tool and neither stored nor shown. `--secret-stdin` reads it from standard input.

When piped, each line has these tab-separated fields: id, status, chosen value. With `--json`, prints the
decided record; for several ids, an array.

Exit codes: 0 approved; 2 no such choice, or a choice is required; 3 no such approval; 4 already decided or
expired.)",
      .examples = {{"reeve approve AP-31", ""},
                   {"reeve approve AP-31 --comment \"ship it\"", "say why"},
                   {"reeve approve AP-7 --choice staging", "choose one of several options"},
                   {"pass show sudo | reeve approve AP-9 --secret-stdin", "answer a password prompt"}},
      .positionals = decision_positionals(),
      .options = {{.name = "--choice", .value = "VALUE", .help = "one of the question's options"},
                  comment_option(),
                  {.name = "--secret-stdin", .help = "read the requested secret from standard input"}},
      .run = run,
  };
}

}  // namespace

Command make_approve() { return make("approve"); }
Command make_approvals_approve() { return make("approvals approve"); }

}  // namespace reeve::cli
