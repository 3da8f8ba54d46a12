#include <csignal>
#include <filesystem>
#include <map>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/controls.h"
#include "cli/environment.h"
#include "cli/exit_code.h"
#include "cli/follow.h"
#include "cli/trust_notice.h"
#include "os/terminal.h"

namespace reeve::cli {

namespace {

using base::Value;

[[noreturn]] void refuse_value(std::string_view option, std::string_view value, std::string_view expected) {
  throw base::Error("cli.usage", fmt::format("{} is not a value for `{}`", base::quoted(value), option),
                    std::string(expected));
}

// JSON carries text only. Whoever has other bytes in a command is told, before something else than meant is run.
void require_text(std::string_view what, const std::string& word) {
  if (base::find_invalid_utf8(word)) {
    throw base::Error("cli.usage", fmt::format("{} {} is not UTF-8", what, base::quoted(word)),
                      "call a script that has it: reeve run -- ./script");
  }
}

void set_limits(const Call& call, Value& wish) {
  for (const auto& [option, key] : {std::pair("--timeout", "timeout"), {"--no-output-timeout", "no_output_timeout"}}) {
    const auto value = call.arguments.value(option);
    if (!value) continue;
    if (!base::parse_time_limit(*value)) refuse_value(option, *value, fmt::format("{}, or off", base::duration_forms));
    wish.set(key, Value::string(*value));
  }
  for (const auto& [option, key] : {std::pair("--on-stall", "on_stall"), {"--liveness", "liveness"}}) {
    if (const auto value = call.arguments.value(option)) wish.set(key, Value::string(*value));
  }
  if (const auto value = call.arguments.value("--on-prompt")) {
    const bool is_known = *value == "approve" || *value == "fail" || value->starts_with("answer=");
    if (!is_known) refuse_value("--on-prompt", *value, "one of: approve, fail, answer=TEXT");
    wish.set("on_prompt", Value::string(*value));
  }
}

// The body of POST /api/runs.
enum class Place { here, elsewhere };

Value make_wish(const Call& call, Place place) {
  const std::vector<std::string>& argv = call.arguments.positionals();
  const auto tool = call.arguments.value("--tool");
  if (argv.empty() && !tool) {
    throw base::Error("cli.usage", "there is no command to run", "reeve run -- COMMAND, or reeve run --tool NAME");
  }
  Value wish = Value::object();
  Value::Array words;
  for (const std::string& word : argv) {
    require_text("the word", word);
    words.push_back(Value::string(word));
  }
  wish.set("argv", Value::array(std::move(words)));
  if (tool) wish.set("tool", Value::string(*tool));
  if (const auto prompt = call.arguments.value("--prompt")) wish.set("prompt", Value::string(*prompt));
  const auto folder = call.arguments.value("--cwd");
  // There is no «here» on another machine, and what is in the environment is about this one.
  if (place == Place::elsewhere && !(folder && folder->starts_with('/'))) {
    throw base::Error("cli.usage", "the daemon may be on another machine: the folder there is not known",
                      "name it: --cwd /folder/there");
  }
  const auto cwd = std::filesystem::absolute(folder.value_or(".")).lexically_normal();
  require_text("the folder", cwd.string());
  // Without the slash at the end that "." leaves.
  wish.set("cwd", Value::string((cwd.has_filename() ? cwd : cwd.parent_path()).string()));
  wish.set("environment", place == Place::here ? own_environment() : Value::object());
  wish.set("env", read_pairs(call, "--env"));
  wish.set("clean_env", Value::boolean(call.arguments.has("--clean-env")));
  set_limits(call, wish);
  // Else the profile says.
  if (call.arguments.has("--pty")) wish.set("mode", Value::string("pty"));
  if (const auto word = call.arguments.value("--execution")) {
    const auto id = base::ExecutionId::parse(*word);
    if (!id) refuse_value("--execution", *word, "ids of executions look like EX-9");
    wish.set("execution_id", Value::string(id->text()));
  }
  wish.set("metadata", read_pairs(call, "--meta"));
  const auto size = os::terminal_size(STDIN_FILENO).value_or(os::TerminalSize{});
  wish.set("rows", Value::integer(size.rows));
  wish.set("columns", Value::integer(size.columns));
  return wish;
}

ExitCode run(const Call& call) {
  client::Daemon daemon(patient_place(call));
  Value wish = make_wish(call, is_elsewhere(daemon.place()) ? Place::elsewhere : Place::here);
  if (!is_elsewhere(daemon.place())) {
    // Else the one around the run's folder.
    const auto project = project_here(daemon.place());
    if (project) wish.set("project", Value::string(*project));
    tell_trust(project ? *project : *wish.find("cwd")->as_string(),
               call.arguments.has("--tool") ? Brings::commands : Brings::nothing);
  }
  if (call.arguments.has("--detach")) {
    const client::RunRecord record = client::create_run(daemon, wish);
    if (call.is_json) {
      print_json(call, record.wire);
    } else {
      fmt::print("{}\n", record.run.tool_run_id.text());
      print_next(call, fmt::format("reeve logs -f {}", record.run.tool_run_id.text()));
    }
    return ExitCode::done;
  }
  // A reader that leaves is an answer of write().
  std::signal(SIGPIPE, SIG_IGN);
  const bool is_typed = call.arguments.has("--pty") && !call.is_json;
  std::optional<Controls> controls(std::in_place, call, daemon.place(), Controls::Interrupt::cancels,
                                   is_typed ? Controls::Input::keys : Controls::Input::none);
  const client::RunRecord created = client::create_run(daemon, wish);
  controls->begin(created.run.tool_run_id);
  RunFollower follower(call, daemon, created.run.tool_run_id, {.attempt = created.run.attempt});
  const client::RunRecord record =
      follower.follow(call.arguments.has("--no-wait") ? client::Until::final_or_waiting : client::Until::final);
  controls.reset();
  print_ending(call, record.run);
  if (call.is_json) print_json(call, record.wire);
  const ExitCode code = exit_code_of(record.run);
  return code == ExitCode::done && follower.has_failed() ? ExitCode::failed : code;
}

constexpr std::string_view about =
    R"(Runs the command under supervision: its output passes through byte for byte, with the time limits of
the config or of the options here, and it goes on when this terminal, or the daemon, dies. Only
`--tool` selects a profile of the config; the words after `--` are then appended to the profile's command.

Ctrl-C cancels the run (SIGTERM to its whole tree, SIGKILL after a grace time), a second Ctrl-C kills
it. Closing the terminal leaves it running: `reeve attach` comes back to it. With `--pty` the run has a
terminal of its own, keys go to it as they are pressed, Ctrl-C too; Ctrl-P Ctrl-Q detaches.

With `--json` nothing passes through, and the record is printed at the end.

Exit codes: 0 completed; the tool's own code when it failed; 1 failed for another reason; 90 waits for an
approval (`--no-wait`); 124 timed out; 126, 127 the command cannot be executed, was not found; 128+N
ended by signal N; 130 cancelled; 2 wrong usage; 5 denied by policy; 6 no daemon could be started.)";

}  // namespace

Command make_run() {
  return {
      .name = "run",
      .summary = "Run a tool under supervision",
      .about = about,
      .examples = {{"reeve run -- pytest -q", "supervise a command, with its output"},
                   {"reeve run --tool claude --prompt \"Fix the build\"", "a tool of the config"},
                   {"reeve run --timeout 2h --on-stall kill -- make", "with limits of its own"},
                   {"reeve run --pty -- codex", "with a terminal; Ctrl-P Ctrl-Q detaches"},
                   {"reeve run --detach -- ./nightly.sh", "print its id and go on"}},
      .positionals = {{.name = "CMD",
                       .help = "the command and its words",
                       .is_required = false,
                       .is_repeatable = true,
                       .is_foreign = true}},
      .options = {{.name = "--tool", .value = "NAME", .help = "a tool of the config"},
                  {.name = "--prompt", .value = "TEXT", .help = "what the tool is to do"},
                  {.name = "--timeout", .value = "TIME", .help = "end it after that long: 90s, 30m, off"},
                  {.name = "--no-output-timeout", .value = "T", .help = "it stalls when silent and idle for that long"},
                  {.name = "--on-stall", .value = "WHAT", .help = "mark it or kill it", .choices = {"mark", "kill"}},
                  {.name = "--liveness",
                   .value = "SIGN",
                   .help = "what shows that it lives: activity (CPU, I/O, output) or output",
                   .choices = {"activity", "output"}},
                  {.name = "--pty", .help = "give it a terminal of its own"},
                  {.name = "--on-prompt", .value = "WHAT", .help = "when it asks there: approve, fail, answer=TEXT"},
                  {.name = "--cwd", .value = "DIR", .help = "the folder it runs in"},
                  {.name = "--env", .value = "NAME=VALUE", .help = "a variable for it", .is_repeatable = true},
                  {.name = "--clean-env", .help = "only the allow list of your environment"},
                  {.name = "--execution", .value = "EX", .help = "the execution it belongs to"},
                  {.name = "--meta", .value = "NAME=VALUE", .help = "kept with its record", .is_repeatable = true},
                  {.name = "--detach", .help = "print its id at once and leave it running"},
                  {.name = "--no-wait", .help = "when it waits for an approval, end with 90"}},
      .run = run,
  };
}

}  // namespace reeve::cli
