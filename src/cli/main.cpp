#include "cli/main.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/help.h"
#include "cli/hook_line.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/refusal.h"
#include "os/terminal.h"
#include "project/project.h"
#include "view/problem_text.h"
#include "wire/problem.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

bool is_set(const char* name) { return project::variable(name).has_value(); }
bool equals(const char* name, std::string_view value) { return project::variable(name) == value; }

// UX: on a terminal unless disabled by the user or the terminal; `always` and CLICOLOR_FORCE enable it.
bool wants_color(std::string_view when, int fd) {
  if (when == "always") return true;
  if (when == "never" || is_set("NO_COLOR") || equals("TERM", "dumb") || equals("CLICOLOR", "0")) return false;
  if (is_set("CLICOLOR_FORCE") && !equals("CLICOLOR_FORCE", "0")) return true;
  return os::is_terminal(fd);
}

bool locale_has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto value = project::variable(name);
    if (!value) continue;
    const std::string lower = base::to_ascii_lower(*value);
    return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
  }
  // Containers and cron often set no locale; their terminals handle UTF-8.
  return true;
}

Call make_call(Arguments arguments) {
  const std::string when = arguments.value("--color").value_or("auto");
  const bool ascii = arguments.has("--ascii") || equals("TERM", "dumb") || !locale_has_utf8();
  Call call{.arguments = std::move(arguments),
            .out = {.color = wants_color(when, STDOUT_FILENO),
                    .ascii = ascii,
                    .columns = os::terminal_columns(STDOUT_FILENO).value_or(0)},
            .err = {.color = wants_color(when, STDERR_FILENO), .ascii = ascii}};
  call.is_json = call.arguments.has("--json");
  call.out_is_terminal = os::is_terminal(STDOUT_FILENO);
  if (!call.arguments.ids().empty()) {
    if (auto split = split_prefixed_id(call.arguments.ids().front())) call.prefix = std::move(split->first);
  }
  return call;
}

ExitCode show_help(const HelpWanted& wanted, const Call& call) {
  if (wanted.command != nullptr) {
    fmt::print("{}", command_help(*wanted.command, wanted.is_full, call.out));
  } else {
    fmt::print("{}", overview(wanted.group, wanted.is_full, call.out));
  }
  return ExitCode::done;
}

ExitCode show_usage_error(const UsageError& error, const Call& call) {
  if (call.is_json) {
    print_json(call, wire::problem_document(base::Error(ErrorCode::cli_usage, error.message, error.hint)));
    return ExitCode::usage;
  }
  const std::string mark = fmt::format("error[{}]", base::spell(ErrorCode::cli_usage));
  std::string text = fmt::format("{}: {}\n", call.err.paint(view::Tint::red, mark), error.message);
  if (!error.hint.empty()) text += fmt::format("  = {}\n", error.hint);
  text += fmt::format("  = help: reeve {}{}-h\n", error.command, error.command.empty() ? "" : " ");
  print_aside("{}", call.err.words(text));
  return ExitCode::usage;
}

bool is_missing_record(const base::Error& error) {
  return error.is(ErrorCode::run_not_found) || error.is(ErrorCode::approval_not_found) ||
         error.is(ErrorCode::execution_not_found) || error.is(ErrorCode::patch_not_found);
}

ExitCode run(const std::vector<std::string>& words) {
  ParsedLine line = parse_command_line(words);
  const auto common = [&] { return make_call(find_common_options(words)); };
  if (const auto* error = std::get_if<UsageError>(&line)) return show_usage_error(*error, common());
  if (const auto* wanted = std::get_if<HelpWanted>(&line)) return show_help(*wanted, common());
  auto* alone = std::get_if<Alone>(&line);
  auto* parsed = std::get_if<ParsedCall>(&line);
  const Call call = make_call(std::move(alone != nullptr ? alone->arguments : parsed->arguments));
  try {
    return alone != nullptr ? show_overview(call) : parsed->command->run(call);
  } catch (const base::Error& error) {
    const auto* refusal = dynamic_cast<const client::Refusal*>(&error);
    const std::string elsewhere = is_missing_record(error) ? find_elsewhere(call) : std::string();
    if (call.is_json) {
      // The daemon's problem document, unchanged.
      print_json(call, refusal != nullptr ? refusal->document() : wire::problem_document(error));
    } else {
      print_aside("{}", with_prefix(call, view::error_text(error, call.err)));
      if (!elsewhere.empty()) print_aside("  = {}\n", elsewhere);
    }
    return exit_code_of(error);
  }
}

}  // namespace

int main(const std::vector<std::string>& words) noexcept {
  try {
    if (const auto line = find_hook_line(words)) return run_hook(*line);
    const ExitCode code = run(words);
    // A result that could not be written is a failure.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      print_aside("error[{}]: cannot write the result: {}\n", base::spell(ErrorCode::cli_output),
                  std::generic_category().message(errno));
      return is_hook_line(words) ? agents::blocking_exit_code : static_cast<int>(ExitCode::failed);
    }
    return static_cast<int>(code);
  } catch (const std::exception& error) {
    const std::string_view code = base::spell(ErrorCode::cli_failed);
    std::fprintf(stderr, "error[%.*s]: %s\n", static_cast<int>(code.size()), code.data(), error.what());
    // An agent runs the call after any other code.
    if (is_hook_line(words)) return agents::blocking_exit_code;
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace reeve::cli
