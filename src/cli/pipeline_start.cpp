#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/flow_start.h"
#include "client/pipelines.h"
#include "project/pipelines.h"
#include "project/project.h"
#include "spec/dropped_input.h"

namespace reeve::cli {

namespace {

using base::Value;

// Of what lies here; a daemon elsewhere has its own files. What is wrong with them the daemon tells.
void warn_of_dropped_input(const std::string& project, const std::string& pipeline) {
  try {
    const auto config = project::load_config(std::filesystem::path(project), {});
    const auto pipelines = project::load_pipelines(project, nullptr);
    if (!config.loaded || !pipelines) return;
    const auto dropped = spec::find_dropped_input(*pipelines, config.loaded->config(), pipeline);
    for (const std::string& who : dropped) {
      print_aside(
          "warning: the prompt of {} has no `{{input}}`: the task, what was handed over and what an approver "
          "said are put behind it\n  = fix: {}\n",
          who, spec::input_fix);
    }
  } catch (const base::Error&) {
    return;
  }
}

ExitCode run(const Call& call) {
  const std::string prompt = call.arguments.value("--prompt").value_or("");
  if (base::find_invalid_utf8(prompt)) throw base::Error("cli.usage", "the prompt is not UTF-8");
  if (base::trim(prompt).empty()) {
    throw base::Error("cli.usage", "the prompt is empty", "say what is to be done: --prompt \"Fix the login\"");
  }
  Value wish = Value::object();
  wish.set("pipeline", Value::string(call.arguments.positional(0)));
  wish.set("prompt", Value::string(prompt));
  wish.set("inputs", read_inputs(call));
  set_ground(call, wish, ".");
  const Value* project = wish.find("project");
  const bool is_here = !is_elsewhere(daemon_place(call)) && project != nullptr && project->as_string() != nullptr;
  if (is_here && !call.is_json) warn_of_dropped_input(*project->as_string(), call.arguments.positional(0));
  return start_and_follow(
      call,
      {.create = [wish](client::Daemon& daemon) { return client::create_pipeline(daemon, wish); },
       .record = [](client::Daemon& daemon, base::ExecutionId id) { return client::get_pipeline(daemon, id).wire; },
       .noun = "pipeline"});
}

constexpr std::string_view about =
    R"(Starts a pipeline of `.reeve/pipelines.yaml` and follows it, as `reeve flow run` does. Its steps run one after
the other. Every agent is told the prompt, the inputs, what its step is, and what the agent before it said.
At an approval step it waits for a person; what is said with a yes is told to the next agent, a no ends the
pipeline for good. Names of inputs in the prompts of agents, `{ticket}`, stand for their values; so does
`{prompt}`. A prompt of an agent or role without `{input}` gets all of that behind it, with a warning; `prompt_takes_input: false`
leaves it out.

An agent, role or tool that is not there is refused before anything starts.

Ctrl-C stops watching, the pipeline goes on; so does closing the terminal. `reeve pipeline abort` ends it.

Exit codes: 0 done; 1 failed, or rejected; 90 waits for an approval (`--no-wait`); 130 aborted, or Ctrl-C;
2 wrong usage or an invalid file; 3 no such pipeline; 6 no daemon could be started.)";

}  // namespace

Command make_pipeline_start() {
  std::vector<Option> options = start_options();
  for (Option& option : options) {
    if (option.name == "--input") option.help = "an input, told to every agent; NAME:=JSON for other values";
  }
  options.insert(options.begin(),
                 {.name = "--prompt", .value = "TEXT", .help = "what is to be done", .is_required = true});
  return {
      .name = "pipeline start",
      .summary = "Start a pipeline and watch it",
      .about = about,
      .examples = {{"reeve pipeline start feature --prompt \"Fix the login\"", "start it and watch"},
                   {"reeve pipeline start feature --prompt \"Fix it\" --input ticket=T-7", "with an input"},
                   {"reeve pipeline start feature --prompt \"Fix it\" --detach", "print its id and go on"}},
      .positionals = {{.name = "NAME", .help = "one of .reeve/pipelines.yaml"}},
      .options = std::move(options),
      .run = run,
  };
}

}  // namespace reeve::cli
