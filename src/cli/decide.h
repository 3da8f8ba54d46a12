#pragma once

#include "cli/command.h"
#include "client/approvals.h"

namespace reeve::cli {

// `reeve approve`, `reject` and their other names: decides each approval that the call names, as far as that goes, and
// says what became of each. The code is that of the first one that could not be decided.
ExitCode decide_all(const Call& call, client::Verdict::Word word);

// What they have in common.
std::vector<Positional> decision_positionals();
Option comment_option();

}  // namespace reeve::cli
