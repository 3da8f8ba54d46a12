#include "cli/live/answer_line.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/live/confirm.h"
#include "view/approval_text.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

constexpr std::chrono::milliseconds time_to_read{500};
constexpr std::size_t longest_answer = 2'000;

constexpr std::size_t max_of_question = 3;
constexpr std::size_t max_of_description = 2;

const model::ApprovalOption* find_option(const std::vector<model::ApprovalOption>& options, std::string_view word) {
  // A numeric word that is itself an option's value means that value.
  const auto found = std::ranges::find(options, word, &model::ApprovalOption::value);
  if (found != options.end()) return &*found;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  return is_number && number >= 1 && number <= options.size() ? &options[number - 1] : nullptr;
}

// The available columns and rows, and whether something did not fit.
struct Room {
  std::size_t columns;
  bool ascii;
  bool is_cut = false;

  std::string fit(std::string_view text, std::size_t width) {
    is_cut = is_cut || base::display_width(text) > width;
    return base::fit_width(text, width, ascii);
  }

  // Wraps at blanks if possible, two columns narrower than the room; cuts the last line.
  std::vector<std::string> wrap(std::string_view text, std::size_t most) {
    const std::size_t width = columns - 2;
    std::vector<std::string> lines;
    if (most == 0) is_cut = true;
    while (!text.empty() && lines.size() < most) {
      if (lines.size() + 1 == most || base::display_width(text) <= width) {
        lines.push_back(fit(text, width));
        break;
      }
      std::size_t end = 0;
      std::size_t blank = 0;
      while (base::display_width(text.substr(0, end + base::first_character(text.substr(end)).length)) <= width) {
        if (text[end] == ' ') blank = end;
        end += base::first_character(text.substr(end)).length;
      }
      if (text[end] == ' ') blank = end;
      const std::size_t length = blank > 0 ? blank : std::max<std::size_t>(end, 1);
      lines.emplace_back(text.substr(0, length));
      text = base::trim(text.substr(length));
    }
    return lines;
  }
};

// On one line if all options fit, else one line each: every option must be visible, above all those that reject.
std::vector<std::string> option_lines(const std::vector<model::ApprovalOption>& options, Room& room) {
  std::string line = " ";
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string words = base::visible(options[i].label.empty() ? options[i].value : options[i].label);
    const bool is_plain = model::approves(options[i]) == model::approves({.value = words, .label = {}, .approves = {}});
    line += fmt::format(" {} {}{} ", i + 1, words, is_plain || model::approves(options[i]) ? "" : " (rejects)");
  }
  if (base::display_width(line) <= room.columns) return {line};
  const std::string text = view::numbered_options(options, {});
  std::vector<std::string> lines;
  for (const std::string_view option : base::split(text, '\n')) {
    if (lines.size() == options.size()) break;
    const std::string_view mark = model::approves(options[lines.size()]) ? "" : "  (rejects)";
    lines.push_back(room.fit(option, room.columns - std::min(mark.size(), room.columns)) + std::string(mark));
  }
  return lines;
}

// The workflow author's description of the question, on one line.
std::string description_of(const model::Approval& approval) {
  const base::Value* found = approval.arguments ? approval.arguments->find("description") : nullptr;
  if (found == nullptr || found->as_string() == nullptr) return {};
  model::Approval said;
  said.question = *found->as_string();
  return view::question_line(said);
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
  unconfirmed_.reset();
  complaint_.clear();
}

AnswerLine::Pressed AnswerLine::press(std::string_view keys, base::BootTime now) {
  Pressed pressed;
  // Keys that send several bytes (arrows, bracketed paste) are ignored.
  const bool is_sequence = keys.size() > 1 && keys.front() == '\x1b';
  for (const char key : is_sequence ? std::string_view() : keys) {
    if (key == '\x03') {
      pressed.leaves = true;
      return pressed;
    }
    if (!question_ || question_->secret || now - asked_at_ < time_to_read) continue;
    complaint_.clear();
    if (key == '\r' || key == '\n') {
      pressed.answer = take_line();
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

std::optional<AnswerLine::Answer> AnswerLine::take_line() {
  if (auto waiting = std::exchange(unconfirmed_, std::nullopt)) {
    if (is_confirmation(waiting->approval, typed_)) return waiting;
    complaint_ = "not confirmed; nothing was decided";
    return std::nullopt;
  }
  auto answer = read();
  if (!answer) {
    if (!base::trim(typed_).empty()) complaint_ = std::move(answer.error());
    return std::nullopt;
  }
  const bool approves = answer->verdict.word == client::Verdict::Word::approve;
  if (!approves || answer->approval.risk == model::Risk::low) return std::move(*answer);
  unconfirmed_ = std::move(*answer);
  return std::nullopt;
}

std::expected<AnswerLine::Answer, std::string> AnswerLine::read() const {
  const std::string_view line = base::trim(typed_);
  const std::string_view word = line.substr(0, line.find(' '));
  // The whole text may be the value of an option.
  const auto* whole = find_option(question_->options, line);
  const auto* option = whole != nullptr ? whole : find_option(question_->options, word);
  if (line.empty() || option == nullptr || base::find_invalid_utf8(line)) {
    return std::unexpected(fmt::format("{} is not one of the options", base::quoted(line)));
  }
  Answer answer{.approval = *question_, .verdict = {}};
  answer.verdict.word = model::approves(*option) ? client::Verdict::Word::approve : client::Verdict::Word::reject;
  answer.verdict.choice = option->value;
  const std::string_view rest = whole != nullptr ? std::string_view() : base::trim(line.substr(word.size()));
  const bool is_text = model::takes_text(*question_) && option->value == model::text_option;
  if (is_text && rest.empty()) {
    return std::unexpected(fmt::format("the text to type follows: {} TEXT", base::visible(line)));
  }
  if (!rest.empty()) (is_text ? answer.verdict.answer : answer.verdict.comment) = std::string(rest);
  return answer;
}

std::string AnswerLine::hint(bool is_cut, std::size_t columns) const {
  const std::string id = question_->approval_id.text();
  if (unconfirmed_) {
    const client::Verdict& verdict = unconfirmed_->verdict;
    // Short enough that the end of the line, which says what to type, stays visible.
    constexpr std::size_t max_chosen = 24;
    const std::string chosen =
        base::fit_width(base::visible(verdict.answer.value_or(verdict.choice.value_or(""))), max_chosen, true);
    const bool is_high = question_->risk == model::Risk::high;
    const bool is_plain = !verdict.answer && chosen == "approve";
    const std::string what = fmt::format("{} {}{}", verdict.answer ? "Answer" : "Approve", id,
                                         is_plain ? std::string() : fmt::format(" with {}", chosen));
    return fmt::format("  {}? {}  {}", what, is_high ? "Type " + id + " to confirm." : "[y/N]",
                       view::risk_text(*question_));
  }
  if (model::takes_text(*question_)) return "  number, the text to type, Enter";
  const std::string full = fmt::format("  number, optional comment, Enter; full text: reeve show {}", id);
  if (!is_cut) return "  number and Enter; text after it is kept as a comment";
  // On a narrow terminal, the command that shows the hidden text is more useful than the usage hint.
  return base::display_width(full) > columns ? fmt::format("  full text: reeve show {}", id) : full;
}

std::vector<std::string> AnswerLine::lines(const view::Style& style, std::size_t columns, std::size_t rows) const {
  if (!question_) return {};
  const view::Look look = view::look_of(question_->status);
  const std::string id = question_->approval_id.text();
  Room room{.columns = columns > 12 ? columns - 1 : 11, .ascii = style.ascii};
  std::vector<std::string> options;
  if (!question_->secret) options = option_lines(question_->options, room);
  // Rows besides the options: the blank line, the hint and the input line. Options take precedence over the
  // description.
  constexpr std::size_t fixed = 3;
  const std::size_t left = std::max<std::size_t>(rows, fixed + 2) - fixed;
  if (options.size() + 1 > left) {
    options.resize(left - 1);
    room.is_cut = true;
  }
  std::vector<std::string> lines = {""};
  std::string sign = style.paint(look.tint, style.pick(look.sign, look.ascii)) + " ";
  const std::string question =
      fmt::format("{} {} asks: {}", id, view::asker_text(*question_), view::question_line(*question_));
  for (std::string& line : room.wrap(question, std::min(max_of_question, left - options.size()))) {
    lines.push_back(std::exchange(sign, "  ") + line);
  }
  const std::size_t used = lines.size() - 1 + options.size();
  const std::string description = description_of(*question_);
  if (!description.empty()) {
    for (std::string& line : room.wrap(description, std::min(max_of_description, left - std::min(used, left)))) {
      lines.push_back("  " + style.paint(view::Tint::dim, line));
    }
  }
  if (question_->secret) {
    lines.push_back(base::fit_width(fmt::format("  needs a secret: reeve approve {}", id), room.columns, room.ascii));
    return lines;
  }
  lines.insert(lines.end(), options.begin(), options.end());
  const std::string what = complaint_.empty() ? hint(room.is_cut, room.columns) : "  " + style.words(complaint_);
  lines.push_back(style.paint(view::Tint::dim, base::fit_width(what, room.columns, room.ascii)));
  // The end of a long answer stays visible, because the cursor is there.
  std::string typed = base::visible(typed_);
  while (base::display_width(typed) + 4 > room.columns) typed.erase(0, base::first_character(typed).length);
  lines.push_back("> " + typed);
  return lines;
}

}  // namespace reeve::cli
