#include "runtime/runs/run_terminal.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "runtime/runs/terminal_answer.h"

namespace reeve::runtime {

bool RunTerminal::read_prompt(const std::string& output, bool is_secret, const base::SecretSet& secrets) {
  screen_ = term::read_question(output, rows_, columns_, is_secret);
  // LOG-4: a secret that was wrapped by the terminal, or has scrolled off the screen in part, is hidden before the
  // screen is drawn. What can be chosen is read from the real one.
  const std::string shown = base::redact(secrets, output);
  if (shown != output) {
    term::ScreenQuestion redacted = term::read_question(shown, rows_, columns_, is_secret);
    screen_->question = std::move(redacted.question);
    screen_->lines = std::move(redacted.lines);
    screen_->prompt_line = redacted.prompt_line;
  }
  return screen_->looks_like_question;
}

RunTerminal::PromptQuestion RunTerminal::make_question(const std::string& tool, bool is_secret,
                                                       const base::SecretSet& secrets) const {
  model::Approval approval = make_terminal_question(tool, screen_.value(), is_secret);
  std::vector<std::string> asked;
  for (const std::string_view line : base::split(approval.question, '\n')) asked.emplace_back(line);
  approval.question = base::join(hide_on_screen(std::move(asked), secrets), "\n");
  for (model::ApprovalOption& option : approval.options) option.label = base::redact(secrets, option.label);
  ScreenContext screen = make_screen_context(*screen_, secrets);
  if (!screen.text.empty()) approval.context = std::move(screen.text);
  return {.approval = std::move(approval), .dialog = std::move(screen.dialog)};
}

void RunTerminal::expect(model::Approval decision, std::optional<std::string> secret) {
  decision_ = std::move(decision);
  secret_ = std::move(secret);
}

std::optional<keeper::Answer> RunTerminal::make_answer(base::ApprovalId id, std::uint32_t serial) {
  const auto decision = std::exchange(decision_, std::nullopt);
  const auto secret = std::exchange(secret_, std::nullopt);
  const auto keys = decision ? make_keystrokes(*decision, secret) : std::nullopt;
  if (!keys) return std::nullopt;
  answer_ = {static_cast<std::uint64_t>(id.number()), serial, *keys};
  return answer_;
}

keeper::Answer RunTerminal::make_fixed_answer(const std::string& text, std::uint32_t serial) {
  answer_ = {serial, serial, one_line(text) + "\r"};
  return answer_;
}

}  // namespace reeve::runtime
