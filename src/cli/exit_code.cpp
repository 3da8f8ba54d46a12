#include "cli/exit_code.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/error_code.h"
#include "client/refusal.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
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

// "signal 9" → 9.
int signal_of(std::string_view reason) {
  constexpr std::string_view word = "signal ";
  int number = 0;
  if (reason.starts_with(word)) std::from_chars(reason.data() + word.size(), reason.data() + reason.size(), number);
  return number > 0 && number < 128 ? number : 0;
}

}  // namespace

const std::vector<ExitMeaning>& exit_meanings() {
  static const std::vector<ExitMeaning> meanings = {
      {"0", "done"},
      {"1", "failed, rejected, or claimed success with a failure marker"},
      {"2", "wrong usage, or an invalid file"},
      {"3", "not found"},
      {"4", "conflict: already decided, or not waiting"},
      {"5", "denied by policy"},
      {"6", "no daemon, or no store, can be reached"},
      {"90", "waiting for an approval (`--no-wait`)"},
      {"124", "timed out"},
      {"126", "the command cannot be executed"},
      {"127", "the command was not found"},
      {"128 + N", "ended by signal N"},
      {"130", "cancelled"},
      {"141", "the reader of the output is gone"},
  };
  return meanings;
}

ExitCode exit_code_of(const base::Error& error) {
  const base::ErrorRow* row = base::find_row(error.code());
  const ExitCode own = row != nullptr ? static_cast<ExitCode>(row->exit_code) : ExitCode::failed;
  const auto* refusal = dynamic_cast<const client::Refusal*>(&error);
  if (refusal == nullptr || error.is(ErrorCode::daemon_unavailable)) return own;
  // The daemon responds, but its store does not.
  const bool is_silent = error.is(ErrorCode::store_busy) || error.is(ErrorCode::store_unavailable) ||
                         error.is(ErrorCode::store_unknown_outcome);
  if (refusal->status() == 503 && is_silent) return ExitCode::no_daemon;
  for (const auto& [status, code] : by_status) {
    if (refusal->status() == status) return code;
  }
  return ExitCode::failed;
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
