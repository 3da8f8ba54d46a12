#include "cli/live/ask_person.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/shown_id.h"
#include "os/fd.h"
#include "os/terminal.h"
#include "project/project.h"
#include "view/approval_text.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

constexpr std::size_t longest_secret = 4'096;

// The option meant: a number from 1, or the value itself.
const model::ApprovalOption* find_meant(const std::vector<model::ApprovalOption>& options, std::string_view line) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  // A numeric word that is itself an option's value means that value.
  const auto found = std::ranges::find(options, line, &model::ApprovalOption::value);
  if (found != options.end()) return &*found;
  const bool is_number = error == std::errc() && end == line.data() + line.size();
  return is_number && number >= 1 && number <= options.size() ? &options[number - 1] : nullptr;
}

void remove_last_character(std::string& text) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (!text.empty() && continues(text.back())) text.pop_back();
  if (!text.empty()) text.pop_back();
}

enum class Typed { more, done, given_up };

Typed take_key(std::string& secret, char key) {
  switch (key) {
    case '\r':
    case '\n':
      return Typed::done;
    case '\x03':
      return Typed::given_up;
    case '\x04':
      return secret.empty() ? Typed::given_up : Typed::done;
    case '\x15':
      secret.clear();
      return Typed::more;
    case '\x7f':
    case '\b':
      remove_last_character(secret);
      return Typed::more;
    default:
      if (secret.size() < longest_secret) secret += key;
      return Typed::more;
  }
}

}  // namespace

bool can_ask() {
  return os::is_terminal(STDIN_FILENO) && os::is_terminal(STDOUT_FILENO) && !project::variable("CI") &&
         !project::variable("REEVE_NO_INPUT");
}

std::optional<std::string> ask_choice(const Call& call, const model::Approval& approval) {
  std::vector<model::ApprovalOption> options;
  std::ranges::copy_if(approval.options, std::back_inserter(options), model::approves);
  print_aside("{} {}\n{}", shown_id(call, approval.approval_id.text()), view::question_line(approval),
              view::numbered_options(options, call.err));
  while (true) {
    print_aside("{}", call.err.words(fmt::format("Choose 1–{}, or press Enter to cancel: ", options.size())));
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    const std::string_view word = base::trim(line);
    if (word.empty()) return std::nullopt;
    if (const auto* option = find_meant(options, word)) return option->value;
    print_aside("{} is not one of the options\n", base::quoted(word));
  }
}

std::optional<std::string> ask_line(std::string_view prompt) {
  print_aside("{}", prompt);
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return std::string(base::trim(line));
}

std::optional<std::string> ask_secret(std::string_view prompt) {
  const os::Fd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC));
  if (terminal.get() < 0) return std::nullopt;
  const auto say = [&](std::string_view text) {
    static_cast<void>(!::write(terminal.get(), text.data(), text.size()));
  };
  const os::RawTerminal raw(terminal.get());
  say(prompt);
  std::string secret;
  while (true) {
    std::array<char, 256> keys{};
    const ssize_t count = ::read(terminal.get(), keys.data(), keys.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    for (const char key : std::string_view(keys.data(), static_cast<std::size_t>(count))) {
      const Typed typed = take_key(secret, key);
      if (typed == Typed::more) continue;
      say("\r\n");
      return typed == Typed::done ? std::optional(secret) : std::nullopt;
    }
  }
}

std::string read_secret() {
  std::string secret;
  std::array<char, 4'096> bytes{};
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) base::throw_errno(ErrorCode::file_unreadable, "cannot read standard input", errno);
    if (count == 0) break;
    secret.append(bytes.data(), static_cast<std::size_t>(count));
    // One byte more than the limit, for the final newline.
    if (secret.size() > longest_secret + 1) break;
  }
  if (secret.ends_with('\n')) secret.pop_back();
  if (secret.size() > longest_secret) {
    throw base::Error(ErrorCode::cli_usage, fmt::format("a secret can have at most {} bytes", longest_secret));
  }
  if (base::find_invalid_utf8(secret) || secret.find('\0') != std::string::npos) {
    throw base::Error(ErrorCode::cli_usage, "the secret is not valid text (UTF-8 without NUL)",
                      "type it into the terminal: reeve attach");
  }
  return secret;
}

}  // namespace reeve::cli
