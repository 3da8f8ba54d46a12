#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/approval.h"
#include "model/run.h"
#include "view/style.h"
#include "view/table.h"

// Questions as text for people. Text from tools is sanitized (LOG-3) and never hidden: overwritten parts of a line are
// shown too.
namespace reeve::view {

// The asker: "EX-9/deploy", "aider TR-90".
std::string asker_text(const model::Approval& approval);
// The asker with its run and its project: "EX-9/deploy, TR-12 (shop)".
std::string origin_text(const model::Approval& approval);
// "high risk: changes CI files: .github/workflows/ci.yml".
std::string risk_text(const model::Approval& approval);
// The last lines of the screen that the prompt is on (RUN-10), at most `most`. Each begins with a bar, so that no line
// can be taken for one of Reeve's.
std::vector<std::string> context_lines(const model::Approval& approval, const Style& style, std::size_t most);
// The question line by line; of a tool call exactly, because it says what would run.
std::vector<std::string> question_lines(const model::Approval& approval);
// The question on one line.
std::string question_line(const model::Approval& approval);
// "approve*, reject": the values, the default marked.
std::string options_text(const model::Approval& approval);
// The command that gives a person's yes: "reeve approve AP-4", or "reeve answer AP-4 TEXT" if it takes text.
std::string answer_command(const model::Approval& approval);
// "until 14:51, then reject"; empty if it never expires.
std::string until_text(const model::Approval& approval, base::WallTime now);
// "approved by ana: ship it (3m ago)"; empty while it is pending.
std::string decision_text(const model::Approval& approval, base::WallTime now);

// A listing. `now` is for terminals: times are relative then; without it they are UTC.
Table approvals_table(const std::vector<model::Approval>& approvals, const Style& style,
                      std::optional<base::WallTime> now);
// One approval in full, one field per line, with the command that approval would run if the run is known. `now` as
// above.
std::string approval_details(const model::Approval& approval, const std::optional<model::Run>& run, const Style& style,
                             std::optional<base::WallTime> now);

// The options with numbers, for a prompt: "  1  approve  Approve".
std::string numbered_options(const std::vector<model::ApprovalOption>& options, const Style& style);

}  // namespace reeve::view
