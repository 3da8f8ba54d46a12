#include "cli/live/follow.h"

#include <cerrno>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/live/controls.h"
#include "cli/live/question_notifier.h"
#include "cli/shown_id.h"
#include "client/refusal.h"
#include "os/terminal.h"
#include "os/write.h"
#include "view/run_text.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

using client::Until;
using model::RunStatus;

// The interval between checks for the next attempt.
constexpr base::Milliseconds poll_interval = std::chrono::seconds(2);
constexpr base::Milliseconds long_wait = std::chrono::seconds(30);

std::string fix_for(const model::Run& run) {
  const std::string reason = run.reason.value_or("");
  const std::string id = run.tool_run_id.text();
  if (run.status == RunStatus::failed_timeout) return fmt::format("see `reeve logs {}`, or raise the limit", id);
  if (reason.starts_with("command not found")) return "check that it is installed and in PATH";
  if (reason.starts_with("not executable")) return "make it executable: chmod +x";
  if (reason.starts_with("no program")) return "is its #! line missing?";
  if (reason.find("working folder") != std::string::npos) return "use a folder that exists: --cwd DIR";
  if (reason.find("rgument list too long") != std::string::npos) return "pass it in a file, or with --prompt";
  if (reason.find("interpreter") != std::string::npos) return "install it, or correct the #! line";
  if (reason.find("stdin") != std::string::npos) return "answer it live: reeve run --pty, or see --on-prompt";
  return fmt::format("see its output: reeve logs {}", id);
}

// The stored reason, with the option that decided the outcome.
std::string shown_reason(const model::Run& run) {
  const std::string reason = run.reason.value_or("");
  if (reason == "blocked on stdin") return "asked a question and nobody could answer (--on-prompt fail)";
  const bool is_silent = run.status == RunStatus::failed_timeout && reason.starts_with("no output");
  return base::visible(reason) + (is_silent ? " (--no-output-timeout)" : "");
}

}  // namespace

client::RunRecord RunFollower::follow(Until until) {
  std::optional<QuestionNotifier> notifier;
  if (until == Until::final) notifier.emplace(call_, daemon_.place(), Subjects{.runs = {id_}});
  while (true) {
    const bool passes_by = has_readers_ && !call_.is_json;
    if (passes_by) follow_attempt(until);
    if (has_lost_reader_) return client::get_run(daemon_, id_);
    auto record = client::wait_run(daemon_, id_, Until::final_or_waiting, passes_by ? poll_interval : long_wait);
    if (record.run.attempt > place_.attempt) {
      place_ = {.attempt = place_.attempt + 1};
      continue;
    }
    if (model::is_final(record.run.status)) return record;
    tell_limit(record.run);
    if (record.run.status != RunStatus::waiting_approval) continue;
    if (until == Until::final_or_waiting) return record;
    client::wait_run(daemon_, id_, Until::final, poll_interval);
  }
}

// Once for each attempt that reached a usage limit.
void RunFollower::tell_limit(const model::Run& run) {
  const bool is_told = told_limit_ >= run.attempt || call_.is_json;
  if (is_told || run.status != RunStatus::queued || !run.not_before) return;
  told_limit_ = run.attempt;
  const std::string id = shown_id(call_, run.tool_run_id.text());
  const std::string note = view::limit_note(*run.not_before, base::SystemClock().wall_now());
  print_beside(call_, fmt::format("{}: {}; to end it: reeve cancel {}", id, note, id));
}

void RunFollower::await_turn(const model::Run& run) {
  if (run.status != RunStatus::queued) return;
  if (!call_.is_json) print_turn(call_, run);
  while (client::wait_run(daemon_, id_, Until::begun, long_wait).run.status == RunStatus::queued) continue;
}

void print_turn(const Call& call, const model::Run& run) {
  const std::string id = shown_id(call, run.tool_run_id.text());
  print_beside(call, fmt::format("{} waits for its turn; to leave the queue: reeve cancel {}", id, id));
}

void RunFollower::follow_attempt(Until until) {
  const auto write = [this](model::Stream stream, std::string_view bytes) { return write_out(stream, bytes); };
  const auto gap = [this](std::uint64_t bytes) {
    print_beside(call_, fmt::format("… {} bytes of older output are no longer available", bytes));
  };
  const bool is_private = os::is_terminal(STDOUT_FILENO) && os::is_terminal(STDERR_FILENO);
  client::OutputTerms terms{.form = is_private ? client::OutputForm::raw : client::OutputForm::masked};
  // A process that waits at its terminal does not end its output.
  client::Daemon observer(daemon_.place());
  if (until == Until::final_or_waiting) {
    terms.is_over = [&] { return client::get_run(observer, id_).run.status == RunStatus::waiting_approval; };
  }
  try {
    client::follow_output(daemon_, id_, place_, write, gap, terms);
  } catch (const client::Refusal& refusal) {
    // An attempt that never printed has no output; one that cannot be read from its end is shown from the start.
    if (refusal.status() == 404) return;
    if (place_.offset >= 0) throw;
    place_.offset = 0;
    follow_attempt(until);
  }
}

bool RunFollower::write_out(model::Stream stream, std::string_view bytes) {
  if (os::write_all(stream == model::Stream::out ? STDOUT_FILENO : STDERR_FILENO, bytes)) return true;
  const int error = errno;
  has_readers_ = false;
  has_lost_reader_ = error == EPIPE;
  if (error != EPIPE) {
    failure_ = error;
    print_beside(call_,
                 fmt::format("error[{}]: cannot write the output of {}: {}", base::spell(base::ErrorCode::cli_output),
                             shown_id(call_, id_.text()), std::generic_category().message(error)));
  }
  return false;
}

void print_ending(const Call& call, client::Daemon& daemon, const model::Run& run) {
  const std::string reason = run.reason.value_or("");
  // The tool itself has reported why.
  const bool is_own_code = run.status == RunStatus::failed && run.exit_code.value_or(0) != 0 &&
                           (reason.empty() || reason.starts_with("exit_code"));
  if (run.status == RunStatus::completed || call.is_json) return;
  const view::Look look = view::look_of(run.status);
  const bool is_overdue = run.status == RunStatus::failed_timeout && reason == "timeout";
  std::string_view word = run.status == RunStatus::failed_timeout ? "killed" : base::spell(run.status);
  if (is_overdue) word = "exceeded its time limit";
  if (run.status == RunStatus::waiting_approval) word = "is waiting for an approval";
  std::string text = fmt::format("{} {} {}", call.err.paint(look.tint, call.err.pick(look.sign, look.ascii)),
                                 shown_id(call, run.tool_run_id.text()), word);
  const bool says_why = !reason.empty() && !is_overdue && run.status != RunStatus::waiting_approval;
  if (is_own_code) {
    text += fmt::format(": exit code {}", *run.exit_code);
  } else if (says_why) {
    text += ": " + shown_reason(run);
  }
  print_beside(call, text);
  if (run.status == RunStatus::waiting_approval) print_next(call, show_question_of(daemon, run.tool_run_id));
  const bool has_failed = run.status == RunStatus::failed || run.status == RunStatus::failed_timeout;
  if (has_failed && !is_own_code) print_beside(call, "  = fix: " + with_prefix(call, fix_for(run)));
}

}  // namespace reeve::cli
