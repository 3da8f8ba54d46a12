#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/approval.h"
#include "model/run.h"
#include "view/style.h"
#include "view/table.h"

// Questions as people read them. What tools wrote is harmless in all of it (LOG-3), and nothing of it is left out of
// sight: what a line was written over with is shown too.
namespace reeve::view {

// Who asks: "EX-9/deploy", "aider TR-90".
std::string asker_text(const model::Approval& approval);
// The question on one line.
std::string question_line(const model::Approval& approval);
// "approve*, reject": the values, the default marked.
std::string options_text(const model::Approval& approval);
// "until 14:51, then reject"; empty when it waits for ever.
std::string until_text(const model::Approval& approval, base::WallTime now);
// "approved by ana: ship it (3m ago)"; empty while it is pending.
std::string decision_text(const model::Approval& approval, base::WallTime now);

// A listing. `now` is for terminals: times are relative then; without it they are UTC.
Table approvals_table(const std::vector<model::Approval>& approvals, const Style& style,
                      std::optional<base::WallTime> now);
// Everything known about one, a field a line, with what would run on a yes where the run is known. `now` as above.
std::string approval_details(const model::Approval& approval, const std::optional<model::Run>& run, const Style& style,
                             std::optional<base::WallTime> now);

// The options with numbers, for a prompt: "  1  approve  Approve".
std::string numbered_options(const std::vector<model::ApprovalOption>& options, const Style& style);

}  // namespace reeve::view
