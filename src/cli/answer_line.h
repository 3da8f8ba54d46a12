#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/approvals.h"
#include "view/style.h"

namespace reeve::cli {

// The line at the foot of a live screen in which a person answers what is asked: the number or the value of an option,
// words after it as a comment, Enter. Keys that were pressed before the question could be read answer nothing (UX).
class AnswerLine {
 public:
  // The question that stands there now; another one, or none, drops what was typed.
  void ask(const std::optional<model::Approval>& question, base::BootTime now);

  struct Answer {
    base::ApprovalId approval{0};
    client::Verdict verdict;
  };
  struct Pressed {
    std::optional<Answer> answer = {};
    // Ctrl-C.
    bool leaves = false;
  };
  Pressed press(std::string_view keys, base::BootTime now);

  // The question, its options, and what was typed so far, in at most so many rows (and no fewer than 5); nothing when
  // nothing is asked.
  std::vector<std::string> lines(const view::Style& style, std::size_t columns, std::size_t rows = 24) const;

 private:
  std::optional<Answer> read() const;

  std::optional<model::Approval> question_;
  base::BootTime asked_at_;
  std::string typed_;
  // What was wrong with the last answer.
  std::string complaint_;
};

}  // namespace reeve::cli
