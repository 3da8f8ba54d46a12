#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/approvals.h"
#include "view/style.h"

namespace reeve::cli {

// The input line at the bottom of a live screen: the number or value of an option, an optional comment, Enter. For a
// question that takes text, the text to type follows the number instead of a comment. An approval of medium or high
// risk is confirmed on the next line. Keys pressed before the question could be read are ignored (UX).
class AnswerLine {
 public:
  // Sets the current question; a different one, or none, discards the typed text.
  void ask(const std::optional<model::Approval>& question, base::BootTime now);

  struct Answer {
    // As it was shown.
    model::Approval approval;
    client::Verdict verdict;
  };
  struct Pressed {
    std::optional<Answer> answer = {};
    // Ctrl-C.
    bool leaves = false;
  };
  Pressed press(std::string_view keys, base::BootTime now);

  // The question, its options and the typed text, in at most `rows` rows (at least 5); empty without a question.
  std::vector<std::string> lines(const view::Style& style, std::size_t columns, std::size_t rows = 24) const;

 private:
  // Takes the typed line: an answer, or the confirmation of one.
  std::optional<Answer> take_line();
  // The answer, or what is wrong with it.
  std::expected<Answer, std::string> read() const;
  // What to type, under the options.
  std::string hint(bool is_cut, std::size_t columns) const;

  std::optional<model::Approval> question_;
  base::BootTime asked_at_;
  std::string typed_;
  // Waits for its confirmation.
  std::optional<Answer> unconfirmed_;
  // The error in the last answer.
  std::string complaint_;
};

}  // namespace reeve::cli
