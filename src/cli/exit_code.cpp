#include "cli/exit_code.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "client/refusal.h"

namespace reeve::cli {

namespace {

using model::RunStatus;

constexpr auto by_status = std::to_array<std::pair<int, ExitCode>>({
    {400, ExitCode::usage},
    {413, ExitCode::usage},
    {415, ExitCode::usage},
    {422, ExitCode::usage},
    {404, ExitCode::not_found},
    {409, ExitCode::conflict},
    {412, ExitCode::conflict},
    {401, ExitCode::denied},
    {403, ExitCode::denied},
});

// By the part of a code after its area.
constexpr auto by_ending = std::to_array<std::pair<std::string_view, ExitCode>>({
    {"not_found", ExitCode::not_found},
    {"no_file", ExitCode::not_found},
    {"conflict", ExitCode::conflict},
    {"illegal_move", ExitCode::conflict},
    {"not_running", ExitCode::conflict},
    {"denied", ExitCode::denied},
    {"usage", ExitCode::usage},
    {"secret_needed", ExitCode::usage},
    {"given_up", ExitCode::cancelled},
    {"too_large", ExitCode::usage},
    {"unreadable", ExitCode::usage},
});

// "signal 9" → 9.
int signal_of(std::string_view reason) {
  constexpr std::string_view word = "signal ";
  int number = 0;
  if (reason.starts_with(word)) std::from_chars(reason.data() + word.size(), reason.data() + reason.size(), number);
  return number > 0 && number < 128 ? number : 0;
}

}  // namespace

ExitCode exit_code_of(const base::Error& error) {
  if (error.code() == "daemon.unavailable") return ExitCode::no_daemon;
  if (const auto* refusal = dynamic_cast<const client::Refusal*>(&error)) {
    // The daemon responds, but its store does not.
    const bool is_silent =
        error.code() == "store.busy" || error.code() == "store.unavailable" || error.code() == "store.unknown_outcome";
    if (refusal->status() == 503 && is_silent) return ExitCode::no_daemon;
    for (const auto& [status, code] : by_status) {
      if (refusal->status() == status) return code;
    }
    return ExitCode::failed;
  }
  const std::string_view code = error.code();
  // No daemon can be started there.
  if (code.starts_with("state.")) return ExitCode::no_daemon;
  if (code == "config.invalid") return ExitCode::usage;
  const std::string_view ending = code.substr(code.find('.') + 1);
  for (const auto& [word, exit] : by_ending) {
    if (ending == word) return exit;
  }
  return ending.starts_with("already_") ? ExitCode::conflict : ExitCode::failed;
}

ExitCode exit_code_of(const model::Run& run) {
  switch (run.status) {
    case RunStatus::completed:
      return ExitCode::done;
    case RunStatus::failed_timeout:
      return ExitCode::timed_out;
    case RunStatus::cancelled:
      return ExitCode::cancelled;
    case RunStatus::failed:
      break;
    default:
      return ExitCode::waiting;
  }
  // After a signal there is no exit code; 0 is a tool that claims success despite a failure marker (RUN-6).
  if (const int number = signal_of(run.reason.value_or("")); number > 0) return static_cast<ExitCode>(128 + number);
  // 90 means waiting; a run that was rejected or whose question expired is no longer waiting.
  if (run.exit_code == static_cast<int>(ExitCode::waiting)) return ExitCode::failed;
  if (run.exit_code.value_or(0) != 0) return static_cast<ExitCode>(*run.exit_code);
  return ExitCode::failed;
}

}  // namespace reeve::cli
