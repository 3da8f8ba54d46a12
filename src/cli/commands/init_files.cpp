#include "cli/commands/init_files.h"

#include "json/encode.h"
#include "spec/schema.h"

namespace reeve::cli {

namespace {

constexpr std::string_view config =
    R"(# yaml-language-server: $schema=schema/config.json
# Reeve's config for this project. Everything is optional; commented-out lines show the default or an example.
# `reeve config show --origin` shows the effective values and where they come from. Unknown keys are errors.
# Durations: 90 (seconds), 500ms, 90s, 5m, 2h, 3d; `off` or `never` for no limit.
# Keys that allow more than your own config (`pass_env`, `policies`, `worktree`) apply only after `reeve config trust`
# has shown them to you; a change needs it again. `store`, `server`, `log`, `notify`, `supervision` and `retention`
# configure the daemon, which serves all your projects: they belong in ~/.config/reeve/config.yaml, and in the config of
# a project without its own state they are an error.

# Command-line programs that Reeve may start, each with its settings. The words of the command are passed unchanged,
# never through a shell; {prompt} is one argument. A command without {prompt} gets the prompt on its standard input.
tools:
  # A script in the place of an agent, so that `reeve flow run hello` works as it is.
  script:
    command: [sh, -c, 'printf "%s\n" "A script was asked: $1"', script, "{prompt}"]
    timeout: 1m
#   claude:
#     command: [claude, -p, "{prompt}"]
#     mode: pipe                  # pipe, pty (a real terminal), stream (stdin stays open for replies)
#     timeout: 30m                # after it, the whole process tree is ended
#     no_output_timeout: 5m       # stalled after this long without output, heartbeat or activity
#     on_stall: mark              # or kill
#     on_prompt: approve          # a question at the terminal becomes an approval; or fail, answer=TEXT
#     pass_env: [ANTHROPIC_API_KEY]
#     secrets: [ANTHROPIC_API_KEY]  # shown as *** wherever output is shown

# Roles of workflow tasks: a role is a tool with a prompt. With an agent of your own, name it here.
roles:
  planner: {tool: script, prompt: "You plan and change nothing. {input}"}
  implementer: {tool: script, prompt: "You change as little as possible. {input}"}
  reviewer: {tool: script, prompt: "You review what was changed. {input}"}

# Checks that pass or fail by their exit code.
gates:
  config_is_there: {command: [test, -f, .reeve/config.yaml], timeout: 1m}
#   test_gate:
#     command: [pytest, -q]
#     timeout: 10m
#     on_fail: block              # retry_with_feedback, warn
#     sandbox: guard              # none; default: the strictest of the tasks

# What agents may do without asking: auto_approve, require_approval, deny.
# policies:
#   tools:
#     file_write: require_approval
#   roles:
#     mayor: {git_commit: auto_approve}

# How dangerous an approval is: low, medium (asks y/N), high (asks for the id). Only your own config can lower a level.
# risk: {prompt: high}

# state: project                  # this project gets its own daemon, state (.reeve/state) and ids; then the keys of
                                  # the daemon may be set here too
)";

constexpr std::string_view hello =
    R"(# yaml-language-server: $schema=../schema/workflow.json
# A first workflow that asks nothing: `reeve flow run hello`.
id: hello
name: Hello
entry_point: plan

nodes:
  - id: plan
    type: task
    task_config: { role: planner, task_template: "How would you say hello?" }

  - id: greet
    type: task
    # The output of the node before it.
    task_config: { role: implementer, task_template: "Say hello. The plan is: {plan.text}" }

  - id: check
    type: gate
    gate_config: { gate_type: config_is_there, requires_worktree: false }

edges:
  - { id: e1, source: plan, target: greet }
  - { id: e2, source: greet, target: check }

# Without it, the tasks of a git project work in a worktree of the last commit.
config: { isolation: none }
)";

constexpr std::string_view example =
    R"(# yaml-language-server: $schema=../schema/workflow.json
# Plan, implement, ask a person, and try again if the answer is no.
# Draw it with `reeve flow graph .reeve/workflows/example.yaml`.
id: example
name: Plan, implement, ask
entry_point: plan
exit_points: [finish]

nodes:
  - id: plan
    type: task
    task_config:
      role: planner
      task_template: "Plan how to do this: {input}"

  - id: implement
    type: task
    task_config:
      role: implementer
      task_template: "Do what the plan says. Plan and remarks: {input}"

  - id: ask
    type: human
    human_config:
      title: "Is this what you wanted?"

  - id: again
    type: branch
    branch_config:
      condition: { field: approved, operator: "==", value: true, max_iterations: 3 }
      on_true: finish
      on_false: implement

  - id: finish
    type: task
    task_config:
      role: reviewer
      task_template: "Sum up what was done: {input}"

edges:
  - { id: e1, source: plan, target: implement }
  - { id: e2, source: implement, target: ask }
  - { id: e3, source: ask, target: again }
  - { id: e4, source: again, target: finish }
  - { id: e5, source: again, target: implement, is_loop_edge: true }
)";

constexpr std::string_view gitignore = "state/\nid\n";

std::string schema_text(spec::FileType type) { return json::encode_pretty(spec::make_schema(type)) + "\n"; }

}  // namespace

const std::vector<InitFile>& init_files() {
  static const std::vector<InitFile> files = {
      {"config.yaml", "the config, commented", std::string(config)},
      {"workflows/hello.yaml", "a first workflow, which asks nothing", std::string(hello), true},
      {"workflows/example.yaml", "a workflow that asks you", std::string(example), true},
      {"schema/config.json", "for editors", schema_text(spec::FileType::config)},
      {"schema/workflow.json", "for editors", schema_text(spec::FileType::workflow)},
      {".gitignore", "keeps the state folder out of git", std::string(gitignore)},
  };
  return files;
}

}  // namespace reeve::cli
