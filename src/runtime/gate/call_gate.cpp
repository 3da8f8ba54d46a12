#include "runtime/gate/call_gate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/redaction.h"
#include "base/text.h"
#include "engine/call_gate.h"
#include "engine/fallback_tools.h"
#include "engine/risk.h"
#include "ledger/agent_sessions.h"
#include "ledger/risk.h"
#include "ledger/run_questions.h"
#include "runtime/gate/call_question.h"
#include "runtime/gate/call_request.h"
#include "runtime/gate/file_change.h"
#include "runtime/inbox/inbox.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_outputs.h"
#include "runtime/tools/command_folder.h"
#include "runtime/tools/tool_host.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using ledger::CallStored;
using ledger::Transaction;
using model::CallDecision;

// Of the agent's output, for the context of a question.
constexpr std::size_t max_said = 2'048;
constexpr std::int64_t max_last_calls = 3;

Error no_call(base::RunId run, const std::string& call) {
  return {ErrorCode::call_not_found, fmt::format("{} has made no call {}", run.text(), base::quoted(call))};
}

Error run_over(base::RunId run) { return {ErrorCode::run_not_running, fmt::format("{} has ended", run.text())}; }

// TOOL-6: what the tool host has instead.
std::optional<std::string> find_hint(const std::string& tool, const CallTerms& terms) {
  static const std::vector<std::string> available = [] {
    std::vector<std::string> names;
    for (const wire::HostedTool& hosted : hosted_tools()) names.push_back(hosted.name);
    return names;
  }();
  return engine::make_hint(tool, available, terms.agents);
}

// The answer in the words of the agent's side. A call that no attempt may use any more is denied.
wire::CallReply make_reply(const CallStored& stored) {
  const model::ToolCall& call = stored.row.call;
  wire::CallReply reply{.call_id = call.call_id, .rule = call.rule, .approval_id = call.approval_id};
  if (!call.answer) {
    reply.decision = call.outcome ? wire::CallReplyDecision::deny : wire::CallReplyDecision::wait;
    if (call.outcome) reply.reason = fmt::format("the call is {}", base::spell(*call.outcome));
    return reply;
  }
  reply.decision = call.answer == CallDecision::allow ? wire::CallReplyDecision::allow : wire::CallReplyDecision::deny;
  if (reply.decision == wire::CallReplyDecision::allow) {
    if (stored.approval && stored.approval->comment) reply.reason = stored.approval->comment;
    return reply;
  }
  if (stored.approval && model::is_final(stored.approval->status) &&
      stored.approval->status != model::ApprovalStatus::approved) {
    reply.reason = ledger::describe_denial(*stored.approval);
  } else {
    reply.reason = call.reason.value_or(fmt::format("denied by {}", call.rule));
  }
  return reply;
}

// The reasons name the tool.
engine::RiskSubject make_risk(const engine::CallSubject& subject, const std::string& shown_tool) {
  engine::RiskSubject risk{.source = engine::RiskSubject::Source::tool_call};
  risk.call = {.tool = shown_tool, .arguments = subject.arguments, .place = subject.place};
  risk.is_sandboxed = subject.sandbox == model::Sandbox::guard;
  return risk;
}

}  // namespace

// What the loop knows about a call; nothing in it is changed by other threads.
struct CallGate::Question {
  wire::CallRequest request;
  base::RunId run{0};
  ledger::AttemptClaim claim;
  CallTerms terms;
  model::RiskLevels levels;
  CallOrigin origin;
  std::string cwd;
  // PATH and SSH_AUTH_SOCK of the run.
  std::string path;
  std::string ssh_agent;
  model::Run record;
  std::string run_folder;
  std::shared_ptr<const base::SecretSet> secrets;
  std::optional<std::int64_t> time_left_ms;
  bool is_advisory = true;
};

// What the disk says, and what would be asked.
struct CallGate::Prepared {
  engine::NamedCall named;
  ledger::CallAttempt attempt;
  // Of a command that the tool host runs.
  std::optional<os::KnownFolder> command_folder = {};
};

struct CallGate::Matter {
  Question question;
  // With Reeve's names, as the agent sent them: what the tool host runs.
  base::Value arguments;
  std::optional<os::KnownFolder> command_folder;
  Done done;
};

namespace {

model::AgentSession make_session(const wire::SessionReport& report) {
  model::AgentSession session{
      .session_id = report.session_id, .agent = report.agent, .version = report.version, .model = report.model};
  if (!report.usage) return session;
  const wire::SessionUsage usage = bound_usage(*report.usage);
  session.input_tokens = usage.input_tokens;
  session.output_tokens = usage.output_tokens;
  session.cached_tokens = usage.cached_tokens;
  session.cost_usd = usage.cost_usd;
  session.context_used = usage.context_used;
  session.context_size = usage.context_size;
  return session;
}

model::ToolCall make_record(const wire::CallRequest& request, const std::string& cwd, base::Value arguments,
                            const HideSecrets& hide) {
  model::ToolCall record;
  record.native_id = hide(request.call);
  record.native_tool = hide(request.tool);
  if (request.parent) record.parent_native_id = hide(*request.parent);
  if (request.session) record.session_id = hide(*request.session);
  record.cwd = hide(cwd);
  record.arguments = std::move(arguments);
  record.channel = request.channel;
  return record;
}

}  // namespace

CallGate::CallGate(RuntimeContext& context, Supervisor& supervisor, FactThread& facts)
    : context_(context), supervisor_(supervisor), facts_(facts), hosted_(context, supervisor) {}

LiveRun& CallGate::find_asker(base::RunId run) {
  LiveRun* live = supervisor_.find(run);
  // What is being ended begins nothing new.
  if (live == nullptr || !live->is_alive()) throw run_over(run);
  if (!live->plan().may_ask) {
    throw Error(ErrorCode::approval_gate_asks, "a gate, and what the tool host runs, cannot call tools",
                "the call counts as denied");
  }
  return *live;
}

void CallGate::ask(base::RunId run, wire::CallRequest request, Done done) {
  check_call(request);
  LiveRun& live = find_asker(run);
  if (request.execute && !is_hosted(request.tool)) {
    const auto hint = find_hint(request.tool, live.plan().calls);
    throw Error(ErrorCode::call_unknown_tool, fmt::format("the tool host has no tool {}", base::quoted(request.tool)),
                hint.value_or("GET /api/tools lists its tools"));
  }
  if (request.execute) {
    if (const auto fault = find_argument_fault(request.tool, request.arguments)) {
      throw Error(ErrorCode::call_bad_request, *fault, "GET /api/tools has the schemas of all tools");
    }
  }
  const RunPlan& plan = live.plan();
  const std::string project = plan.project ? plan.project->path : std::string();
  const auto variable = [&](const std::string& name) {
    const auto found = plan.environment.find(name);
    return found == plan.environment.end() ? std::string() : found->second;
  };
  auto matter = std::make_shared<Matter>(
      Matter{.question = {.request = std::move(request),
                          .run = run,
                          .claim = live.claim(),
                          .terms = plan.calls,
                          .levels = plan.risk,
                          .origin = {.agent = plan.tool,
                                     .role = plan.calls.role,
                                     .project = project,
                                     .sandbox = plan.profile.sandbox,
                                     .folder = find_confinement(plan.cwd, project, plan.node.has_value())},
                          .cwd = {},
                          .path = variable("PATH"),
                          .ssh_agent = variable("SSH_AUTH_SOCK"),
                          .record = live.record(),
                          .run_folder = run_folder(context_, run),
                          .secrets = live.secrets(),
                          .time_left_ms = live.time_left_ms(),
                          .is_advisory = live.is_advisory()},
             .arguments = {},
             .command_folder = {},
             .done = std::move(done)});
  Question& question = matter->question;
  question.origin.channel = question.request.channel;
  question.origin.is_hosted = question.request.execute;
  question.cwd = find_call_folder(question.request, plan.cwd);
  facts_.ask([question] { return prepare(question); },
             [this, matter](std::expected<Prepared, Error> prepared) {
               if (!prepared) return matter->done(std::unexpected(prepared.error()));
               store(matter, std::move(*prepared));
             });
}

// On the fact thread.
CallGate::Prepared CallGate::prepare(const Question& question) {
  const wire::CallRequest& request = question.request;
  const HideSecrets hide = [&](const std::string& text) { return base::redact(*question.secrets, text); };
  Prepared prepared{.named = name_request(request, question.cwd), .attempt = {}, .command_folder = {}};
  ledger::CallAttempt& attempt = prepared.attempt;
  attempt.claim = question.claim;
  attempt.subject =
      read_call_subject(question.origin, prepared.named.tool, prepared.named.arguments, question.cwd, question.path);
  // Not the folder of the request if the arguments name another.
  if (request.execute && request.tool == hosted_shell_tool) {
    prepared.command_folder = find_command_folder(question.origin.folder, attempt.subject.cwd);
  }
  const auto& folder = prepared.command_folder;
  const auto identity = folder ? std::optional(engine::FolderIdentity{folder->device, folder->inode})
                               : read_folder_identity(attempt.subject.cwd);
  if (!identity) {
    throw Error(ErrorCode::call_bad_request, fmt::format("{} is not a folder", base::quoted(attempt.subject.cwd)),
                "`cwd` is the folder that the call works in");
  }
  attempt.digest = engine::digest_of_call(prepared.named.tool, prepared.named.arguments, *identity);
  base::Value shown = bound_arguments(prepared.named.arguments, hide);
  attempt.record = make_record(request, attempt.subject.cwd, shown, hide);
  attempt.record.tool = hide(prepared.named.tool);
  attempt.may_defer = request.may_defer;
  attempt.is_hosted = request.execute;
  attempt.time_left_ms = question.time_left_ms;
  // Grants are known in the transaction only: the question may not be needed.
  const engine::CallVerdict verdict = engine::decide_call(question.terms.policies, attempt.subject, attempt.digest, {});
  if (verdict.policy != model::Policy::require_approval) return prepared;
  const base::Value& arguments = prepared.named.arguments;
  const bool is_write = prepared.named.tool == "file_write";
  const CallScene scene{
      .subject = attempt.subject,
      .verdict = verdict,
      .native_tool = request.tool,
      .arguments = is_write ? bound_arguments(show_change(question.origin.folder, arguments), hide) : std::move(shown),
      .said = read_text(question.run_folder, question.record, max_said)};
  attempt.question = make_call_question(scene, hide);
  attempt.question.advisory = question.is_advisory;
  ledger::set_risk(attempt.question, make_risk(attempt.subject, attempt.record.tool), question.levels);
  return prepared;
}

void CallGate::store(const std::shared_ptr<Matter>& matter, Prepared prepared) {
  matter->arguments = std::move(prepared.named.arguments);
  matter->command_folder = std::move(prepared.command_folder);
  context_.crash_point("call.before_store");
  ask_store(
      context_.ledger, context_.loop,
      [matter, attempt = std::move(prepared.attempt),
       expiry = context_.supervision.approval_expiry.tool_call](Transaction& transaction) {
        ledger::CallAttempt call = attempt;
        if (!call.question.question.empty()) {
          const auto last =
              store::list_calls(transaction.session(), {.run = matter->question.run, .most = max_last_calls});
          call.question.context = call.question.context.value_or("") + describe_last_calls(last);
          if (expiry.after) call.question.expires_at = transaction.now() + *expiry.after;
        }
        auto stored = ledger::store_call(transaction, matter->question.run, matter->question.terms.policies, call);
        if (!stored || !stored->row.call.answer) return stored;
        auto taken = ledger::take_answer(transaction, stored->row.call.call_id, call.claim.attempt);
        return taken ? taken : stored;
      },
      [this, matter](std::expected<std::optional<CallStored>, Error> stored) {
        if (!stored) return matter->done(std::unexpected(stored.error()));
        if (!*stored) return matter->done(std::unexpected(run_over(matter->question.run)));
        context_.crash_point("call.after_store");
        answer(matter, std::move(**stored));
      });
}

void CallGate::answer(const std::shared_ptr<Matter>& matter, CallStored stored) {
  const Question& question = matter->question;
  const model::ToolCall& call = stored.row.call;
  if (!call.answer && !call.outcome && call.approval_id) {
    if (LiveRun* live = supervisor_.find(question.run)) live->on_call_waits(*call.approval_id);
    if (stored.asked) context_.inbox.post(QuestionAsked{*stored.asked});
  }
  wire::CallReply reply = make_reply(stored);
  const bool is_denied = reply.decision == wire::CallReplyDecision::deny;
  if (is_denied && question.request.execute) reply.hint = find_hint(question.request.tool, question.terms);
  if (reply.decision != wire::CallReplyDecision::allow || !question.request.execute) return matter->done(reply);
  hosted_.run({.run = question.run,
               .claim = question.claim,
               .row = std::move(stored.row),
               .arguments = matter->arguments,
               .folder = question.origin.folder,
               .cwd = question.cwd,
               .command_folder = matter->command_folder,
               .ssh_agent = question.ssh_agent},
              [matter, reply](std::expected<wire::CallResult, Error> result) mutable {
                if (!result) return matter->done(std::unexpected(result.error()));
                reply.result = std::move(*result);
                matter->done(std::move(reply));
              });
}

void CallGate::read(base::RunId run, const std::string& call, Done done) {
  const int attempt = find_asker(run).claim().attempt;
  ask_store(
      context_.ledger, context_.loop,
      [run, call, attempt](Transaction& transaction) -> std::optional<CallStored> {
        const auto id = store::find_call_named(transaction.session(), run, call);
        return id ? ledger::take_answer(transaction, *id, attempt) : std::nullopt;
      },
      [run, call, done = std::move(done)](std::expected<std::optional<CallStored>, Error> stored) {
        if (!stored) return done(std::unexpected(stored.error()));
        if (!*stored) return done(std::unexpected(no_call(run, call)));
        done(make_reply(**stored));
      });
}

void CallGate::report(base::RunId run, const std::string& call, wire::CallReport report, Done done) {
  const ledger::CallReport told{.failed = report.failed,
                                .digest = std::move(report.digest),
                                .bytes = report.bytes,
                                .duration_ms = report.duration_ms};
  ask_store(
      context_.ledger, context_.loop,
      [run, call, told](Transaction& transaction) -> std::optional<CallStored> {
        const auto id = store::find_call_named(transaction.session(), run, call);
        return id ? ledger::report_call(transaction, run, *id, told) : std::nullopt;
      },
      [this, run, call, done = std::move(done)](std::expected<std::optional<CallStored>, Error> stored) {
        if (!stored) return done(std::unexpected(stored.error()));
        if (!*stored) return done(std::unexpected(no_call(run, call)));
        // A result for a call that waits: nobody waits for it any more.
        stop_waiting(**stored);
        done(make_reply(**stored));
      });
}

void CallGate::stop_waiting(const CallStored& stored) {
  const model::ToolCall& call = stored.row.call;
  LiveRun* live = supervisor_.find(call.tool_run_id);
  const bool is_over = call.answer || call.outcome;
  if (live != nullptr && is_over && call.approval_id) live->on_call_answered(*call.approval_id, stored.run.status);
}

void CallGate::withdraw(base::RunId run, const std::string& call, Done done) {
  ask_store(
      context_.ledger, context_.loop,
      [run, call](Transaction& transaction) -> std::optional<CallStored> {
        const auto id = store::find_call_named(transaction.session(), run, call);
        return id ? ledger::withdraw_call(transaction, run, *id) : std::nullopt;
      },
      [this, run, call, done = std::move(done)](std::expected<std::optional<CallStored>, Error> stored) {
        if (!stored) return done(std::unexpected(stored.error()));
        if (!*stored) return done(std::unexpected(no_call(run, call)));
        stop_waiting(**stored);
        done(make_reply(**stored));
      });
}

void CallGate::note_session(base::RunId run, const wire::SessionReport& report,
                            std::function<void(const std::optional<Error>&)> done) {
  check_session(report);
  const int attempt = find_asker(run).claim().attempt;
  ask_store(
      context_.ledger, context_.loop,
      [run, attempt, report](Transaction& transaction) {
        return ledger::note_session(transaction, run, attempt, make_session(report)).added;
      },
      [this, run, attempt, done = std::move(done)](const std::expected<std::optional<model::Usage>, Error>& added) {
        if (!added) return done(added.error());
        LiveRun* live = supervisor_.find(run);
        if (live != nullptr && live->claim().attempt == attempt && *added) live->on_usage_stored(**added);
        done(std::nullopt);
      });
}

}  // namespace reeve::runtime
