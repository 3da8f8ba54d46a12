#pragma once

#include <optional>
#include <string>

#include "model/approval.h"
#include "term/question.h"

// Turns a terminal prompt into a question, and its answer into keystrokes (RUN-10).
namespace reeve::runtime {

// The options are the choices read from the screen, and the chosen value is typed. Without readable choices, the prompt
// can be answered with text (`answer`) or with Ctrl-C (`reject`). A secret is sent with the decision (`secret`) and
// never stored.
model::Approval make_terminal_question(const std::string& tool, const term::ScreenQuestion& seen, bool is_secret);

// The keystrokes for a decision. A rejection that has no matching choice on screen is Ctrl-C. Control characters in a
// person's text are removed: an answer is one line. Nothing if a secret or a text is missing: an empty line is typed
// only for an empty text. A comment is never typed.
std::optional<std::string> make_keystrokes(const model::Approval& decided, const std::optional<std::string>& secret);
// One line, without terminal control characters.
std::string one_line(std::string_view text);

}  // namespace reeve::runtime
