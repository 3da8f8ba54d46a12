#include "runtime/runs/rerun.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;

// A longer prompt is not kept.
constexpr std::size_t max_prompt = 64UL * 1024;

struct RerunTerms {
  // Its tool is from the config.
  bool is_tool = false;
  bool clean_env = false;
  // Its command, or its prompt on standard input, contains a secret or is too long, so that it is not kept.
  bool lacks_command = false;
  bool lacks_prompt = false;
  // A client streamed its standard input, which is deleted with the run's final status.
  bool has_stdin = false;
  bool is_queued = false;
  int priority = 0;
  std::optional<std::string> prompt;
  // Variables that were given with --env.
  std::vector<std::string> env_names;
  std::optional<base::TimeLimit> timeout;
  std::optional<base::TimeLimit> no_output_timeout;
  std::optional<model::OnStall> on_stall;
  std::optional<model::Liveness> liveness;
  std::optional<model::RunMode> mode;
  std::optional<model::OnPrompt> on_prompt;
};
BOOST_DESCRIBE_STRUCT(RerunTerms, (),
                      (is_tool, clean_env, lacks_command, lacks_prompt, has_stdin, is_queued, priority, prompt,
                       env_names, timeout, no_output_timeout, on_stall, liveness, mode, on_prompt))

std::unexpected<Error> refuse(const model::Run& run, const std::string& why, std::string fix) {
  return std::unexpected(Error(ErrorCode::run_no_rerun,
                               fmt::format("{} cannot be started again: {}", run.tool_run_id.text(), why),
                               std::move(fix)));
}

std::optional<Error> find_obstacle(const model::Run& run) {
  const auto obstacle = [&](std::string why, std::string fix) { return refuse(run, why, std::move(fix)).error(); };
  if (!is_final(run.status)) {
    return obstacle(fmt::format("it is {}", base::spell(run.status)),
                    fmt::format("wait for its end, or end it: reeve cancel {}", run.tool_run_id.text()));
  }
  if (run.node_id && run.execution_id) {
    return obstacle(fmt::format("it is a run of the node {} of {}", *run.node_id, run.execution_id->text()),
                    fmt::format("reeve flow retry {}", run.execution_id->text()));
  }
  return std::nullopt;
}

// What the launch needs and the caller did not give.
std::optional<Error> find_missing(const model::Run& run, const RerunTerms& terms, const wire::RerunRequest& caller) {
  const auto obstacle = [&](std::string why, std::string fix) { return refuse(run, why, std::move(fix)).error(); };
  if (terms.lacks_command) {
    return obstacle("its command contains a secret, which is not kept after the end of a run",
                    "start it as before: reeve run -- COMMAND");
  }
  if (terms.lacks_prompt && !caller.prompt) {
    return obstacle("its prompt was not kept, because it is longer than 64 KiB or contains a secret",
                    fmt::format("reeve rerun {} --prompt TEXT", run.tool_run_id.text()));
  }
  if (caller.prompt && !terms.prompt && !terms.lacks_prompt) {
    return obstacle("its prompt is part of its command, or it has none",
                    "leave out --prompt, or start a new run: reeve run");
  }
  if (terms.has_stdin && !caller.standard_input) {
    return obstacle("it read standard input, which is not kept after the end of a run",
                    fmt::format("pipe it again, or: reeve rerun {} --stdin FILE|none", run.tool_run_id.text()));
  }
  std::vector<std::string> missing;
  for (const std::string& name : terms.env_names) {
    if (!caller.env.contains(name)) missing.push_back(name);
  }
  if (!missing.empty()) {
    return obstacle(fmt::format("it was started with --env {}, whose value is not kept", fmt::join(missing, ", ")),
                    fmt::format("reeve rerun {} --env {}=VALUE", run.tool_run_id.text(), missing.front()));
  }
  return std::nullopt;
}

wire::RunRequest make_request(const model::Run& run, const RerunTerms& terms, const wire::RerunRequest& caller) {
  wire::RunRequest request{.argv = run.argv, .cwd = run.cwd, .environment = caller.environment, .env = caller.env};
  request.prompt = caller.prompt ? caller.prompt : terms.prompt;
  request.clean_env = terms.clean_env;
  request.timeout = terms.timeout;
  request.no_output_timeout = terms.no_output_timeout;
  request.on_stall = terms.on_stall;
  request.liveness = terms.liveness;
  request.mode = terms.mode;
  request.on_prompt = terms.on_prompt;
  request.execution_id = run.execution_id;
  request.metadata = run.metadata;
  request.metadata.insert_or_assign("rerun_of", run.tool_run_id.text());
  request.rows = caller.rows;
  request.columns = caller.columns;
  request.queue = terms.is_queued || caller.queue;
  request.priority = caller.priority.value_or(terms.priority);
  request.standard_input = caller.standard_input;
  return request;
}

}  // namespace

std::string encode_rerun(const wire::RunRequest& request, const RunPlan& plan) {
  const auto secrets = prepare_secrets(find_secrets(plan));
  const auto has_secret = [&](const std::string& text) {
    base::Redactor redactor(*secrets);
    return redactor.feed(text) + redactor.finish() != text;
  };
  RerunTerms terms{.is_tool = request.tool.has_value(),
                   .clean_env = request.clean_env,
                   .has_stdin = plan.has_stdin,
                   .is_queued = request.queue,
                   .priority = request.priority,
                   .timeout = request.timeout,
                   .no_output_timeout = request.no_output_timeout,
                   .on_stall = request.on_stall,
                   .liveness = request.liveness,
                   .mode = request.mode,
                   .on_prompt = request.on_prompt};
  for (const std::string& word : plan.argv) terms.lacks_command = terms.lacks_command || has_secret(word);
  if (plan.prompt && (plan.prompt->size() > max_prompt || has_secret(*plan.prompt))) {
    terms.lacks_prompt = true;
  } else {
    terms.prompt = plan.prompt;
  }
  for (const auto& [name, _] : request.env) terms.env_names.push_back(name);
  return json::encode(json::to_value(terms, json::Defaults::omit));
}

std::expected<RunPlan, Error> make_rerun(const model::Config& config, const model::Run& run,
                                         const std::optional<std::string>& stored, const wire::RerunRequest& caller) {
  if (auto obstacle = find_obstacle(run)) return std::unexpected(std::move(*obstacle));
  const auto parsed = stored ? json::parse(*stored) : json::parse("");
  const auto terms = parsed ? json::from_value<RerunTerms>(*parsed) : json::from_value<RerunTerms>(base::Value());
  if (!terms) {
    return refuse(run, "how it was started was not recorded", "start it as before: reeve run -- COMMAND");
  }
  if (auto missing = find_missing(run, *terms, caller)) return std::unexpected(std::move(*missing));
  wire::RunRequest request = make_request(run, *terms, caller);
  model::ToolProfile profile;
  if (terms->is_tool) {
    auto found = find_profile(config.tools, run.tool_name);
    if (!found) return std::unexpected(found.error());
    profile = std::move(*found);
    request.tool = run.tool_name;
  }
  // The record has the whole command. An agent starts as its profile says now.
  if (profile.agent) request.argv.clear();
  if (!profile.agent) profile.command.clear();
  auto plan = make_plan(std::move(profile), request, {});
  if (!plan) return plan;
  plan->calls = {.policies = config.policies, .agents = config.agents, .role = {}};
  // It can be repeated in turn.
  plan->rerun = encode_rerun(request, *plan);
  return plan;
}

}  // namespace reeve::runtime
