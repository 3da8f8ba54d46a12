#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "client/approvals.h"
#include "model/approval.h"

// The confirmation that an approval needs, by its risk (APR-3, UX): none for low, `y/N` for medium, the typed id for
// high. A rejection needs none.
namespace reeve::cli {

// `--yes` and `--confirm=ID`.
std::vector<Option> confirmation_options();

// What the call has confirmed in advance.
struct Confirmation {
  // All approvals of medium risk.
  bool says_yes = false;
  // These approvals, whatever their risk.
  std::vector<base::ApprovalId> ids = {};
};
// Throws `cli.usage` for an invalid id. `@last` does not count: it may mean another one by now.
Confirmation read_confirmation(const Call& call);

// Shows the approval at the terminal and asks, unless `given` confirms it. Throws `cli.confirmation_needed` where
// nobody can be asked, and `cli.given_up` for any other answer than the confirmation.
void confirm(const Call& call, const Confirmation& given, const model::Approval& approval,
             const client::Verdict& verdict);

// The option that confirms it: " --yes", " --confirm=AP-4", or nothing.
std::string confirming_option(const Call& call, const model::Approval& approval);

// Whether the typed line confirms an approval of this risk.
bool is_confirmation(const model::Approval& approval, std::string_view line);

}  // namespace reeve::cli
