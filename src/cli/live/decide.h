#pragma once

#include "cli/command.h"
#include "client/approvals.h"

namespace reeve::cli {

// `reeve approve`, `reject` and their aliases: decides each approval of the call and reports each outcome. Returns the
// code of the first one that could not be decided.
ExitCode decide_all(const Call& call, client::Verdict::Word word);

// `reeve answer`: types the text of the call, or the text that the user is asked for, into the tool.
ExitCode answer_with_text(const Call& call);

// Shared by these commands.
std::vector<Positional> decision_positionals();
Option comment_option();
Option equal_option();

}  // namespace reeve::cli
