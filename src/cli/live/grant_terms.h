#pragma once

#include <optional>
#include <vector>

#include "cli/command.h"
#include "cli/live/confirm.h"
#include "client/daemon.h"
#include "model/approval.h"
#include "wire/tool_call.h"

// `reeve approve --always`: a standing grant, made together with the decision (TOOL-8).
namespace reeve::cli {

// `--always`, `--for`, `--match` and `--expires`.
std::vector<Option> grant_options();

// Nothing without `--always`. Throws `cli.usage`.
std::optional<wire::GrantTerms> read_grant_terms(const Call& call);

// Asks the daemon what the grant would allow. If it is more than the call that was asked about, shows it and asks the
// person, unless `given` confirms it: `--yes`, or `--confirm=ID` if the approval is of high risk. Throws
// `cli.confirmation_needed` where nobody can be asked, and `cli.given_up` for any other answer than yes.
void confirm_grant(const Call& call, const Confirmation& given, client::Daemon& daemon, const model::Approval& approval,
                   wire::GrantTerms& terms);

}  // namespace reeve::cli
