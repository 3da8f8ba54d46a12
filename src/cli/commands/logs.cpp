#include <charconv>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/live/interrupt_message.h"
#include "cli/live/question_notifier.h"
#include "client/lines.h"
#include "client/refusal.h"
#include "client/runs.h"
#include "json/fields.h"
#include "view/safe_text.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;

// Prints output lines from the daemon (redacted): sanitized on a terminal, otherwise unchanged.
class LinePrinter {
 public:
  explicit LinePrinter(const Call& call, JsonListing::Form form) : call_(call), listing_(form) {}

  void print(const Value& line, std::string_view margin) {
    if (call_.is_json) {
      listing_.add(line);
      return;
    }
    const std::string text = json::text_of(line, "text");
    if (!call_.out_is_terminal) {
      fmt::print("{}{}{}", margin, text, margin.empty() || text.ends_with('\n') ? "" : "\n");
      return;
    }
    // A piece of a long line does not end the line (RUN-16).
    const Value* partial = line.find("partial");
    const bool is_piece = partial != nullptr && partial->as_bool() != nullptr && *partial->as_bool();
    std::string_view rest = text;
    if (margin.empty()) print_return(rest, is_piece);
    do {
      const std::size_t end = rest.find('\n');
      const bool is_last = end == std::string_view::npos || end + 1 == rest.size();
      fmt::print("{}{}{}", margin, view::safe_line(rest.substr(0, end)),
                 is_last && is_piece && margin.empty() ? "" : "\n");
      rest.remove_prefix(is_last ? rest.size() : end + 1);
    } while (!rest.empty());
  }
  void end() {
    if (call_.is_json) listing_.end();
  }

 private:
  // An unfinished line that was overwritten with \r is overwritten here too; of complete lines only the last text is
  // shown.
  void print_return(std::string_view text, bool is_piece) {
    const bool writes_over =
        is_inside_ && (returns_ || text.substr(0, text.find_last_not_of("\r\n") + 1).contains('\r'));
    if (writes_over) fmt::print("\r\x1b[K");
    is_inside_ = is_piece;
    returns_ = is_piece && text.ends_with('\r');
  }

  const Call& call_;
  JsonListing listing_;
  // Whether the last print was a piece of a line, and whether it ended with a carriage return.
  bool is_inside_ = false;
  bool returns_ = false;
};

void stream_lines(client::Daemon& daemon, const std::function<std::string()>& target,
                  const std::function<void(const Value&)>& print) {
  client::JsonLines lines;
  const auto begin = [&](const client::Response&) { lines.clear(); };
  const auto take = [&](std::string_view bytes) {
    lines.add(bytes);
    while (const auto line = lines.next()) print(*line);
    // Flushed, so that output appears at once and Ctrl-C loses nothing.
    return std::fflush(stdout) == 0;
  };
  daemon.follow({.question = [&] { return client::Request{.target = target()}; }, .begin = begin, .take = take});
}

struct RunLog {
  base::RunId id;
  int attempt = 1;
  // The position as returned by the daemon.
  std::string next = "0";
};

// Prints one attempt from the position of `log` to its current end or, with `follows`, until the attempt ends.
void show_attempt(client::Daemon& daemon, RunLog& log, bool follows, LinePrinter& printer) {
  const auto target = [&] {
    return fmt::format("/api/runs/{}/output?attempt={}&from={}&follow={}&format=json", log.id.text(), log.attempt,
                       log.next, follows ? 1 : 0);
  };
  const auto print = [&](const Value& line) {
    printer.print(line, "");
    if (std::string next = json::text_of(line, "next"); !next.empty()) log.next = std::move(next);
  };
  try {
    stream_lines(daemon, target, print);
  } catch (const client::Refusal& refusal) {
    // The run exists, but an attempt that never printed has no output.
    if (refusal.status() != 404) throw;
  }
}

int attempt_of(const Call& call, const model::Run& run) {
  const auto word = call.arguments.value("--attempt");
  if (!word) return run.attempt;
  int attempt = 0;
  const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), attempt);
  if (error != std::errc() || end != word->data() + word->size() || attempt < 1 || attempt > run.attempt) {
    throw base::Error(ErrorCode::cli_usage,
                      fmt::format("{} is not an attempt of {}", base::quoted(*word), run.tool_run_id.text()),
                      fmt::format("--attempt must be 1 to {}", run.attempt));
  }
  return attempt;
}

void show_run(const Call& call, client::Daemon& daemon, bool follows, LinePrinter& printer) {
  constexpr base::Milliseconds poll_interval = std::chrono::seconds(2);
  const base::RunId id = find_run(daemon, call.arguments.positional(0));
  const auto record = client::get_run(daemon, id);
  RunLog log{.id = id, .attempt = attempt_of(call, record.run)};
  const bool goes_on = follows && !call.arguments.has("--attempt");
  std::optional<QuestionNotifier> notifier;
  if (goes_on) notifier.emplace(call, daemon.place(), Subjects{.runs = {id}});
  while (true) {
    show_attempt(daemon, log, follows, printer);
    if (!goes_on) return;
    const auto now = client::wait_run(daemon, id, client::Until::final, poll_interval);
    if (now.run.attempt > log.attempt) {
      log = {.id = log.id, .attempt = log.attempt + 1};
    } else if (model::is_final(now.run.status)) {
      return;
    }
  }
}

void show_all(const Call& call, client::Daemon& daemon, bool follows, LinePrinter& printer) {
  const auto target = [&] { return fmt::format("/api/log?follow={}", follows ? 1 : 0); };
  stream_lines(daemon, target, [&](const Value& line) {
    const bool is_output = json::text_of(line, "event") == "tool_output";
    if (!is_output && !call.is_json) return;
    const std::string id = base::visible(json::text_of(line, "tool_run_id"));
    printer.print(line, fmt::format("{} {} ", call.out.paint(view::Tint::dim, id), call.out.pick("│", "|")));
  });
}

ExitCode run(const Call& call) {
  const bool is_all = call.arguments.has("--all");
  if (is_all != call.arguments.positionals().empty()) {
    throw base::Error(ErrorCode::cli_usage,
                      is_all ? "an id and `--all` cannot be combined" : "which run? Give an id (TR-17) or --all",
                      "reeve logs TR-17, or reeve logs --all");
  }
  const bool follows = call.arguments.has("--follow");
  client::Daemon daemon(follows ? patient_place(call) : daemon_place(call));
  const InterruptMessage watching("stopped watching; runs continue; to cancel one: reeve cancel ID");
  LinePrinter printer(call, follows ? JsonListing::Form::lines : JsonListing::Form::array);
  if (is_all) {
    show_all(call, daemon, follows, printer);
  } else {
    show_run(call, daemon, follows, printer);
  }
  printer.end();
  return ExitCode::done;
}

}  // namespace

Command make_logs() {
  return {
      .name = "logs",
      .summary = "Show the output of a run",
      .about =
          R"(Shows standard output and error in order, with secrets replaced by ***. On a terminal, escape sequences are
removed; when piped, the text is unchanged. `-f` follows until the run ends, across attempts and daemon
restarts; Ctrl-C stops watching and the run continues. `--all` shows the logged output of all runs, each
line with its run; with `-f`, from now on.

With `--json`, prints one array of lines (attempt, stream, offset, next, at, text); with `-f` as well, one
document per line.

Exit codes: 0 done, 3 no such run, 130 Ctrl-C.)",
      .examples = {{"reeve logs TR-17", "the output of its latest attempt"},
                   {"reeve logs -f @last", "follow the newest run"},
                   {"reeve logs --all -f", "follow all of them"}},
      .positionals =
          {{.name = "ID", .help = "TR-17, or @last for the newest run", .is_required = false, .is_id = true}},
      .options = {{.name = "--follow", .help = "follow until the run ends", .brief = "-f"},
                  {.name = "--all", .help = "show the output of all runs"},
                  {.name = "--attempt", .value = "N", .help = "show this attempt instead of the latest"}},
      .run = run,
  };
}

}  // namespace reeve::cli
