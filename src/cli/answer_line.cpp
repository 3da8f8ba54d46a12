#include "cli/answer_line.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"
#include "view/approval_text.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

constexpr std::chrono::milliseconds time_to_read{500};
constexpr std::size_t longest_answer = 2'000;

const model::ApprovalOption* find_option(const std::vector<model::ApprovalOption>& options, std::string_view word) {
  // A value that reads like a number is the value.
  const auto found = std::ranges::find(options, word, &model::ApprovalOption::value);
  if (found != options.end()) return &*found;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  return is_number && number >= 1 && number <= options.size() ? &options[number - 1] : nullptr;
}

void remove_last_character(std::string& text) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (!text.empty() && continues(text.back())) text.pop_back();
  if (!text.empty()) text.pop_back();
}

}  // namespace

void AnswerLine::ask(const std::optional<model::Approval>& question, base::BootTime now) {
  const bool is_same =
      question.has_value() == question_.has_value() && (!question || question->approval_id == question_->approval_id);
  if (is_same) return;
  question_ = question;
  asked_at_ = now;
  typed_.clear();
  complaint_.clear();
}

AnswerLine::Pressed AnswerLine::press(std::string_view keys, base::BootTime now) {
  Pressed pressed;
  // Of a key that sends several bytes (arrows, pasted brackets) nothing is typed.
  const bool is_sequence = keys.size() > 1 && keys.front() == '\x1b';
  for (const char key : is_sequence ? std::string_view() : keys) {
    if (key == '\x03') {
      pressed.leaves = true;
      return pressed;
    }
    if (!question_ || question_->secret || now - asked_at_ < time_to_read) continue;
    complaint_.clear();
    if (key == '\r' || key == '\n') {
      pressed.answer = read();
      if (!pressed.answer && !base::trim(typed_).empty()) {
        complaint_ = fmt::format("{} is none of them", base::quoted(base::trim(typed_)));
      }
      typed_.clear();
      return pressed;
    }
    if (key == '\x7f' || key == '\b') {
      remove_last_character(typed_);
    } else if (key == '\x15' || key == '\x1b') {
      typed_.clear();
    } else if (static_cast<unsigned char>(key) >= 0x20 && typed_.size() < longest_answer) {
      typed_ += key;
    }
  }
  return pressed;
}

std::optional<AnswerLine::Answer> AnswerLine::read() const {
  const std::string_view line = base::trim(typed_);
  const std::string_view word = line.substr(0, line.find(' '));
  // The whole of it may be the value of an option.
  const auto* whole = find_option(question_->options, line);
  const auto* option = whole != nullptr ? whole : find_option(question_->options, word);
  if (line.empty() || option == nullptr || base::find_invalid_utf8(line)) return std::nullopt;
  Answer answer{.approval = question_->approval_id, .verdict = {}};
  answer.verdict.word = model::approves(*option) ? client::Verdict::Word::approve : client::Verdict::Word::reject;
  answer.verdict.choice = option->value;
  const std::string_view comment = whole != nullptr ? std::string_view() : base::trim(line.substr(word.size()));
  if (!comment.empty()) answer.verdict.comment = std::string(comment);
  return answer;
}

std::vector<std::string> AnswerLine::lines(const view::Style& style, std::size_t columns) const {
  if (!question_) return {};
  const view::Look look = view::look_of(question_->status);
  const std::string id = question_->approval_id.text();
  const std::size_t room = columns > 12 ? columns - 1 : 11;
  const auto fit = [&](const std::string& text) { return base::fit_width(text, room, style.ascii); };
  std::vector<std::string> lines = {""};
  const std::string question =
      fmt::format("{} {} asks: {}", id, view::asker_text(*question_), view::question_line(*question_));
  lines.push_back(style.paint(look.tint, style.pick(look.sign, look.ascii)) + " " +
                  base::fit_width(question, room - 2, style.ascii));
  if (question_->secret) {
    lines.push_back(fit(fmt::format("  it wants a secret: reeve approve {}", id)));
    return lines;
  }
  std::string options = " ";
  for (std::size_t i = 0; i < question_->options.size(); ++i) {
    const model::ApprovalOption& option = question_->options[i];
    options += fmt::format(" {} {} ", i + 1, base::visible(option.label.empty() ? option.value : option.label));
  }
  lines.push_back(fit(options));
  lines.push_back(
      style.paint(view::Tint::dim, fit(complaint_.empty() ? "  a number and Enter; words after it are kept as a comment"
                                                          : "  " + style.words(complaint_))));
  // The end of a long answer is where it is typed.
  std::string typed = base::visible(typed_);
  while (base::display_width(typed) + 4 > room) typed.erase(0, base::first_character(typed).length);
  lines.push_back("> " + typed);
  return lines;
}

}  // namespace reeve::cli
