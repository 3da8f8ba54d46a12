#include "runtime/gate/hosted_calls.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_outputs.h"
#include "runtime/tools/tool_host.h"
#include "store/runs.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using ledger::Transaction;
using wire::CallResult;

constexpr auto default_shell_time = std::chrono::minutes(10);
constexpr std::int64_t max_shell_seconds = 24LL * 60 * 60;
// Of the output of a shell command, its end.
constexpr std::size_t max_shell_output = 64 * 1024;

Error not_allowed(base::CallId call) {
  return {ErrorCode::call_not_allowed, fmt::format("{} may not begin", call.text()),
          "it has begun before, was not allowed, or its run has ended"};
}

CallResult failure(std::string content) { return {.is_error = true, .content = std::move(content), .hint = {}}; }

// After a crash nobody knows what a call did that had begun: it is never repeated (TOOL-4).
CallResult lost() {
  return failure(
      "the call had begun when the daemon ended: it may have run, and its result is lost. It is not repeated; look at "
      "what it did");
}

std::optional<CallResult> read_result(const store::CallRow& row) {
  if (!row.result) return std::nullopt;
  auto value = json::parse(*row.result);
  if (!value) return lost();
  auto result = json::from_value<CallResult>(*value);
  return result ? std::move(*result) : lost();
}

base::Milliseconds find_shell_time(const base::Value& arguments) {
  const base::Value* given = arguments.find("timeout_seconds");
  const std::int64_t* seconds = given != nullptr ? given->as_integer() : nullptr;
  if (seconds == nullptr) return default_shell_time;
  return std::chrono::seconds(std::clamp<std::int64_t>(*seconds, 1, max_shell_seconds));
}

// A run like its parent's: same environment, secrets and sandbox. It asks nobody and waits for no slot: its parent has
// one (RUN-14).
RunPlan plan_shell(const RunPlan& parent, const HostedCalls::Call& call, std::vector<std::string> argv) {
  RunPlan plan;
  plan.tool = std::string(hosted_shell_tool);
  plan.profile.sandbox = parent.profile.sandbox;
  plan.profile.secrets = parent.profile.secrets;
  plan.profile.output_cap = parent.profile.output_cap;
  plan.profile.kill_grace = parent.profile.kill_grace;
  plan.profile.timeout = base::TimeLimit::of(find_shell_time(call.arguments));
  plan.profile.no_output_timeout = base::TimeLimit::off();
  plan.profile.on_interrupted = model::OnInterrupted::fail;
  plan.argv = std::move(argv);
  plan.cwd = call.cwd;
  plan.known_folder = call.command_folder;
  // What the agent itself could swap is not mounted by its name.
  const bool is_beneath = call.cwd == parent.cwd || call.cwd.starts_with(parent.cwd + "/");
  if (is_beneath) plan.sandbox_folder = parent.cwd;
  plan.project = parent.project;
  plan.environment = parent.environment;
  plan.metadata = {{"parent_run", call.run.text()}, {"tool_call", call.row.call.call_id.text()}};
  plan.risk = parent.risk;
  plan.calls = parent.calls;
  plan.may_ask = false;
  return plan;
}

std::string describe_end(const model::Run& run) {
  if (run.status == model::RunStatus::completed) return "exit 0";
  std::string text(base::spell(run.status));
  if (run.exit_code) text = fmt::format("exit {}", *run.exit_code);
  if (run.reason && !run.reason->empty()) text += ": " + *run.reason;
  return text;
}

}  // namespace

HostedCalls::HostedCalls(RuntimeContext& context, Supervisor& supervisor)
    : context_(context), supervisor_(supervisor) {}

HostedCalls::~HostedCalls() {
  for (auto& [id, active] : active_) active.stop.request_stop();
}

void HostedCalls::run(Call call, Done done) {
  const base::CallId id = call.row.call.call_id;
  if (const auto found = active_.find(id); found != active_.end()) {
    found->second.waiting.push_back(std::move(done));
    return;
  }
  if (auto result = read_result(call.row)) return done(std::move(*result));
  if (call.row.begun_at && !call.row.child_run) return done(lost());
  Active& active = active_[id];
  active.run = call.run;
  active.begun = context_.loop.now();
  active.waiting.push_back(std::move(done));
  if (call.row.begun_at) {
    follow_shell(id, *call.row.child_run);
  } else if (call.row.call.tool == hosted_shell_tool) {
    begin_shell(call);
  } else {
    begin_tool(call);
  }
}

void HostedCalls::begin_tool(const Call& call) {
  ask_store(
      context_.ledger, context_.loop,
      [id = call.row.call.call_id, claim = call.claim](Transaction& transaction) {
        return ledger::begin_hosted(transaction, id, claim);
      },
      [this, call](std::expected<bool, Error> begun) {
        const base::CallId id = call.row.call.call_id;
        if (!begun) return finish(id, std::unexpected(begun.error()));
        if (!*begun) return finish(id, std::unexpected(not_allowed(id)));
        context_.crash_point("call.after_begin");
        run_tool(call);
      });
}

void HostedCalls::run_tool(const Call& call) {
  const auto found = active_.find(call.row.call.call_id);
  if (found == active_.end()) return;
  const std::filesystem::path scratch = context_.folder.root / "git-host";
  std::error_code error;
  std::filesystem::create_directories(scratch, error);
  const HostedCall hosted{.tool = call.row.call.tool,
                          .arguments = call.arguments,
                          .worktree = call.folder,
                          .scratch = scratch.string(),
                          .ssh_agent = call.ssh_agent};
  threads_.submit([this, hosted, id = call.row.call.call_id, stop = found->second.stop.get_token(),
                   alive = std::weak_ptr(alive_), &loop = context_.loop] {
    CallResult result;
    try {
      result = run_hosted(hosted, stop);
    } catch (const std::exception& fault) {
      result = failure(fault.what());
    }
    loop.post([this, alive, id, result = std::move(result)]() mutable {
      if (!alive.expired()) end(id, std::move(result));
    });
  });
}

void HostedCalls::begin_shell(const Call& call) {
  const base::CallId id = call.row.call.call_id;
  LiveRun* parent = supervisor_.find(call.run);
  auto argv = find_shell_argv(call.arguments);
  if (parent == nullptr || !argv || !call.command_folder) return finish(id, std::unexpected(not_allowed(id)));
  Supervisor::Along along = [id, claim = call.claim](Transaction& transaction, base::RunId child) {
    if (!ledger::begin_hosted(transaction, id, claim, child)) throw not_allowed(id);
  };
  supervisor_.start(plan_shell(parent->plan(), call, std::move(*argv)), std::move(along),
                    [this, id, alive = std::weak_ptr(alive_)](std::expected<model::Run, Error> started) {
                      if (alive.expired()) return;
                      if (!started) return finish(id, std::unexpected(started.error()));
                      follow_shell(id, started->tool_run_id);
                    });
}

// The run may have begun under an earlier daemon, and may be over.
void HostedCalls::follow_shell(base::CallId call, base::RunId child) {
  const auto found = active_.find(call);
  if (found == active_.end()) return;
  found->second.child = child;
  if (found->second.stop.stop_requested()) on_run_over(found->second.run);
  found->second.child_over =
      supervisor_.wait({.run = child}, [this, call](const model::Run& run) { on_shell_over(call, run); });
  ask_store(
      context_.ledger, context_.loop,
      [child](Transaction& transaction) { return store::find_run(transaction.session(), child); },
      [this, call, alive = std::weak_ptr(alive_)](std::expected<std::optional<store::RunRow>, Error> row) {
        if (alive.expired() || !row || !*row || !model::is_final((*row)->run.status)) return;
        on_shell_over(call, (*row)->run);
      });
}

// Reads files, so not on the loop.
void HostedCalls::on_shell_over(base::CallId call, const model::Run& child) {
  const auto found = active_.find(call);
  if (found == active_.end() || std::exchange(found->second.is_child_over, true)) return;
  threads_.submit([this, call, child, folder = run_folder(context_, child.tool_run_id), alive = std::weak_ptr(alive_),
                   &loop = context_.loop] {
    std::string output = read_text(folder, child, max_shell_output);
    if (!output.empty() && !output.ends_with('\n')) output += '\n';
    CallResult result{.is_error = child.status != model::RunStatus::completed,
                      .content = fmt::format("{}[{}, {}]", output, describe_end(child), child.tool_run_id.text()),
                      .hint = {}};
    loop.post([this, alive, call, result = std::move(result)]() mutable {
      if (!alive.expired()) end(call, std::move(result));
    });
  });
}

void HostedCalls::end(base::CallId call, CallResult result) {
  const auto found = active_.find(call);
  if (found == active_.end()) return;
  context_.crash_point("call.before_end");
  const auto took = std::chrono::duration_cast<base::Milliseconds>(context_.loop.now() - found->second.begun);
  ask_store(
      context_.ledger, context_.loop,
      [call, took, failed = result.is_error, text = json::encode(json::to_value(result))](Transaction& transaction) {
        ledger::end_hosted(transaction, call, failed, text, took.count());
      },
      // The tool has run in any case; the agent learns its result even if that could not be stored.
      [this, call, result](const std::expected<void, Error>&) { finish(call, result); });
}

void HostedCalls::finish(base::CallId call, const std::expected<CallResult, Error>& result) {
  auto node = active_.extract(call);
  if (node.empty()) return;
  for (const Done& done : node.mapped().waiting) done(result);
}

void HostedCalls::on_run_over(base::RunId run) {
  for (auto& [id, active] : active_) {
    if (active.run != run) continue;
    active.stop.request_stop();
    if (active.child) {
      supervisor_.cancel(*active.child, {.by = run.text(), .reason = "the run that asked for it has ended"},
                         [](const auto&) {});
    }
  }
}

}  // namespace reeve::runtime
