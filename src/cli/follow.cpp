#include "cli/follow.h"

#include <cerrno>
#include <poll.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/controls.h"
#include "cli/question_teller.h"
#include "client/refusal.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

using client::Until;
using model::RunStatus;

// Between two looks whether the next attempt has begun.
constexpr base::Milliseconds glance = std::chrono::seconds(2);
constexpr base::Milliseconds long_wait = std::chrono::seconds(30);

// 0, or the errno of what went wrong.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno == EAGAIN) {
      // A terminal that somebody else made non-blocking.
      pollfd wanted{.fd = fd, .events = POLLOUT, .revents = 0};
      static_cast<void>(::poll(&wanted, 1, -1));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

std::string fix_for(const model::Run& run) {
  const std::string reason = run.reason.value_or("");
  const std::string id = run.tool_run_id.text();
  if (run.status == RunStatus::failed_timeout) return fmt::format("see `reeve logs {}`, or give it more time", id);
  if (reason.starts_with("command not found")) return "is it installed, and in PATH?";
  if (reason.starts_with("not executable")) return "make it executable: chmod +x";
  if (reason.starts_with("no program")) return "does it lack a #! line?";
  if (reason.find("working folder") != std::string::npos) return "name one that exists: --cwd";
  if (reason.find("rgument list too long") != std::string::npos) return "pass it by a file, or with --prompt";
  if (reason.find("interpreter") != std::string::npos) return "install it, or mend its #! line";
  if (reason.find("stdin") != std::string::npos) return "answer it live: reeve run --pty, or see --on-prompt";
  return fmt::format("see what it said: reeve logs {}", id);
}

}  // namespace

client::RunRecord RunFollower::follow(Until until) {
  std::optional<QuestionTeller> teller;
  if (until == Until::final) teller.emplace(call_, daemon_.place(), Subjects{.runs = {id_}});
  while (true) {
    const bool passes_by = has_readers_ && !call_.is_json;
    if (passes_by) follow_attempt();
    auto record = client::wait_run(daemon_, id_, Until::final_or_waiting, passes_by ? glance : long_wait);
    if (record.run.attempt > place_.attempt) {
      place_ = {.attempt = place_.attempt + 1};
      continue;
    }
    if (model::is_final(record.run.status)) return record;
    if (record.run.status != RunStatus::waiting_approval) continue;
    if (until == Until::final_or_waiting) return record;
    client::wait_run(daemon_, id_, Until::final, glance);
  }
}

void RunFollower::follow_attempt() {
  const auto write = [this](model::Stream stream, std::string_view bytes) { return write_out(stream, bytes); };
  const auto gap = [this](std::uint64_t bytes) {
    print_beside(call_, fmt::format("… {} bytes of older output are not kept any more", bytes));
  };
  try {
    client::follow_output(daemon_, id_, place_, write, gap);
  } catch (const client::Refusal& refusal) {
    // An attempt that never printed has no output; of one that cannot be read from its end everything is shown.
    if (refusal.status() == 404) return;
    if (place_.offset >= 0) throw;
    place_.offset = 0;
    follow_attempt();
  }
}

bool RunFollower::write_out(model::Stream stream, std::string_view bytes) {
  const int error = write_all(stream == model::Stream::out ? STDOUT_FILENO : STDERR_FILENO, bytes);
  if (error == 0) return true;
  // As in a pipeline whose reader left; the run is not his and goes on.
  has_readers_ = false;
  if (error != EPIPE) {
    failure_ = error;
    print_beside(call_, fmt::format("error[cli.output]: cannot write the output of {}: {}", id_.text(),
                                    std::generic_category().message(error)));
  }
  return false;
}

void print_ending(const Call& call, const model::Run& run) {
  const std::string reason = run.reason.value_or("");
  const bool is_own_code = run.status == RunStatus::failed && run.exit_code.value_or(0) != 0 &&
                           (reason.empty() || reason.starts_with("exit_code"));
  if (run.status == RunStatus::completed || is_own_code || call.is_json) return;
  const view::Look look = view::look_of(run.status);
  std::string_view word = run.status == RunStatus::failed_timeout ? "timed out" : base::spell(run.status);
  if (run.status == RunStatus::waiting_approval) word = "waits for an approval";
  std::string text = fmt::format("{} {} {}", call.err.paint(look.tint, call.err.pick(look.sign, look.ascii)),
                                 run.tool_run_id.text(), word);
  const bool says_why = !reason.empty() && run.status != RunStatus::waiting_approval;
  if (says_why) text += ": " + base::visible(reason);
  print_beside(call, text);
  if (run.status == RunStatus::waiting_approval) print_next(call, "reeve approvals");
  const bool has_failed = run.status == RunStatus::failed || run.status == RunStatus::failed_timeout;
  if (has_failed) print_beside(call, "  = fix: " + fix_for(run));
}

}  // namespace reeve::cli
