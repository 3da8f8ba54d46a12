#include "cli/commands/start_run.h"

#include <charconv>
#include <csignal>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/exit_code.h"
#include "cli/live/controls.h"
#include "cli/live/follow.h"
#include "cli/live/stdin_sender.h"
#include "cli/shown_id.h"

namespace reeve::cli {

namespace {

// As in a shell pipeline whose reader has ended: the run ends too, unless it just has.
ExitCode cancel_unread(const Call& call, client::Daemon& daemon, const model::Run& run) {
  if (model::is_final(run.status)) return ExitCode::reader_gone;
  try {
    client::cancel_run(daemon, run.tool_run_id, {.reason = "the reader of its output is gone"});
    print_beside(call,
                 fmt::format("cancelled {}: the reader of its output is gone", shown_id(call, run.tool_run_id.text())));
  } catch (const base::Error& error) {
    if (exit_code_of(error) != ExitCode::conflict) throw;
  }
  return ExitCode::reader_gone;
}

ExitCode detach(const Call& call, client::Daemon& daemon, const RunEnds& ends,
                const std::function<client::RunRecord()>& create) {
  client::RunRecord record = create();
  const base::RunId id = record.run.tool_run_id;
  if (ends.source) send_all(daemon, id, *ends.source);
  if (call.is_json) {
    print_json(call, record.wire);
    return ExitCode::done;
  }
  fmt::print("{}\n", shown_id(call, id.text()));
  if (record.run.status == model::RunStatus::queued) print_turn(call, record.run);
  print_next(call, fmt::format("reeve logs -f {}", id.text()));
  return ExitCode::done;
}

ExitCode follow(const Call& call, client::Daemon& daemon, RunEnds ends,
                const std::function<client::RunRecord()>& create) {
  // A closed pipe is reported by write() instead.
  std::signal(SIGPIPE, SIG_IGN);
  const bool is_typed = ends.has_terminal && !call.is_json;
  std::optional<Controls> controls(std::in_place, call, daemon.place(), Controls::Interrupt::cancels,
                                   is_typed ? Controls::Input::keys : Controls::Input::none);
  const client::RunRecord created = create();
  const base::RunId id = created.run.tool_run_id;
  controls->begin(id);
  std::optional<StdinSender> sender;
  if (ends.source) sender.emplace(call, daemon.place(), id, std::move(*ends.source));
  RunFollower follower(call, daemon, id, {.attempt = created.run.attempt});
  follower.await_turn(created.run);
  const client::RunRecord record =
      follower.follow(call.arguments.has("--no-wait") ? client::Until::final_or_waiting : client::Until::final);
  sender.reset();
  controls.reset();
  if (follower.has_lost_reader()) return cancel_unread(call, daemon, record.run);
  print_ending(call, daemon, record.run);
  if (call.is_json) print_json(call, record.wire);
  const ExitCode code = exit_code_of(record.run);
  return code == ExitCode::done && follower.has_failed() ? ExitCode::failed : code;
}

}  // namespace

std::optional<std::int64_t> read_priority(const Call& call) {
  constexpr std::int64_t most = 100;
  const auto word = call.arguments.value("--priority");
  if (!word) return std::nullopt;
  std::int64_t priority = 0;
  const char* last = word->data() + word->size();
  const auto [end, error] = std::from_chars(word->data(), last, priority);
  if (error != std::errc() || end != last || priority < -most || priority > most) {
    throw base::Error(base::ErrorCode::cli_usage,
                      fmt::format("{} is not a valid value for `--priority`", base::quoted(*word)),
                      "a whole number from -100 to 100");
  }
  return priority;
}

ExitCode start_run(const Call& call, client::Daemon& daemon, RunEnds ends,
                   const std::function<client::RunRecord()>& create) {
  if (!call.arguments.has("--detach")) return follow(call, daemon, std::move(ends), create);
  if (ends.source) read_to_end(call, *ends.source);
  return detach(call, daemon, ends, create);
}

}  // namespace reeve::cli
