#include <filesystem>
#include <map>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/commands/start_run.h"
#include "cli/connect.h"
#include "cli/environment.h"
#include "cli/live/stdin_source.h"
#include "cli/live/trust_notice.h"
#include "os/terminal.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;

[[noreturn]] void refuse_value(std::string_view option, std::string_view value, std::string_view expected) {
  throw base::Error(ErrorCode::cli_usage, fmt::format("{} is not a valid value for `{}`", base::quoted(value), option),
                    std::string(expected));
}

// JSON carries only text, so other bytes in a command are refused instead of being changed.
void require_text(std::string_view what, const std::string& word) {
  if (base::find_invalid_utf8(word)) {
    throw base::Error(ErrorCode::cli_usage, fmt::format("{} {} is not valid UTF-8", what, base::quoted(word)),
                      "put it into a script: reeve run -- ./script");
  }
}

void set_limits(const Call& call, Value& request) {
  for (const auto& [option, key] : {std::pair("--timeout", "timeout"), {"--no-output-timeout", "no_output_timeout"}}) {
    const auto value = call.arguments.value(option);
    if (!value) continue;
    if (!base::parse_time_limit(*value)) refuse_value(option, *value, fmt::format("{}, or off", base::duration_forms));
    request.set(key, Value::string(*value));
  }
  for (const auto& [option, key] : {std::pair("--on-stall", "on_stall"), {"--liveness", "liveness"}}) {
    if (const auto value = call.arguments.value(option)) request.set(key, Value::string(*value));
  }
  if (const auto value = call.arguments.value("--on-prompt")) {
    const bool is_known = *value == "approve" || *value == "fail" || value->starts_with("answer=");
    if (!is_known) refuse_value("--on-prompt", *value, "one of: approve, fail, answer=TEXT");
    request.set("on_prompt", Value::string(*value));
  }
}

// RUN-9: with a profile, the profile decides. Where a stream is redirected, a terminal would merge or change it. A job
// in the background may not use the terminal, and a client inside a run that watched it would look like a prompt.
bool wants_terminal(const Call& call) {
  const Arguments& given = call.arguments;
  if (given.has("--pty") && given.has("--no-pty")) {
    throw base::Error(ErrorCode::cli_usage, "`--pty` and `--no-pty` exclude each other", "give one of them");
  }
  if (given.has("--pty")) return true;
  for (const char* other : {"--no-pty", "--tool", "--prompt", "--stdin", "--detach"}) {
    if (given.has(other)) return false;
  }
  const bool is_at_terminal =
      os::is_terminal(STDIN_FILENO) && os::is_terminal(STDOUT_FILENO) && os::is_terminal(STDERR_FILENO);
  const bool is_own = ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() && !is_inside_run();
  return is_at_terminal && is_own && !call.is_json;
}

RunEnds find_ends(const Call& call) {
  RunEnds ends{.has_terminal = wants_terminal(call), .source = {}};
  // The daemon refuses both together.
  if (!ends.has_terminal || call.arguments.has("--stdin")) ends.source = find_stdin_source(call);
  return ends;
}

// The body of POST /api/runs.
enum class Place { here, elsewhere };

Value make_run_request(const Call& call, Place place, const RunEnds& ends) {
  const std::vector<std::string>& argv = call.arguments.positionals();
  const auto tool = call.arguments.value("--tool");
  if (argv.empty() && !tool) {
    throw base::Error(ErrorCode::cli_usage, "no command to run", "reeve run -- COMMAND, or reeve run --tool NAME");
  }
  Value request = Value::object();
  Value::Array words;
  for (const std::string& word : argv) {
    require_text("the argument", word);
    words.push_back(Value::string(word));
  }
  request.set("argv", Value::array(std::move(words)));
  if (tool) request.set("tool", Value::string(*tool));
  if (const auto prompt = call.arguments.value("--prompt")) request.set("prompt", Value::string(*prompt));
  const auto folder = call.arguments.value("--cwd");
  // The current folder and environment mean nothing on another machine.
  if (place == Place::elsewhere && !(folder && folder->starts_with('/'))) {
    throw base::Error(ErrorCode::cli_usage, "the daemon may be on another machine, so the working folder must be given",
                      "add --cwd with the folder on that machine");
  }
  const auto cwd = std::filesystem::absolute(folder.value_or(".")).lexically_normal();
  require_text("the folder", cwd.string());
  // Without the trailing slash that "." leaves.
  request.set("cwd", Value::string((cwd.has_filename() ? cwd : cwd.parent_path()).string()));
  request.set("environment", place == Place::here ? own_environment() : Value::object());
  request.set("env", read_pairs(call, "--env"));
  request.set("clean_env", Value::boolean(call.arguments.has("--clean-env")));
  set_limits(call, request);
  // Otherwise the profile decides.
  if (ends.has_terminal) request.set("mode", Value::string("pty"));
  if (const auto word = call.arguments.value("--execution")) {
    const auto id = base::ExecutionId::parse(*word);
    if (!id) refuse_value("--execution", *word, "ids of executions look like EX-9");
    request.set("execution_id", Value::string(id->text()));
  }
  request.set("metadata", read_pairs(call, "--meta"));
  if (ends.source) request.set("standard_input", Value::string(base::spell(ends.source->use)));
  if (call.arguments.has("--queue")) request.set("queue", Value::boolean(true));
  if (const auto priority = read_priority(call)) request.set("priority", Value::integer(*priority));
  const auto size = os::terminal_size(STDIN_FILENO).value_or(os::TerminalSize{});
  request.set("rows", Value::integer(size.rows));
  request.set("columns", Value::integer(size.columns));
  return request;
}

ExitCode run(const Call& call) {
  client::Daemon daemon(patient_place(call));
  RunEnds ends = find_ends(call);
  Value request = make_run_request(call, is_elsewhere(daemon.place()) ? Place::elsewhere : Place::here, ends);
  if (!is_elsewhere(daemon.place())) {
    // Otherwise the project that encloses the run's folder.
    const auto project = project_here(daemon.place());
    if (project) request.set("project", Value::string(*project));
    tell_trust(project ? *project : *request.find("cwd")->as_string(),
               call.arguments.has("--tool") ? Brings::commands : Brings::nothing);
  }
  return start_run(call, daemon, std::move(ends), [&] { return client::create_run(daemon, request); });
}

constexpr std::string_view about =
    R"(Runs the command under supervision: its output is passed through, the time limits of the config or of these
options apply, and it continues if this terminal or the daemon dies. Only `--tool` selects a profile of the
config; the words after `--` are then appended to the profile's command. A terminal shows the output byte for
byte; in output to a pipe or file, secrets are masked. When the reader of the output ends, the run is cancelled.

At a terminal, a command without `--tool` gets a terminal of its own, like with `--pty`: keys are forwarded to
it as they are pressed, including Ctrl-C; Ctrl-P Ctrl-Q detaches. It does not if an output is redirected, in the
background, inside a run, or with `--no-pty`. Then Ctrl-C cancels the run (SIGTERM to its whole process tree,
SIGKILL after a grace time), and a second Ctrl-C kills it. Closing the terminal leaves it running; `reeve attach`
reconnects to it.

Standard input that is not a terminal reaches the tool as fast as it reads, then its end (not with a terminal
of its own, or where its prompt is sent). The first 16 MiB are kept until the run has ended, because a run that
is started again, after an approval or an interruption, reads them again; a longer input refuses that. If this
program is killed before the end of the input, the run fails; if it had sent nothing, the tool reads the end.
`--stdin FILE` sends a file, `--stdin none` nothing. With `--detach`, the input is read to its end first; one of
more than 16 MiB is refused, and nothing is started.

With `--queue`, or `supervision.queue: always` in the config, the run waits for its turn: no more than
`supervision.max_parallel_runs` runs of the queue and of workflows are alive at once, those that wait for an
approval not counted. Runs start by priority, then in order. A client that leaves does not lose the place;
`reeve cancel` gives it up.

With `--json`, no output is passed through, and the record is printed at the end.

Exit codes: 0 completed; the tool's own code when it failed; 1 failed for another reason; 90 waiting for an
approval (`--no-wait`); 124 timed out; 126 the command cannot be executed; 127 it was not found; 128+N
ended by signal N; 130 cancelled; 141 the reader of its output is gone; 2 wrong usage; 5 denied by policy; 6 no daemon could be started.)";

}  // namespace

Command make_run() {
  return {
      .name = "run",
      .summary = "Run a tool under supervision",
      .about = about,
      .examples = {{"reeve run -- pytest -q", "supervise a command, with its output"},
                   {"reeve run --tool claude --prompt \"Fix the build\"", "a tool of the config"},
                   {"reeve run --timeout 2h --on-stall kill -- make", "with its own limits"},
                   {"reeve run --pty -- codex", "with a terminal; Ctrl-P Ctrl-Q detaches"},
                   {"git diff | reeve run --tool claude --prompt \"Review this\"", "with standard input"},
                   {"reeve run --detach -- ./nightly.sh", "print its id and return"},
                   {"reeve run --detach --queue -- make", "the same, when it is its turn"}},
      .positionals = {{.name = "CMD",
                       .help = "the command and its arguments",
                       .is_required = false,
                       .is_repeatable = true,
                       .is_foreign = true}},
      .options =
          {{.name = "--tool", .value = "NAME", .help = "a tool of the config"},
           {.name = "--prompt", .value = "TEXT", .help = "what the tool should do"},
           {.name = "--timeout", .value = "TIME", .help = "time limit: 90s, 30m, off"},
           {.name = "--no-output-timeout", .value = "T", .help = "stalled after this long silent and idle"},
           {.name = "--on-stall",
            .value = "WHAT",
            .help = "when stalled: mark it or kill it",
            .choices = {"mark", "kill"}},
           {.name = "--liveness",
            .value = "SIGN",
            .help = "what counts as a sign of life: activity (CPU, I/O, output) or output",
            .choices = {"activity", "output"}},
           {.name = "--pty", .help = "give it its own terminal"},
           {.name = "--no-pty", .help = "give it none, also at a terminal"},
           {.name = "--stdin", .value = "FROM", .help = "its standard input: none, pipe (this one), or a file"},
           {.name = "--on-prompt", .value = "WHAT", .help = "when it prompts there: approve, fail, answer=TEXT"},
           {.name = "--cwd", .value = "DIR", .help = "working folder"},
           {.name = "--env", .value = "NAME=VALUE", .help = "set an environment variable", .is_repeatable = true},
           {.name = "--clean-env", .help = "pass only the allow-listed part of your environment"},
           {.name = "--execution", .value = "EX", .help = "the execution it belongs to"},
           {.name = "--meta", .value = "NAME=VALUE", .help = "metadata to keep with the record", .is_repeatable = true},
           {.name = "--queue", .help = "wait until fewer than `max_parallel_runs` runs use a slot"},
           {.name = "--priority", .value = "N", .help = "in the queue: higher first, from -100 to 100"},
           {.name = "--detach", .help = "print its id and return at once"},
           {.name = "--no-wait", .help = "exit with code 90 when an approval is needed"}},
      .run = run,
  };
}

}  // namespace reeve::cli
