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
#include "wire/run_request.h"

// How a run is to be started: the request held against the config, and frozen.
namespace reeve::runtime {

struct RunPlan {
  std::string tool;
  // The tool's, with what the request says on top.
  model::ToolProfile profile;
  std::vector<std::string> argv;
  std::string cwd;
  std::map<std::string, std::string> environment;
  // For standard input.
  std::optional<std::string> prompt;
  int rows = 24;
  int columns = 80;
  std::optional<base::ExecutionId> execution;
  // The node of the execution that it is the run of.
  std::optional<std::string> node;
  std::map<std::string, std::string> metadata;
  // False of gates: what they say is an answer, never a question (GRF-6).
  bool may_ask = true;
};

// RUN-8: whether every tool gets this variable of the caller's.
bool is_for_tools(std::string_view variable);

// RUN-11. Errors: `run.unknown_tool`, `run.headless_unsupported`.
std::expected<model::ToolProfile, base::Error> find_profile(const std::map<std::string, model::ToolProfile>& tools,
                                                            const std::string& tool);

// RUN-3, RUN-8, RUN-11. Errors: `run.no_command`, `run.unknown_tool`, `run.headless_unsupported`, `run.bad_request`.
std::expected<RunPlan, base::Error> make_plan(const model::Config& config, const wire::RunRequest& request);
// The same with a profile at hand. `names` are the values of `{name}`s in its command beside `{prompt}`: each stands
// within a single word, and is not looked at again.
using PlanNames = std::map<std::string, std::string, std::less<>>;
std::expected<RunPlan, base::Error> make_plan(model::ToolProfile profile, const wire::RunRequest& request,
                                              const PlanNames& names);

// What the child gets beside its launch: who it is (RUN-8).
std::vector<std::string> attempt_environment(base::RunId run, const std::optional<base::ExecutionId>& execution,
                                             const std::optional<std::string>& node, int attempt,
                                             const std::string& attempt_folder);

// The plan as the file that lies in the run's folder, and back. Nothing when the bytes are no whole launch.
keeper::Launch make_launch(const RunPlan& plan);
std::optional<RunPlan> read_plan(std::string_view bytes);

// LOG-4: values that must not be shown.
std::vector<std::string> find_secrets(const RunPlan& plan);
std::shared_ptr<const base::SecretSet> prepare_secrets(const std::vector<std::string>& values);
// The run as it is stored and shown, without its secrets: the launch alone has the command as it is.
model::Run make_run(const RunPlan& plan);

}  // namespace reeve::runtime
