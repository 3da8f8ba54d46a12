#include <csignal>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/exit_code.h"
#include "cli/live/controls.h"
#include "cli/live/follow.h"
#include "cli/shown_id.h"
#include "os/terminal.h"

namespace reeve::cli {

namespace {

// Enough to show the current screen.
constexpr std::int64_t look_back_bytes = 64 * 1024;

ExitCode run(const Call& call) {
  client::Daemon daemon(patient_place(call));
  const base::RunId id = find_run(daemon, call.arguments.positional(0));
  const auto present = client::get_run(daemon, id);
  if (model::is_final(present.run.status)) {
    throw base::Error(base::ErrorCode::run_not_running,
                      fmt::format("{} has already ended ({})", id.text(), base::spell(present.run.status)),
                      fmt::format("see its output: reeve logs {}", id.text()));
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::optional<Controls> controls(std::in_place, call, daemon.place(), Controls::Interrupt::leaves,
                                   call.is_json ? Controls::Input::none : Controls::Input::everything);
  const bool is_typed = !call.is_json && os::is_terminal(STDIN_FILENO);
  if (is_typed)
    print_beside(
        call, fmt::format("attached to {}; Ctrl-P Ctrl-Q detaches and leaves it running", shown_id(call, id.text())));
  controls->begin(id);
  RunFollower follower(call, daemon, id, {.attempt = present.run.attempt, .offset = -look_back_bytes});
  follower.await_turn(present.run);
  const auto record = follower.follow(client::Until::final);
  controls.reset();
  if (follower.has_lost_reader()) return ExitCode::reader_gone;
  print_ending(call, daemon, record.run);
  if (call.is_json) print_json(call, record.wire);
  const ExitCode code = exit_code_of(record.run);
  return code == ExitCode::done && follower.has_failed() ? ExitCode::failed : code;
}

}  // namespace

Command make_attach() {
  return {
      .name = "attach",
      .summary = "Attach to the terminal of a run",
      .about =
          R"(Shows the last 64 KiB of output and everything that follows, byte for byte, and forwards the terminal size
and every key as it is pressed, including Ctrl-C. Ctrl-P Ctrl-Q detaches: the run continues and the terminal
is restored. If standard input is not a terminal, its contents are sent to the run.

Secrets are masked in output that is not a terminal.

Exit codes: 0 detached; otherwise as for `reeve run`; 3 no such run, 4 it has already ended; 141 the reader of
the output is gone, and the run continues.)",
      .examples = {{"reeve attach TR-17", "Ctrl-P Ctrl-Q leaves it running"},
                   {"echo yes | reeve attach @last", "answer the newest run"}},
      .positionals = {{.name = "ID", .help = "TR-17, or @last for the newest run", .is_id = true}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
