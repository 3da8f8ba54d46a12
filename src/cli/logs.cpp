#include <charconv>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/question_teller.h"
#include "cli/watching.h"
#include "client/lines.h"
#include "client/refusal.h"
#include "client/runs.h"
#include "json/fields.h"
#include "view/safe_text.h"

namespace reeve::cli {

namespace {

using base::Value;

// Lines of output as the daemon sends them (redacted), to standard output: harmless on a terminal, else as they are.
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
    // A piece of a long line is no line (RUN-16).
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
  // What is written over in an unfinished line is written over here: of whole lines only the last writing is shown.
  void print_return(std::string_view text, bool is_piece) {
    const bool writes_over =
        is_inside_ && (returns_ || text.substr(0, text.find_last_not_of("\r\n") + 1).contains('\r'));
    if (writes_over) fmt::print("\r\x1b[K");
    is_inside_ = is_piece;
    returns_ = is_piece && text.ends_with('\r');
  }

  const Call& call_;
  JsonListing listing_;
  // A piece of a line was printed last, and it ended with a carriage return.
  bool is_inside_ = false;
  bool returns_ = false;
};

void stream_lines(client::Daemon& daemon, const std::function<std::string()>& target,
                  const std::function<void(const Value&)>& print) {
  client::JsonLines lines;
  const auto begin = [&](const client::Answer&) { lines.clear(); };
  const auto take = [&](std::string_view bytes) {
    lines.add(bytes);
    while (const auto line = lines.next()) print(*line);
    // What has come is to be seen, and Ctrl-C loses nothing.
    return std::fflush(stdout) == 0;
  };
  daemon.follow({.question = [&] { return client::Question{.target = target()}; }, .begin = begin, .take = take});
}

struct RunLog {
  base::RunId id;
  int attempt = 1;
  // As the daemon gave it.
  std::string next = "0";
};

// One attempt, from where `log` is to its present or, with `follows`, its real end.
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
    // The run is there; an attempt that never printed has no output.
    if (refusal.status() != 404) throw;
  }
}

int attempt_of(const Call& call, const model::Run& run) {
  const auto word = call.arguments.value("--attempt");
  if (!word) return run.attempt;
  int attempt = 0;
  const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), attempt);
  if (error != std::errc() || end != word->data() + word->size() || attempt < 1 || attempt > run.attempt) {
    throw base::Error("cli.usage", fmt::format("{} is no attempt of {}", base::quoted(*word), run.tool_run_id.text()),
                      fmt::format("it has {}", run.attempt));
  }
  return attempt;
}

void show_run(const Call& call, client::Daemon& daemon, bool follows, LinePrinter& printer) {
  constexpr base::Milliseconds glance = std::chrono::seconds(2);
  const base::RunId id = find_run(daemon, call.arguments.positional(0));
  const auto record = client::get_run(daemon, id);
  RunLog log{.id = id, .attempt = attempt_of(call, record.run)};
  const bool goes_on = follows && !call.arguments.has("--attempt");
  std::optional<QuestionTeller> teller;
  if (goes_on) teller.emplace(call, daemon.place(), Subjects{.runs = {id}});
  while (true) {
    show_attempt(daemon, log, follows, printer);
    if (!goes_on) return;
    const auto now = client::wait_run(daemon, id, client::Until::final, glance);
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
    throw base::Error("cli.usage", is_all ? "an id and `--all` exclude each other" : "whose output?",
                      "reeve logs TR-17, or reeve logs --all");
  }
  const bool follows = call.arguments.has("--follow");
  client::Daemon daemon(follows ? patient_place(call) : daemon_place(call));
  const Watching watching("stopped watching; what runs goes on, reeve cancel ID ends it");
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
      .summary = "What a run printed",
      .about = R"(Standard output and error in their order, with secrets replaced by ***. On a terminal escape sequences
are taken out; in a pipe the text is as it was. `-f` goes on until the run is over, over its attempts
and over restarts of the daemon; Ctrl-C stops watching, the run goes on. `--all` shows the output of all
runs as the log has it, each line with its run; with `-f` from now on.

With `--json` one array of lines (attempt, stream, offset, next, at, text), with `-f` too one document a
line.

Exit codes: 0 done, 3 no such run, 130 Ctrl-C.)",
      .examples = {{"reeve logs TR-17", "what its latest attempt printed"},
                   {"reeve logs -f @last", "follow the newest run"},
                   {"reeve logs --all -f", "follow all of them"}},
      .positionals = {{.name = "ID", .help = "TR-17, or @last for the newest run", .is_required = false}},
      .options = {{.name = "--follow", .help = "go on until the run is over", .brief = "-f"},
                  {.name = "--all", .help = "the output of all runs"},
                  {.name = "--attempt", .value = "N", .help = "that attempt instead of the latest"}},
      .run = run,
  };
}

}  // namespace reeve::cli
