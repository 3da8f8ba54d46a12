#include "cli/commands.h"
#include "cli/decide.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return decide_all(call, client::Verdict::Word::approve); }

Command make(std::string_view name) {
  return {
      .name = name,
      .summary = name == "approve" ? "Say yes to a question" : "The same as `reeve approve`",
      .about = R"(The first answer counts, whoever gives it; a later one is told who was faster, and changes nothing. Of
several ways to say yes `--choice` names one; at a terminal you are asked. Who decided is known by your
user, not by what you say.

A question for a secret (a password prompt) asks you for it at the terminal; it is typed into the tool,
and neither stored nor shown. `--secret-stdin` reads it from standard input.

In a pipe a line has, separated by tabs: id, status, chosen value. With `--json` the decided record, of
several ids an array.

Exit codes: 0 approved; 2 no such choice, or one is needed; 3 no such approval; 4 it was decided before, or
has expired.)",
      .examples = {{"reeve approve AP-31", ""},
                   {"reeve approve AP-31 --comment \"ship it\"", "say why"},
                   {"reeve approve AP-7 --choice staging", "one of several ways to say yes"},
                   {"pass show sudo | reeve approve AP-9 --secret-stdin", "a secret that a tool asks for"}},
      .positionals = decision_positionals(),
      .options = {{.name = "--choice", .value = "VALUE", .help = "one of the question's options"},
                  comment_option(),
                  {.name = "--secret-stdin", .help = "the secret that it asks for is on standard input"}},
      .run = run,
  };
}

}  // namespace

Command make_approve() { return make("approve"); }
Command make_approvals_approve() { return make("approvals approve"); }

}  // namespace reeve::cli
