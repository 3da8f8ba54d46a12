#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/live/flow_start.h"
#include "client/pipelines.h"
#include "project/pipelines.h"
#include "project/project.h"
#include "spec/dropped_input.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;

// Checks the local files only, because a remote daemon has its own. Errors in them are reported by the daemon.
void warn_of_dropped_input(const std::string& project, const std::string& pipeline) {
  try {
    const auto config = project::load_config(std::filesystem::path(project), {});
    const auto pipelines = project::load_pipelines(project, nullptr);
    if (!config.loaded || !pipelines) return;
    const auto dropped = spec::find_dropped_input(*pipelines, config.loaded->config(), pipeline);
    for (const std::string& who : dropped) {
      print_aside(
          "warning: the prompt of {} has no `{{input}}`: the task, the previous output and the approver's comment "
          "are appended to it\n  = fix: {}\n",
          who, spec::input_fix);
    }
  } catch (const base::Error&) {
    return;
  }
}

ExitCode run(const Call& call) {
  const std::string prompt = call.arguments.value("--prompt").value_or("");
  if (base::find_invalid_utf8(prompt)) throw base::Error(ErrorCode::cli_usage, "the prompt is not valid UTF-8");
  if (base::trim(prompt).empty()) {
    throw base::Error(ErrorCode::cli_usage, "the prompt is empty", "say what to do: --prompt \"Fix the login\"");
  }
  Value request = Value::object();
  request.set("pipeline", Value::string(call.arguments.positional(0)));
  request.set("prompt", Value::string(prompt));
  request.set("inputs", read_inputs(call));
  set_settings(call, request, ".");
  const Value* project = request.find("project");
  const bool is_here = !is_elsewhere(daemon_place(call)) && project != nullptr && project->as_string() != nullptr;
  if (is_here && !call.is_json) warn_of_dropped_input(*project->as_string(), call.arguments.positional(0));
  return start_and_follow(
      call,
      {.create = [request](client::Daemon& daemon) { return client::create_pipeline(daemon, request); },
       .record = [](client::Daemon& daemon, base::ExecutionId id) { return client::get_pipeline(daemon, id).wire; },
       .noun = "pipeline",
       .invalid = ErrorCode::pipeline_invalid});
}

constexpr std::string_view about =
    R"(Starts a pipeline of `.reeve/pipelines.yaml` and follows it, as `reeve flow run` does. Its steps run one
after the other. Every agent receives the prompt, the inputs, the description of its step and the output of
the previous agent. At an approval step the pipeline waits for a person; the comment of an approval is passed
to the next agent, a rejection ends the pipeline for good. In the prompts of agents, `{prompt}` and the names
of inputs, such as `{ticket}`, are replaced by their values. If the prompt of an agent or role has no
`{input}`, all of this is appended to it, with a warning; `prompt_takes_input: false` leaves it out.

If an agent, role or tool does not exist, nothing is started.

Ctrl-C, like closing the terminal, stops watching; the pipeline continues. `reeve pipeline abort` aborts it.

Exit codes: 0 done; 1 failed, or rejected; 90 waiting for an approval (`--no-wait`); 130 aborted, or Ctrl-C;
2 wrong usage or an invalid file; 3 no such pipeline; 6 no daemon could be started.)";

}  // namespace

Command make_pipeline_start() {
  std::vector<Option> options = start_options();
  for (Option& option : options) {
    if (option.name == "--input") option.help = "input passed to every agent; NAME:=JSON for non-text values";
  }
  options.insert(options.begin(), {.name = "--prompt", .value = "TEXT", .help = "what to do", .is_required = true});
  return {
      .name = "pipeline start",
      .summary = "Start a pipeline and watch it",
      .about = about,
      .examples = {{"reeve pipeline start feature --prompt \"Fix the login\"", "start and watch it"},
                   {"reeve pipeline start feature --prompt \"Fix it\" --input ticket=T-7", "with an input"},
                   {"reeve pipeline start feature --prompt \"Fix it\" --detach", "print its id and return"}},
      .positionals = {{.name = "NAME", .help = "a pipeline of .reeve/pipelines.yaml"}},
      .options = std::move(options),
      .run = run,
  };
}

}  // namespace reeve::cli
