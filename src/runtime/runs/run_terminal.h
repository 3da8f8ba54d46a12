#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/redaction.h"
#include "keeper/message.h"
#include "model/approval.h"
#include "runtime/runs/screen_context.h"
#include "term/question.h"

namespace reeve::runtime {

// The terminal of a live run: its size, the prompt on its screen, and the answer that is typed there (RUN-10). Pure.
class RunTerminal {
 public:
  RunTerminal(int rows, int columns) noexcept : rows_(rows), columns_(columns) {}

  // The size that it has from now on.
  void set_size(int rows, int columns) noexcept {
    rows_ = rows;
    columns_ = columns;
  }

  // Reads the prompt at the end of this output; `is_secret`: a password is being read. Returns whether it looks like a
  // question.
  bool read_prompt(const std::string& output, bool is_secret, const base::SecretSet& secrets);
  // The question about the prompt that was read last, without secrets.
  struct PromptQuestion {
    model::Approval approval;
    // What the screen shows around the prompt.
    std::string dialog;
  };
  PromptQuestion make_question(const std::string& tool, bool is_secret, const base::SecretSet& secrets) const;

  // The decision that will be typed, with its secret.
  void expect(model::Approval decision, std::optional<std::string> secret = {});
  // The decision as keystrokes for that prompt, kept for last_answer(); the secret is forgotten. Nothing if there is
  // nothing to type.
  std::optional<keeper::Answer> make_answer(base::ApprovalId id, std::uint32_t serial);
  // The same for a fixed text.
  keeper::Answer make_fixed_answer(const std::string& text, std::uint32_t serial);
  const keeper::Answer& last_answer() const noexcept { return answer_; }

 private:
  int rows_;
  int columns_;
  std::optional<term::ScreenQuestion> screen_;
  std::optional<model::Approval> decision_;
  std::optional<std::string> secret_;
  keeper::Answer answer_;
};

}  // namespace reeve::runtime
