#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/exit_code.h"
#include "cli/live/interrupt_message.h"
#include "cli/live/question_notifier.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/lines.h"
#include "client/refusal.h"
#include "client/runs.h"
#include "json/encode.h"
#include "json/fields.h"
#include "view/problem_text.h"
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

// "14:30", "14:30:05", "2026-01-31", "2026-01-31 14:30": local time, as people read it on a clock.
std::optional<base::WallTime> parse_local_time(const std::string& word) {
  const std::time_t now = std::time(nullptr);
  for (const char* form : {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%H:%M:%S", "%H:%M"}) {
    std::tm parts{};
    ::localtime_r(&now, &parts);
    const bool is_date = form[1] == 'Y';
    if (is_date) parts.tm_hour = parts.tm_min = 0;
    parts.tm_sec = 0;
    const char* end = ::strptime(word.c_str(), form, &parts);
    if (end == nullptr || *end != '\0') continue;
    parts.tm_isdst = -1;
    std::time_t time = std::mktime(&parts);
    if (time == -1) continue;
    // A time of day that is still to come was yesterday's.
    constexpr std::time_t day = 24 * 60 * 60;
    if (!is_date && time > now) time -= day;
    return base::WallTime(std::chrono::seconds(time));
  }
  return std::nullopt;
}

// `--grep`, `--since` and `--tail` as parameters of a request, each after an ampersand.
std::string selection_of(const Call& call) {
  std::string query;
  if (const auto word = call.arguments.value("--grep")) query += fmt::format("&grep={}", client::encode_part(*word));
  if (const auto word = call.arguments.value("--since")) {
    std::string since = *word;
    if (!base::parse_duration(since) && !base::parse_time(since)) {
      const auto time = parse_local_time(since);
      if (!time) {
        throw base::Error(ErrorCode::cli_usage,
                          fmt::format("{} is not a valid value for `--since`", base::quoted(since)),
                          "use a duration (10m, 2h) or a time (14:30, \"2026-01-31 14:30\", 2026-01-31T14:30:00Z)");
      }
      since = base::format_time(*time);
    }
    query += fmt::format("&since={}", client::encode_part(since));
  }
  if (const auto word = call.arguments.value("--tail")) {
    constexpr int most = 100'000;
    int count = 0;
    const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), count);
    if (error != std::errc() || end != word->data() + word->size() || count < 1 || count > most) {
      throw base::Error(ErrorCode::cli_usage, fmt::format("--tail must be 1 to {}", most));
    }
    query += fmt::format("&tail={}", count);
  }
  return query;
}

struct RunLog {
  base::RunId id;
  int attempt = 1;
  // The position as returned by the daemon.
  std::string next = "0";
  // See selection_of(); without `tail` once its lines were printed.
  std::string selection = {};
  // According to the run's record.
  bool has_printed = false;
};

// Prints one attempt from the position of `log` to its current end or, with `follows`, until the attempt ends.
void show_attempt(client::Daemon& daemon, RunLog& log, bool follows, LinePrinter& printer) {
  const auto target = [&] {
    return fmt::format("/api/runs/{}/output?attempt={}&from={}&follow={}&format=json{}", log.id.text(), log.attempt,
                       log.next, follows ? 1 : 0, log.selection);
  };
  const auto print = [&](const Value& line) {
    printer.print(line, "");
    if (std::string next = json::text_of(line, "next"); !next.empty()) log.next = std::move(next);
    // A request that is repeated after a lost connection continues here.
    if (const std::size_t tail = log.selection.find("&tail="); tail != std::string::npos) log.selection.resize(tail);
  };
  try {
    stream_lines(daemon, target, print);
  } catch (const client::Refusal& refusal) {
    // The run exists, but an attempt that never printed has no output. What was printed may have been removed since.
    const bool is_gone = log.next == "0" && log.has_printed;
    if (refusal.status() != 404 || is_gone) throw;
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
  RunLog log{.id = id,
             .attempt = attempt_of(call, record.run),
             .selection = selection_of(call),
             .has_printed = record.run.last_output_at.has_value() && model::is_final(record.run.status)};
  const bool goes_on = follows && !call.arguments.has("--attempt");
  std::optional<QuestionNotifier> notifier;
  if (goes_on) notifier.emplace(call, daemon.place(), Subjects{.runs = {id}});
  while (true) {
    show_attempt(daemon, log, follows, printer);
    if (!goes_on) return;
    const auto now = client::wait_run(daemon, id, client::Until::final, poll_interval);
    if (now.run.attempt > log.attempt) {
      log = {.id = log.id, .attempt = log.attempt + 1, .selection = log.selection};
    } else if (model::is_final(now.run.status)) {
      return;
    }
  }
}

// Output that cannot be read at this daemon, as a line of the response says.
ExitCode show_problem(const Call& call, const Value& problem) {
  const int status = static_cast<int>(json::integer_of(problem, "status").value_or(0));
  const client::Refusal refusal = client::make_refusal({.status = status, .body = json::encode(problem)});
  if (!call.is_json) print_aside("{}", with_prefix(call, view::error_text(refusal, call.err)));
  return exit_code_of(refusal);
}

// All runs of an execution and its subgraphs, each line with its run and node.
ExitCode show_execution(const Call& call, client::Daemon& daemon, base::ExecutionId id, bool follows,
                        LinePrinter& printer) {
  if (call.arguments.has("--attempt")) {
    throw base::Error(ErrorCode::cli_usage, "`--attempt` applies only to runs", "reeve logs TR-17 --attempt 1");
  }
  // Where each attempt was read up to, for a request that is repeated after a lost connection.
  std::map<std::string, std::int64_t> seen;
  const std::string selection = selection_of(call);
  ExitCode code = ExitCode::done;
  std::optional<QuestionNotifier> notifier;
  if (follows) notifier.emplace(call, daemon.place(), Subjects{.executions = {id}});
  const auto target = [&] {
    const std::size_t tail = seen.empty() ? std::string::npos : selection.find("&tail=");
    return fmt::format("/api/executions/{}/output?follow={}{}", id.text(), follows ? 1 : 0, selection.substr(0, tail));
  };
  stream_lines(daemon, target, [&](const Value& line) {
    if (const Value* problem = line.find("problem")) {
      code = show_problem(call, *problem);
      if (call.is_json) printer.print(line, "");
      return;
    }
    const std::string run = base::visible(json::text_of(line, "tool_run_id"));
    const Value* offset = line.find("offset");
    const Value* attempt = line.find("attempt");
    const bool is_numbered =
        offset != nullptr && offset->as_integer() != nullptr && attempt != nullptr && attempt->as_integer() != nullptr;
    if (is_numbered) {
      std::int64_t& last =
          seen.emplace(fmt::format("{}/{}/{}", run, *attempt->as_integer(), json::text_of(line, "stream")), -1)
              .first->second;
      if (*offset->as_integer() <= last) return;
      last = *offset->as_integer();
    }
    const std::string node = base::visible(json::text_of(line, "node_id"));
    const std::string name = node.empty() ? run : fmt::format("{} {}", run, node);
    printer.print(line, fmt::format("{} {} ", call.out.paint(view::Tint::dim, name), call.out.pick("│", "|")));
  });
  return code;
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
  for (const char* option : {"--grep", "--since", "--tail"}) {
    if (!is_all || !call.arguments.has(option)) continue;
    throw base::Error(ErrorCode::cli_usage, fmt::format("`{}` needs the id of a run or execution", option),
                      fmt::format("reeve logs TR-17 {} …", option));
  }
  client::Daemon daemon(follows ? patient_place(call) : daemon_place(call));
  const InterruptMessage watching("stopped watching; runs continue; to cancel one: reeve cancel ID");
  LinePrinter printer(call, follows ? JsonListing::Form::lines : JsonListing::Form::array);
  ExitCode code = ExitCode::done;
  if (is_all) {
    show_all(call, daemon, follows, printer);
  } else if (const auto execution = base::ExecutionId::parse(without_prefix(call.arguments.positional(0)))) {
    code = show_execution(call, daemon, *execution, follows, printer);
  } else {
    show_run(call, daemon, follows, printer);
  }
  printer.end();
  return code;
}

}  // namespace

Command make_logs() {
  return {
      .name = "logs",
      .summary = "Show the output of a run or execution",
      .about =
          R"(Shows standard output and error in order, with secrets replaced by ***. On a terminal, escape sequences are
removed; when piped, the text is unchanged. `-f` follows until the run ends, across attempts and daemon
restarts; Ctrl-C stops watching and the run continues. `--all` shows the logged output of all runs, each
line with its run; with `-f`, from now on. For an execution, shows the output of all its runs and those of
its subgraphs, merged by time, each line with its run and node.

`--grep` takes a regular expression (RE2) and sees the text after secrets are replaced. `--since` takes a
duration (10m, 2h) or a time (14:30, "2026-01-31 14:30", 2026-01-31T14:30:00Z). `--tail` counts the lines
that the other two leave; with `-f`, all that follow are shown too.

With `--json`, prints one array of lines (attempt, stream, offset, next, at, text); with `-f` as well, one
document per line. For output that another daemon has there is an entry `problem` instead.

Exit codes: 0 done, 3 no such run, 4 output is with another daemon, 130 Ctrl-C.)",
      .examples = {{"reeve logs TR-17", "the output of its latest attempt"},
                   {"reeve logs -f @last", "follow the newest run"},
                   {"reeve logs EX-9 --since 10m --grep 'error|warning'", "of all runs of an execution"},
                   {"reeve logs TR-17 --tail 50", "the last lines"},
                   {"reeve logs --all -f", "follow all of them"}},
      .positionals =
          {{.name = "ID", .help = "TR-17, EX-9, or @last for the newest run", .is_required = false, .is_id = true}},
      .options = {{.name = "--follow", .help = "follow until the run ends", .brief = "-f"},
                  {.name = "--all", .help = "show the output of all runs"},
                  {.name = "--grep", .value = "RE", .help = "only lines in which this regular expression matches"},
                  {.name = "--tail", .value = "N", .help = "only the last N of these lines"},
                  {.name = "--since", .value = "T", .help = "only lines since then: 10m, 14:30, or a full time"},
                  {.name = "--attempt", .value = "N", .help = "show this attempt instead of the latest"}},
      .run = run,
  };
}

}  // namespace reeve::cli
