#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "keeper/output_reader.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/launch_fingerprint.h"
#include "runtime/runs/live_run.h"
#include "runtime/runs/terminal_answer.h"

// Questions of a live run (APR-1), prompts on its terminal (RUN-10), and the effect of answers.
namespace reeve::runtime {

namespace {

using base::Error;
using model::RunStatus;

// The end of the output, from which the screen is reconstructed.
constexpr std::uint64_t tail_bytes = 256ULL * 1024;
constexpr auto type_pause = std::chrono::milliseconds(100);
constexpr int max_tries = 20;
constexpr auto look_pause = std::chrono::seconds(1);

Error one_at_a_time(base::RunId run) {
  return {"approval.one_at_a_time", fmt::format("{} already has an open question", run.text()),
          "wait for its answer, then ask the next"};
}

}  // namespace

ledger::QuestionFrame make_question_frame(const RuntimeContext& context, const model::Run& run, const RunPlan& plan,
                                          bool with_digest) {
  ledger::QuestionFrame frame{.tool = run.tool_name,
                              // A database server can be reached even from inside a sandbox.
                              .is_advisory = plan.profile.sandbox != model::Sandbox::guard || context.lease.has_value(),
                              .expiry = context.supervision.approval_expiry.question};
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

void LiveRun::ask(Question question, AskDone done) {
  if (exit_ || start_.ending) {
    done(std::unexpected(Error("run.not_running", fmt::format("{} is ending", record().tool_run_id.text()))));
    return;
  }
  if (!start_.plan.may_ask) {
    done(std::unexpected(Error("approval.gate_asks", "a gate cannot ask questions: its exit code is the answer")));
    return;
  }
  Wanted wanted{.approval = make_approval(question), .expires_in = question.expires_in, .prompt = {}, .done = done};
  submit(std::move(wanted));
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

void LiveRun::submit(Wanted wanted) {
  is_asking_ = true;
  ledger::RunQuestion question{
      .claim = claim(), .approval = {}, .prompt = wanted.prompt, .time_left_ms = time_left_ms()};
  ask_store(
      context_.ledger, context_.loop,
      [id = record().tool_run_id, frame = make_frame(true), question, approval = wanted.approval,
       expires_in = wanted.expires_in](ledger::Transaction& transaction) mutable {
        ledger::RunQuestion asked = question;
        asked.approval = ledger::frame_question(transaction, frame, approval, expires_in);
        ledger::Asked result = ledger::ask_for_run(transaction, id, std::move(asked));
        if (result.run && !result.approval) {
          ledger::record_refused_questions(transaction, *result.run, 1, approval.question);
        }
        return result;
      },
      [this, alive = std::weak_ptr(alive_), done = wanted.done](std::expected<ledger::Asked, Error> asked) {
        if (alive.expired()) return;
        is_asking_ = false;
        if (asked) {
          see_asked(*asked, done);
        } else {
          done(std::unexpected(asked.error()));
        }
        // Checks again for a prompt that appeared meanwhile, or about which asking failed.
        if (!alive.expired() && !open_question_) look_again();
      });
}

void LiveRun::see_asked(const ledger::Asked& asked, const AskDone& done) {
  const base::RunId id = record().tool_run_id;
  if (!asked.run) {
    done(std::unexpected(Error("run.not_running", fmt::format("{} has ended", id.text()))));
    return;
  }
  if (!asked.approval) {
    done(std::unexpected(one_at_a_time(id)));
    return;
  }
  start_.record.status = asked.run->status;
  start_.record.reason = asked.run->reason;
  open_question_ = asked.approval->approval_id;
  open_prompt_.reset();
  hold_clock();
  events_.changed(record());
  events_.asked(*asked.approval);
  done(*asked.approval);
}

void LiveRun::note_read(const model::Approval& approval) {
  const bool is_own = approval.attempt == claim().attempt && approval.status != model::ApprovalStatus::pending;
  if (!is_own || std::exchange(has_read_answer_, true)) return;
  ask_store(
      context_.ledger, context_.loop,
      [id = approval.approval_id](ledger::Transaction& transaction) { ledger::record_read(transaction, id); },
      [](auto) {});
}

void LiveRun::report(const ToolEvent& event) {
  OutputBatch digest{.run = record().tool_run_id, .feed = feed_, .attempt = claim().attempt};
  digest.out_offset = static_cast<std::uint64_t>(news_.out_offset);
  digest.err_offset = static_cast<std::uint64_t>(news_.err_offset);
  digest.position = position_;
  // Any message on its socket is a sign of life.
  digest.has_heartbeat = true;
  if (const auto* error = std::get_if<ErrorReport>(&event)) {
    digest.last_error = hide(error->message);
    digest.has_failure_marker = error->fatal;
  } else if (const auto* progress = std::get_if<model::Progress>(&event)) {
    digest.progress = *progress;
    if (digest.progress->message) digest.progress->message = hide(*digest.progress->message);
  } else if (const auto* usage = std::get_if<model::Usage>(&event)) {
    digest.usage = *usage;
  } else if (const auto* told = std::get_if<Report>(&event)) {
    digest.report = *told;
  } else if (const auto* failed = std::get_if<ToolUseError>(&event)) {
    ToolUseError hidden{hide(failed->message)};
    if (failed->tool) hidden.tool = hide(*failed->tool);
    digest.tool_errors.push_back(std::move(hidden));
  }
  take(std::move(digest));
}

std::optional<std::int64_t> LiveRun::time_left_ms() const {
  if (!start_.deadline) return std::nullopt;
  const auto left = std::chrono::duration_cast<base::Milliseconds>(*start_.deadline - context_.loop.now());
  return std::max<std::int64_t>(left.count(), 0);
}

// RUN-3, RUN-5: both clocks stop while a question is open.
void LiveRun::hold_clock() {
  if (const auto left = time_left_ms()) start_.time_left = base::Milliseconds(*left);
  start_.deadline.reset();
  // A stored deadline would end the pause.
  news_.deadline_ms.reset();
  deadline_timer_ = {};
  silence_timer_ = {};
  if (link_) link_->send(keeper::Deadline{0});
}

void LiveRun::resume_clock() {
  if (exit_) return;
  if (start_.time_left) {
    start_.deadline = context_.loop.now() + *start_.time_left;
    start_.time_left.reset();
    news_.deadline_ms = std::chrono::duration_cast<base::Milliseconds>(start_.deadline->time_since_epoch()).count();
    has_news_ = true;
    if (link_) link_->send(keeper::Deadline{start_.deadline->time_since_epoch().count()});
    set_deadline_timer();
    store_news();
  }
  renew_silence();
}

void LiveRun::follow(const ledger::RunConsequence& consequence, const std::optional<std::string>& secret) {
  using Kind = ledger::RunConsequence::Kind;
  if (exit_ || consequence.approval.attempt != claim().attempt) return;
  // The tool has already asked its next question.
  if (open_question_ && *open_question_ != consequence.approval.approval_id) return;
  open_question_.reset();
  open_prompt_.reset();
  start_.record.status = consequence.run.status;
  start_.record.reason = consequence.run.reason;
  events_.changed(record());
  switch (consequence.kind) {
    case Kind::go_on:
      resume_clock();
      continue_questions();
      break;
    case Kind::type:
      resume_clock();
      type(consequence.approval, consequence.prompt.value_or(0), secret);
      break;
    case Kind::end_process:
      if (!start_.ending) start_.ending = Ending{RunStatus::failed, "approval expired", {}};
      stop(start_.plan.profile.kill_grace);
      break;
    case Kind::start_next:
    case Kind::over:
      break;
  }
}

// Continues with a question asked under an earlier daemon.
void LiveRun::continue_questions() {
  const auto& question = start_.question;
  if (question && question->attempt == claim().attempt) {
    const bool is_typed = question->delivery == model::Delivery::terminal;
    if (question->status == model::ApprovalStatus::pending) {
      open_question_ = question->approval_id;
      if (is_typed) open_prompt_ = start_.prompt;
    } else if (is_typed && !question->secret && question->status != model::ApprovalStatus::expired) {
      // The keeper remembers the number and types the answer only once.
      type(*question, start_.prompt.value_or(0), std::nullopt);
    }
  }
  start_.question.reset();
  const bool stands = prompt_ && !open_question_ && record().status == RunStatus::running;
  if (stands) see_prompt(*prompt_);
}

void LiveRun::see_prompt(const keeper::Prompt& prompt) {
  prompt_ = prompt;
  // The prompt that was asked about disappeared while no daemon was running.
  if (open_prompt_ && *open_prompt_ < prompt.serial) return see_prompt_over(prompt.serial - 1);
  // One question at a time: checked again when that one is answered.
  if (exit_ || start_.ending || is_asking_ || open_question_) return;
  // Its answer is being typed: checked again if that fails.
  if (answer_ && answer_->answer.serial == prompt.serial) return;
  const model::OnPrompt& policy = start_.plan.profile.on_prompt;
  const term::ScreenQuestion seen =
      term::read_question(read_tail(prompt.position), start_.plan.rows, start_.plan.columns, prompt.is_secret);
  const bool is_certain = prompt.certainty == keeper::Prompt::Certainty::certain;
  if (!is_certain && !seen.looks_like_question && !prompt.is_secret) {
    if (std::exchange(has_told_maybe_, true)) return;
    warn("it may be waiting for input at its terminal; `reeve attach` shows it");
    return;
  }
  switch (policy.action) {
    case model::PromptAction::fail:
      end_by_itself({RunStatus::failed, "blocked on stdin", {}});
      warn("it waits for input at its terminal: this profile is not safe for headless use");
      break;
    case model::PromptAction::answer:
      send_answer({prompt.serial, prompt.serial, one_line(policy.text) + "\r"});
      break;
    case model::PromptAction::approve:
      ask_at_terminal(prompt, seen);
      break;
  }
}

void LiveRun::ask_at_terminal(const keeper::Prompt& prompt, const term::ScreenQuestion& seen) {
  model::Approval approval = make_terminal_question(start_.plan.tool, seen, prompt.is_secret);
  approval.question = hide(approval.question);
  for (model::ApprovalOption& option : approval.options) option.label = hide(option.label);
  Wanted wanted{.approval = std::move(approval), .expires_in = {}, .prompt = prompt.serial, .done = {}};
  wanted.done = [this, serial = prompt.serial](const auto& asked) {
    if (!asked) return;
    open_prompt_ = serial;
    // The prompt disappeared while this was being stored.
    if (!prompt_ || prompt_->serial != serial) see_prompt_over(serial);
  };
  submit(std::move(wanted));
}

void LiveRun::look_again() {
  look_timer_ = context_.loop.at(context_.loop.now() + look_pause, [this] {
    if (prompt_) see_prompt(*prompt_);
  });
}

void LiveRun::see_prompt_over(std::uint32_t serial) {
  if (prompt_ && prompt_->serial <= serial) prompt_.reset();
  if (!open_question_ || !open_prompt_ || *open_prompt_ > serial) return;
  ask_store(
      context_.ledger, context_.loop,
      [id = *open_question_](ledger::Transaction& transaction) {
        return ledger::withdraw_question(transaction, id, "it was answered at the terminal, or the tool continued");
      },
      [this, alive = std::weak_ptr(alive_), serial,
       id = *open_question_](std::expected<std::optional<model::Run>, Error> moved) {
        if (alive.expired() || open_question_ != id) return;
        if (!moved) {
          prompt_timer_ = context_.loop.at(context_.loop.now() + std::chrono::seconds(1),
                                           [this, serial] { see_prompt_over(serial); });
          return;
        }
        // If it was decided just now, the decision is handled separately.
        if (!*moved) return;
        open_question_.reset();
        open_prompt_.reset();
        start_.record.status = (*moved)->status;
        start_.record.reason = (*moved)->reason;
        events_.changed(record());
        resume_clock();
        if (prompt_) see_prompt(*prompt_);
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

void LiveRun::type(const model::Approval& approval, std::int64_t prompt, const std::optional<std::string>& secret) {
  const auto keys = make_keystrokes(approval, secret);
  if (!keys) {
    warn("the answer contained no secret; nothing was typed");
    store_typed(approval.approval_id, false);
    if (prompt_) see_prompt(*prompt_);
    return;
  }
  const auto number = static_cast<std::uint64_t>(approval.approval_id.number());
  send_answer({number, static_cast<std::uint32_t>(prompt), *keys});
}

void LiveRun::send_answer(keeper::Answer answer) {
  answer_ = Typed{std::move(answer), 0};
  if (link_) link_->send(answer_->answer);
}

void LiveRun::store_typed(base::ApprovalId id, bool is_typed) {
  ask_store(
      context_.ledger, context_.loop,
      [id, is_typed](ledger::Transaction& transaction) { ledger::record_typed(transaction, id, is_typed); },
      [](auto) {});
}

void LiveRun::see_typed(std::uint64_t number, bool is_typed) {
  // The tool may just have been busy: while the prompt is still there, try again.
  const bool may_stand = !is_typed && answer_ && answer_->answer.number == number && prompt_ &&
                         prompt_->serial == answer_->answer.serial && ++answer_->tries < max_tries;
  if (may_stand) {
    prompt_timer_ = context_.loop.at(context_.loop.now() + type_pause, [this] {
      if (link_ && answer_) link_->send(answer_->answer);
    });
    return;
  }
  if (answer_ && answer_->answer.number == number) answer_.reset();
  const bool is_decision = start_.plan.profile.on_prompt.action == model::PromptAction::approve;
  if (is_decision && !is_typed) warn("the prompt was gone when the answer arrived; nothing was typed");
  if (is_decision) store_typed(base::ApprovalId(static_cast<std::int64_t>(number)), is_typed);
  // The prompt has no answer now, so it is handled again.
  if (!is_typed) look_again();
}

}  // namespace reeve::runtime
