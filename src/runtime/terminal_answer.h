#pragma once

#include <optional>
#include <string>

#include "model/approval.h"
#include "term/question.h"

// A prompt on a terminal as a question, and its answer as keys (RUN-10).
namespace reeve::runtime {

// Choices that were read from the screen are its options: what is typed is their value. Where none could be read it can
// be answered with any text (`answer`, the comment is typed), with Enter alone (`enter`), or interrupted (`reject`). A
// secret is given with the decision (`secret`), and kept nowhere.
model::Approval make_terminal_question(const std::string& tool, const term::ScreenQuestion& seen, bool is_secret);

// What is typed for a decision. A no that the screen has no word for is Ctrl-C. Control characters in what a person
// gave are left out: an answer is one line. Nothing for a yes to a secret that did not come: an empty password is none.
std::optional<std::string> make_keystrokes(const model::Approval& decided, const std::optional<std::string>& secret);
// One line, without what a terminal would act on.
std::string one_line(std::string_view text);

}  // namespace reeve::runtime
