#include "runtime/terminal_answer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::runtime {

namespace {

using base::Value;

// In canonical mode the terminal makes a newline of it, a program in raw mode takes it for the key.
constexpr char enter = '\r';
constexpr char interrupt = '\x03';
constexpr std::size_t most_typed = 4'000;

constexpr std::string_view choice_word = "choices";
constexpr std::string_view text_word = "text";
constexpr std::string_view secret_word = "secret";

std::string_view kind_of(const model::Approval& approval) {
  const Value* kind = approval.arguments ? approval.arguments->find("prompt") : nullptr;
  const std::string* word = kind != nullptr ? kind->as_string() : nullptr;
  return word != nullptr ? std::string_view(*word) : choice_word;
}

// What is neither a plain yes nor a plain no lets the program go on in some way: whoever picks it means it (APR-3).
bool says_no(const term::Choice& choice) {
  static constexpr auto words = std::to_array<std::string_view>(
      {"n", "no", "none", "never", "q", "quit", "exit", "stop", "abort", "cancel", "reject", "deny", "don't", "skip"});
  const auto first = [](std::string_view text) {
    const std::size_t end = text.find_first_of(" ,.:;!()");
    return base::to_ascii_lower(text.substr(0, end));
  };
  const auto is_no = [&](const std::string& text) { return std::ranges::find(words, text) != words.end(); };
  return is_no(first(choice.value)) || is_no(first(choice.label));
}

}  // namespace

model::Approval make_terminal_question(const std::string& tool, const term::ScreenQuestion& seen, bool is_secret) {
  model::Approval approval;
  approval.delivery = model::Delivery::terminal;
  approval.secret = is_secret;
  approval.question = seen.question.empty() ? fmt::format("{} waits at its terminal", tool) : seen.question;
  std::string_view kind = choice_word;
  if (is_secret) {
    kind = secret_word;
    approval.options = {{"secret", "Give the secret", true}, {"reject", "Interrupt it", false}};
  } else if (seen.choices.empty()) {
    kind = text_word;
    approval.options = {
        {"answer", "Type the comment", true}, {"enter", "Press Enter", true}, {"reject", "Interrupt it", false}};
  } else {
    for (const term::Choice& choice : seen.choices) {
      approval.options.push_back({choice.value, choice.label, choice.approves || !says_no(choice)});
    }
    approval.default_value = seen.default_value;
  }
  Value arguments = Value::object();
  arguments.set("prompt", Value::string(kind));
  approval.arguments = std::move(arguments);
  return approval;
}

std::string one_line(std::string_view text) {
  std::string line(base::truncate_utf8(text, most_typed));
  std::erase_if(line, [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == '\x7f'; });
  return line;
}

std::string make_keystrokes(const model::Approval& decided, const std::optional<std::string>& secret) {
  const std::string_view kind = kind_of(decided);
  const std::string value = decided.chosen_value.value_or("");
  if (!decided.chosen_value) return std::string(1, interrupt);
  if (kind == choice_word) return one_line(value) + enter;
  if (decided.status != model::ApprovalStatus::approved) return std::string(1, interrupt);
  if (kind == secret_word) return one_line(secret.value_or("")) + enter;
  return (value == "answer" ? one_line(decided.comment.value_or("")) : std::string()) + enter;
}

}  // namespace reeve::runtime
