#include <utility>

#include <fmt/format.h>

#include "json/describe.h"
#include "keeper/output_reader.h"
#include "os/beneath.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/launch_fingerprint.h"
#include "runtime/runs/live_run.h"

// Questions of a live run (APR-1), prompts on its terminal (RUN-10), and the effect of answers.
namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;

// The end of the output, from which the screen is reconstructed.
constexpr std::uint64_t tail_bytes = 256ULL * 1024;

Error one_at_a_time(base::RunId run) {
  return {ErrorCode::approval_one_at_a_time, fmt::format("{} already has an open question", run.text()),
          "wait for its answer, then ask the next"};
}

engine::AnswerEffect effect_of(ledger::RunConsequence::Kind kind) {
  using Kind = ledger::RunConsequence::Kind;
  switch (kind) {
    case Kind::go_on:
      return engine::AnswerEffect::resume;
    case Kind::type:
      return engine::AnswerEffect::type;
    case Kind::end_process:
      return engine::AnswerEffect::end_process;
    case Kind::start_next:
    case Kind::resume_released:
    case Kind::over:
      break;
  }
  return engine::AnswerEffect::none;
}

}  // namespace

bool is_advisory(const RuntimeContext& context, const RunPlan& plan) {
  // A database server can be reached even from inside a sandbox.
  return plan.profile.sandbox != model::Sandbox::guard || context.lease.has_value();
}

ledger::QuestionFrame make_question_frame(const RuntimeContext& context, const model::Run& run, const RunPlan& plan,
                                          bool with_digest) {
  ledger::QuestionFrame frame{.tool = run.tool_name,
                              .is_advisory = is_advisory(context, plan),
                              .expiry = context.supervision.approval_expiry.question,
                              .command = plan.argv,
                              .is_sandboxed = plan.profile.sandbox == model::Sandbox::guard,
                              .levels = plan.risk};
  if (!with_digest) return frame;
  const std::string folder = run_folder(context, run.tool_run_id);
  const engine::LaunchFingerprint fingerprint = take_fingerprint(plan, folder);
  frame.digest = engine::digest_of(fingerprint);
  save_fingerprint(folder, *frame.digest, fingerprint);
  return frame;
}

// LOG-4: questions are shown on every screen.
std::string LiveRun::hide(const std::string& text) const {
  base::Redactor redactor(*secrets_);
  return redactor.feed(text) + redactor.finish();
}

ledger::QuestionFrame LiveRun::make_frame(bool with_digest) const {
  return make_question_frame(context_, record(), start_.plan, with_digest);
}

std::optional<std::int64_t> LiveRun::time_left_ms() const {
  const auto left = engine::time_left(state_, context_.loop.now());
  return left ? std::optional(left->count()) : std::nullopt;
}

model::Approval LiveRun::make_approval(const Question& question) const {
  model::Approval approval;
  approval.question = hide(question.question);
  for (const model::ApprovalOption& option : question.options) {
    approval.options.push_back({hide(option.value), hide(option.label), option.approves});
  }
  if (question.default_value) approval.default_value = hide(*question.default_value);
  if (question.tool_ref) approval.tool_ref = hide(*question.tool_ref);
  approval.delivery =
      start_.plan.profile.resume == model::ResumeWay::live ? model::Delivery::live : model::Delivery::rerun;
  return approval;
}

void LiveRun::ask(const Question& question, AskDone done) {
  if (!engine::is_alive(state_)) {
    done(std::unexpected(Error(ErrorCode::run_not_running, fmt::format("{} is ending", record().tool_run_id.text()))));
    return;
  }
  if (!start_.plan.may_ask) {
    done(std::unexpected(
        Error(ErrorCode::approval_gate_asks, "a gate cannot ask questions: its exit code is the answer")));
    return;
  }
  handle(engine::QuestionSubmitted{});
  submit({.approval = make_approval(question),
          .expires_in = question.expires_in,
          .prompt = {},
          .dialog = {},
          .done = std::move(done)});
}

void LiveRun::submit(Submission submission) {
  ledger::RunQuestion question{.claim = claim(), .approval = {}, .prompt = {}, .time_left_ms = time_left_ms()};
  if (submission.prompt) question.prompt = *submission.prompt;
  ledger::QuestionFrame frame = make_frame(true);
  frame.dialog = std::move(submission.dialog);
  const auto store = [id = record().tool_run_id, frame = std::move(frame), question, approval = submission.approval,
                      expires_in = submission.expires_in](ledger::Transaction& transaction) {
    ledger::RunQuestion asked = question;
    asked.approval = ledger::frame_question(transaction, frame, approval, expires_in);
    ledger::Asked result = ledger::ask_for_run(transaction, id, std::move(asked));
    if (result.run && !result.approval) {
      ledger::record_refused_questions(transaction, *result.run, 1, approval.question);
    }
    return result;
  };
  ask_store(context_.ledger, context_.loop, store,
            [this, alive = std::weak_ptr(alive_), prompt = submission.prompt,
             done = std::move(submission.done)](std::expected<ledger::Asked, Error> asked) {
              if (alive.expired()) return;
              const base::RunId id = record().tool_run_id;
              if (!asked || !asked->run || !asked->approval) {
                handle(engine::QuestionStored{});
                if (!asked) return done(std::unexpected(asked.error()));
                if (asked->run) return done(std::unexpected(one_at_a_time(id)));
                return done(std::unexpected(Error(ErrorCode::run_not_running, fmt::format("{} has ended", id.text()))));
              }
              set_status(*asked->run);
              handle(engine::QuestionStored{engine::AskedQuestion{asked->approval->approval_id, prompt}});
              report_(Changed{});
              report_(Asked{*asked->approval});
              done(*asked->approval);
            });
}

void LiveRun::on_answer_read(const model::Approval& approval) {
  const bool is_own = approval.kind == model::ApprovalKind::question && approval.attempt == claim().attempt &&
                      approval.status != model::ApprovalStatus::pending;
  if (!is_own || state_.has_read_answer) return;
  handle(engine::AnswerRead{});
  ask_store(
      context_.ledger, context_.loop,
      [id = approval.approval_id](ledger::Transaction& transaction) { ledger::record_read(transaction, id); },
      [](auto) {});
}

void LiveRun::on_tool_event(const ToolEvent& event) {
  OutputBatch batch = output_.make_batch();
  batch.out_offset = static_cast<std::uint64_t>(news_.record().out_offset);
  batch.err_offset = static_cast<std::uint64_t>(news_.record().err_offset);
  batch.position = state_.news.position;
  // Any message on its socket is a sign of life.
  batch.has_heartbeat = true;
  if (const auto* error = std::get_if<ErrorReport>(&event)) {
    batch.last_error = hide(error->message);
    batch.has_failure_marker = error->fatal;
  } else if (const auto* progress = std::get_if<model::Progress>(&event)) {
    batch.progress = *progress;
    if (batch.progress->message) batch.progress->message = hide(*batch.progress->message);
  } else if (const auto* usage = std::get_if<model::Usage>(&event)) {
    batch.usage = *usage;
  } else if (const auto* told = std::get_if<runtime::Report>(&event)) {
    batch.report = *told;
  } else if (const auto* failed = std::get_if<ToolUseError>(&event)) {
    ToolUseError hidden{hide(failed->message)};
    if (failed->tool) hidden.tool = hide(*failed->tool);
    batch.tool_errors.push_back(std::move(hidden));
  }
  on_output(std::move(batch));
}

void LiveRun::follow(const ledger::RunConsequence& consequence, const std::optional<std::string>& secret) {
  const base::ApprovalId id = consequence.approval.approval_id;
  if (consequence.approval.kind == model::ApprovalKind::tool_call) {
    return on_call_answered(id, consequence.run.status);
  }
  if (consequence.approval.attempt != claim().attempt || !engine::awaits_answer(state_, id)) return;
  set_status(consequence.run);
  report_(Changed{});
  engine::QuestionAnswered answered{.id = id, .effect = effect_of(consequence.kind), .status = consequence.run.status};
  if (consequence.prompt) answered.prompt = static_cast<std::uint32_t>(*consequence.prompt);
  if (answered.effect == engine::AnswerEffect::type) terminal_.expect(consequence.approval, secret);
  handle(answered);
}

void LiveRun::perform(const engine::ReadScreen& action) {
  const bool looks_like_question =
      terminal_.read_prompt(read_tail(action.prompt.position), action.prompt.is_secret, *secrets_);
  handle(engine::ScreenRead{action.prompt.serial, looks_like_question});
}

void LiveRun::perform(const engine::AskAtTerminal& action) {
  RunTerminal::PromptQuestion asked = terminal_.make_question(start_.plan.tool, action.prompt.is_secret, *secrets_);
  submit({.approval = std::move(asked.approval),
          .expires_in = {},
          .prompt = action.prompt.serial,
          .dialog = std::move(asked.dialog),
          .done = [](auto) {}});
}

void LiveRun::perform(const engine::WithdrawQuestion& action) {
  ask_store(
      context_.ledger, context_.loop,
      [id = action.id](ledger::Transaction& transaction) {
        return ledger::withdraw_question(transaction, id, "it was answered at the terminal, or the tool continued");
      },
      [this, alive = std::weak_ptr(alive_), action](std::expected<std::optional<model::Run>, Error> moved) {
        if (alive.expired()) return;
        engine::QuestionWithdrawn event{.id = action.id, .serial = action.serial, .is_stored = moved.has_value()};
        const bool is_withdrawn = moved && *moved && state_.question && state_.question->id == action.id;
        if (is_withdrawn) {
          event.status = (*moved)->status;
          set_status(**moved);
          report_(Changed{});
        }
        handle(event);
      });
}

std::string LiveRun::read_tail(std::uint64_t position) const {
  std::string tail;
  try {
    const auto folder = os::Folder::open(attempt_folder(context_, record().tool_run_id, claim().attempt));
    keeper::OutputReader reader(folder);
    if (!reader.seek(position > tail_bytes ? position - tail_bytes : 0)) return tail;
    while (const auto frame = reader.next()) {
      if (frame->position >= position || tail.size() > 2 * tail_bytes) break;
      tail.append(frame->bytes);
    }
  } catch (const Error&) {
    // Without the screen, the question is asked without its wording, which is better than not asking.
  }
  return tail;
}

void LiveRun::perform(const engine::TypeAnswer& action) {
  const auto answer = terminal_.make_answer(action.id, action.serial);
  if (!answer) return handle(engine::AnswerUnusable{action.id});
  send(*answer);
}

void LiveRun::perform(const engine::TypeFixedAnswer& action) {
  send(terminal_.make_fixed_answer(start_.plan.profile.on_prompt.text, action.serial));
}

void LiveRun::perform(const engine::TypeAgain&) { send(terminal_.last_answer()); }

}  // namespace reeve::runtime
