#include "cli/commands/run_request.h"

#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/connect.h"
#include "cli/environment.h"
#include "cli/live/trust_notice.h"
#include "os/terminal.h"

namespace reeve::cli {

using base::ErrorCode;
using base::Value;

namespace {

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

}  // namespace

RunEnds find_ends(const Call& call) {
  RunEnds ends{.has_terminal = wants_terminal(call), .source = {}};
  // The daemon refuses both together.
  if (!ends.has_terminal || call.arguments.has("--stdin")) ends.source = find_stdin_source(call);
  return ends;
}

Value make_run_request(const Call& call, const client::DaemonPlace& place, const RunWords& words, const RunEnds& ends) {
  const bool is_here = !is_elsewhere(place);
  Value request = Value::object();
  Value::Array command;
  for (const std::string& word : words.command) {
    require_text("the argument", word);
    command.push_back(Value::string(word));
  }
  request.set("argv", Value::array(std::move(command)));
  if (words.tool) request.set("tool", Value::string(*words.tool));
  if (words.prompt) request.set("prompt", Value::string(*words.prompt));
  if (const auto model = call.arguments.value("--model")) request.set("model", Value::string(*model));
  const auto folder = call.arguments.value("--cwd");
  // The current folder and environment mean nothing on another machine.
  if (!is_here && !(folder && folder->starts_with('/'))) {
    throw base::Error(ErrorCode::cli_usage, "the daemon may be on another machine, so the working folder must be given",
                      "add --cwd with the folder on that machine");
  }
  const auto cwd = std::filesystem::absolute(folder.value_or(".")).lexically_normal();
  require_text("the folder", cwd.string());
  // Without the trailing slash that "." leaves.
  request.set("cwd", Value::string((cwd.has_filename() ? cwd : cwd.parent_path()).string()));
  request.set("environment", is_here ? own_environment() : Value::object());
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

void add_project(Value& request, const client::DaemonPlace& place) {
  if (is_elsewhere(place)) return;
  // Otherwise the project that encloses the run's folder.
  const auto project = project_here(place);
  if (project) request.set("project", Value::string(*project));
  tell_trust(project ? *project : *request.find("cwd")->as_string(),
             request.find("tool") != nullptr ? Brings::commands : Brings::nothing);
}

std::vector<Option> run_options() {
  return {
      {.name = "--model", .value = "MODEL", .help = "for an agent: the model that it uses"},
      {.name = "--timeout", .value = "TIME", .help = "time limit: 90s, 30m, off"},
      {.name = "--no-output-timeout", .value = "T", .help = "stalled after this long silent and idle"},
      {.name = "--on-stall", .value = "WHAT", .help = "when stalled: mark it or kill it", .choices = {"mark", "kill"}},
      {.name = "--liveness",
       .value = "SIGN",
       .help = "what counts as a sign of life: activity (CPU, I/O, output) or output",
       .choices = {"activity", "output"}},
      {.name = "--cwd", .value = "DIR", .help = "working folder"},
      {.name = "--env", .value = "NAME=VALUE", .help = "set an environment variable", .is_repeatable = true},
      {.name = "--execution", .value = "EX", .help = "the execution it belongs to"},
      {.name = "--meta", .value = "NAME=VALUE", .help = "metadata to keep with the record", .is_repeatable = true},
      {.name = "--queue", .help = "wait until fewer than `max_parallel_runs` runs use a slot"},
      {.name = "--priority", .value = "N", .help = "in the queue: higher first, from -100 to 100"},
      {.name = "--detach", .help = "print its id and return at once"},
      {.name = "--no-wait", .help = "exit with code 90 when an approval is needed"}};
}

}  // namespace reeve::cli
