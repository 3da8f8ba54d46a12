#pragma once

#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/redaction.h"
#include "keeper/records.h"
#include "model/config.h"
#include "model/run.h"
#include "os/beneath.h"
#include "runtime/runs/call_terms.h"
#include "wire/run_request.h"

// How a run is to be started: the request checked against the config, and frozen.
namespace reeve::runtime {

struct RunPlan {
  std::string tool;
  // The tool's profile, with overrides from the request.
  model::ToolProfile profile;
  std::vector<std::string> argv;
  std::string cwd;
  // The folder that was decided about, named by `cwd`: the run starts in exactly this one (APR-10).
  std::optional<os::KnownFolder> known_folder;
  // What a sandbox lets the run write; empty: `cwd`.
  std::string sandbox_folder;
  std::optional<model::ProjectRef> project;
  std::map<std::string, std::string> environment;
  // Sent to standard input.
  std::optional<std::string> prompt;
  int rows = 24;
  int columns = 80;
  std::optional<base::ExecutionId> execution;
  // The node that this is a run of.
  std::optional<std::string> node;
  std::map<std::string, std::string> metadata;
  // See runtime/runs/rerun.h; stored with the record.
  std::optional<std::string> rerun;
  // For the questions of the run (APR-3).
  model::RiskLevels risk;
  CallTerms calls;
  // False for gates: their output is an answer, never a question (GRF-6).
  bool may_ask = true;
  // RUN-14: it obeys `max_parallel_runs`.
  bool is_queued = false;
  int priority = 0;
  // RUN-9: a client streams its standard input.
  bool has_stdin = false;
};

// RUN-8: whether every tool gets this variable from the caller's environment.
bool is_for_tools(std::string_view variable);

// RUN-11. Errors: `run.unknown_tool`, `run.headless_unsupported`.
std::expected<model::ToolProfile, base::Error> find_profile(const std::map<std::string, model::ToolProfile>& tools,
                                                            const std::string& tool);

// The command of an agent's run: its adapter, which gets the prompt on standard input and starts the agent itself
// (AGT-4). `folder`: of Reeve's programs.
struct AgentWords {
  std::string folder;
  std::optional<std::string> model = {};
  // The session to continue.
  std::optional<std::string> session = {};
};
std::vector<std::string> make_agent_words(const model::ToolProfile& profile, const AgentWords& words);

// RUN-3, RUN-8, RUN-11. Errors: `run.no_command`, `run.unknown_tool`, `run.headless_unsupported`, `run.bad_request`.
std::expected<RunPlan, base::Error> make_plan(const model::Config& config, const wire::RunRequest& request);
// The same with a given profile. `names` are the values of `{name}` placeholders in its command other than `{prompt}`;
// each is inserted within a single argument and not expanded again.
using PlanNames = std::map<std::string, std::string, std::less<>>;
std::expected<RunPlan, base::Error> make_plan(model::ToolProfile profile, const wire::RunRequest& request,
                                              const PlanNames& names);

// The variables a child gets in addition to its launch: its identity (RUN-8).
std::vector<std::string> attempt_environment(base::RunId run, const std::optional<base::ExecutionId>& execution,
                                             const std::optional<std::string>& node, int attempt,
                                             const std::string& attempt_folder);

// The plan as the file in the run's folder, and back. Nothing if the bytes are not a complete launch.
keeper::Launch make_launch(const RunPlan& plan);
std::optional<RunPlan> read_plan(std::string_view bytes);

// LOG-4: values that must not be shown.
std::vector<std::string> find_secrets(const RunPlan& plan);
std::shared_ptr<const base::SecretSet> prepare_secrets(const std::vector<std::string>& values);
// The run as stored and shown, without secrets: only the launch file has the unmasked command.
model::Run make_run(const RunPlan& plan);

}  // namespace reeve::runtime
