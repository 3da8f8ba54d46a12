#include "cli/commands.h"
#include "cli/live/confirm.h"
#include "cli/live/decide.h"

namespace reeve::cli {

Command make_answer() {
  return {
      .name = "answer",
      .summary = "Answer a question that asks for text",
      .about =
          R"(Types the text, followed by Enter, into the tool that waits at its terminal. Without TEXT, you are asked for
it. An empty text (`""`) types an empty line; nothing else does. Control characters are removed.

The text is stored with the decision and shown by `reeve show`. For a password prompt use `reeve approve`,
which stores nothing. A question with options is answered by `reeve approve` and `reeve reject`. An answer
needs the same confirmation as an approval: `--yes` for medium risk, `--confirm=ID` for high, or an answer at
the terminal.

When piped, prints the tab-separated fields id, status, chosen value, question, path of the project, run.
With `--json`, prints the decided record.

Exit codes: 0 answered; 2 a text or a confirmation is required, or the question takes none; 3 no such
approval; 4 already decided or expired; 130 not confirmed.)",
      .examples = {{"reeve answer AP-7 \"feature/login\"", ""},
                   {"reeve answer AP-7 main --yes", "from a script"},
                   {"reeve answer AP-7 \"\"", "press Enter alone"},
                   {"reeve answer AP-7", "be asked for the text"}},
      .positionals = {{.name = "ID", .help = "AP-4, or @last for the newest", .is_id = true},
                      {.name = "TEXT", .help = "the line to type", .is_required = false}},
      .options = confirmation_options(),
      .run = answer_with_text,
  };
}

}  // namespace reeve::cli
