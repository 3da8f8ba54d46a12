#include "runtime/runs/terminal_answer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::runtime {

namespace {

using base::Value;

// In canonical mode the terminal turns it into a newline; in raw mode programs read it as the Enter key.
constexpr char enter = '\r';
constexpr char interrupt = '\x03';
constexpr std::size_t max_typed = 4'000;

constexpr std::string_view choice_word = "choices";
constexpr std::string_view text_word = "text";
constexpr std::string_view secret_word = "secret";

std::string_view kind_of(const model::Approval& approval) {
  const Value* kind = approval.arguments ? approval.arguments->find("prompt") : nullptr;
  const std::string* word = kind != nullptr ? kind->as_string() : nullptr;
  return word != nullptr ? std::string_view(*word) : choice_word;
}

// How a label rejects. A rejection types the first of these kinds that is present.
enum class No { refuses, leaves, passes_over, not_said };

// Only unambiguous labels: "No, exit" but not "No-verify commit", "Cancel (esc)" but not "Cancel the contract". Without
// one, a rejection sends Ctrl-C, which is safe.
No read_no(std::string_view label) {
  static constexpr auto refusing = std::to_array<std::string_view>({"n", "no", "nope", "none", "never"});
  static constexpr auto leaving = std::to_array<std::string_view>(
      {"q", "quit", "exit", "stop", "abort", "cancel", "reject", "deny", "decline", "refuse"});
  // "Don't ask again" is a permanent yes.
  static constexpr auto lasting = std::to_array<std::string_view>({"ask", "show", "warn", "check", "verify"});
  const auto contains = [](const auto& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
  };
  const auto take_word = [](std::string_view& text) {
    const std::string_view word = text.substr(0, std::min(text.find_first_of(" ,.:;!?()"), text.size()));
    text = base::trim(text.substr(word.size()));
    return word;
  };
  std::string lower = base::to_ascii_lower(base::trim(label));
  constexpr std::string_view apostrophe = "\u2019";
  if (const std::size_t at = lower.find(apostrophe); at != std::string::npos) lower.replace(at, apostrophe.size(), "'");
  std::string_view rest = lower;
  const std::string_view word = take_word(rest);
  const bool negates = word == "don't" || (word == "do" && take_word(rest) == "not");
  if (negates) return contains(lasting, take_word(rest)) ? No::not_said : No::refuses;
  const bool goes_on = !rest.empty() && (base::is_ascii_letter(rest.front()) || base::is_ascii_digit(rest.front()));
  if (contains(refusing, word)) return goes_on ? No::not_said : No::refuses;
  const bool is_alone = rest.find_first_not_of(".!?") == std::string_view::npos || rest.front() == '(';
  if (!is_alone) return No::not_said;
  if (contains(leaving, word)) return No::leaves;
  return word == "skip" ? No::passes_over : No::not_said;
}

// Options that are neither a plain yes nor a plain no let the program continue in some way, so choosing one approves
// (APR-3). Among rejecting options, the plainest comes first, because a rejection types that one.
std::vector<model::ApprovalOption> make_options(const std::vector<term::Choice>& choices) {
  std::vector<model::ApprovalOption> options;
  std::optional<std::size_t> first;
  std::size_t plainest = 0;
  No best = No::not_said;
  for (const term::Choice& choice : choices) {
    const No no = choice.approves ? No::not_said : read_no(choice.label);
    if (no != No::not_said && !first) first = options.size();
    if (no < best) {
      best = no;
      plainest = options.size();
    }
    options.push_back({choice.value, choice.label, no == No::not_said});
  }
  const auto at = [&](std::size_t index) { return options.begin() + static_cast<std::ptrdiff_t>(index); };
  if (first) std::rotate(at(*first), at(plainest), at(plainest + 1));
  return options;
}

}  // namespace

model::Approval make_terminal_question(const std::string& tool, const term::ScreenQuestion& seen, bool is_secret) {
  model::Approval approval;
  approval.delivery = model::Delivery::terminal;
  approval.secret = is_secret;
  approval.question =
      seen.question.empty() ? fmt::format("{} is waiting for input at its terminal", tool) : seen.question;
  std::string_view kind = choice_word;
  if (is_secret) {
    kind = secret_word;
    approval.options = {{"secret", "Enter the secret", true}, {"reject", "Cancel the tool (Ctrl-C)", false}};
  } else if (seen.choices.empty()) {
    kind = text_word;
    approval.options = {{std::string(model::text_option), "Answer with text…", true},
                        {"reject", "Cancel the tool (Ctrl-C)", false}};
  } else {
    approval.options = make_options(seen.choices);
    approval.default_value = seen.default_value;
  }
  Value arguments = Value::object();
  arguments.set("prompt", Value::string(kind));
  approval.arguments = std::move(arguments);
  return approval;
}

std::string one_line(std::string_view text) {
  std::string line(base::truncate_utf8(text, max_typed));
  std::erase_if(line, [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == '\x7f'; });
  return line;
}

std::optional<std::string> make_keystrokes(const model::Approval& decided, const std::optional<std::string>& secret) {
  const std::string_view kind = kind_of(decided);
  const std::string value = decided.chosen_value.value_or("");
  if (!decided.chosen_value) return std::string(1, interrupt);
  if (kind == choice_word) return one_line(value) + enter;
  if (decided.status != model::ApprovalStatus::approved) return std::string(1, interrupt);
  if (kind == secret_word) {
    const std::string line = one_line(secret.value_or(""));
    return line.empty() ? std::nullopt : std::optional(line + enter);
  }
  // A question of an earlier version could also be answered with Enter alone.
  if (value != model::text_option) return std::string(1, enter);
  return decided.answer ? std::optional(one_line(*decided.answer) + enter) : std::nullopt;
}

}  // namespace reeve::runtime
