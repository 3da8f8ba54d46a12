#include "cli/live/decide.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/connect.h"
#include "cli/exit_code.h"
#include "cli/live/ask_person.h"
#include "cli/live/confirm.h"
#include "cli/live/grant_terms.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/grants.h"
#include "client/refusal.h"
#include "view/approval_text.h"
#include "view/problem_text.h"
#include "view/status.h"
#include "wire/problem.h"

namespace reeve::cli {

namespace {

using base::Error;
using base::ErrorCode;
using client::Verdict;
using model::Approval;

// The secret that the question asks for; never taken from the command line.
std::string find_secret(const Call& call, const Approval& approval) {
  const std::string id = shown_id(call, approval.approval_id.text());
  if (!can_ask()) {
    throw Error(ErrorCode::approval_secret_needed, fmt::format("{} asks for a secret", id),
                fmt::format("type it at a terminal, or pipe it: reeve approve {}{} --secret-stdin", id,
                            confirming_option(call, approval)));
  }
  print_aside("{}\n", view::question_line(approval));
  auto secret = ask_secret(fmt::format("Secret for {}: ", id));
  if (!secret) throw Error(ErrorCode::cli_given_up, fmt::format("cancelled; {} was not answered", id));
  return std::move(*secret);
}

// The text that the question asks for; nothing without a terminal. An empty line is not an answer here: it may be a
// slip.
std::optional<std::string> find_text(const Call& call, const Approval& approval) {
  if (!can_ask()) return std::nullopt;
  const std::string id = shown_id(call, approval.approval_id.text());
  print_aside("{} {}\n", id, view::question_line(approval));
  auto text = ask_line("Answer, or press Enter to cancel: ");
  if (text && !text->empty()) return text;
  throw Error(ErrorCode::cli_given_up, fmt::format("cancelled; {} was not answered", id),
              fmt::format("to answer with an empty line: reeve answer {} \"\"", id));
}

// Whether the daemon refuses this approval anyway, with a message that says what is missing: no choice among several
// options, or no text. Then a confirmation would be asked for in vain.
bool is_incomplete(const Approval& approval, const Verdict& verdict) {
  if (verdict.answer) return false;
  std::optional<std::string> chosen = verdict.choice;
  if (!chosen) {
    if (std::ranges::count_if(approval.options, model::approves) != 1) return true;
    chosen = std::ranges::find_if(approval.options, model::approves)->value;
  }
  return model::takes_text(approval) && *chosen == model::text_option;
}

// Asks at the terminal for what is still missing for an approval: choice, confirmation, text or secret. Without a
// terminal, the daemon reports what else it needs.
void complete(const Call& call, const Confirmation& given, const Approval& approval, Verdict& verdict) {
  const bool has_several = std::ranges::count_if(approval.options, model::approves) > 1;
  if (!verdict.choice && has_several && can_ask()) {
    verdict.choice = ask_choice(call, approval);
    if (!verdict.choice) {
      throw Error(ErrorCode::cli_given_up,
                  fmt::format("cancelled; {} was not answered", shown_id(call, approval.approval_id.text())));
    }
  }
  if (!can_ask() && approval.secret && !verdict.secret) verdict.secret = find_secret(call, approval);
  if (!can_ask() && is_incomplete(approval, verdict)) return;
  // Before the confirmation, which names it.
  const bool chooses_text = verdict.choice.value_or(std::string(model::text_option)) == model::text_option;
  if (model::takes_text(approval) && chooses_text && !verdict.answer) verdict.answer = find_text(call, approval);
  confirm(call, given, approval, verdict);
  if (approval.secret && !verdict.secret) verdict.secret = find_secret(call, approval);
}

// An answer meant for one question must not reach another, so no similar id is suggested.
Error with_place(const Call& call, base::ApprovalId id, const client::Refusal& refusal) {
  const std::string elsewhere = find_elsewhere(call, id.text());
  return {refusal.error_code(), refusal.message(),
          elsewhere.empty() ? std::string("`reeve approvals` lists what waits") : elsewhere};
}

// `reeve answer` on a question that is answered by choosing. Before anything is asked.
void refuse_text(const Call& call, const Approval& approval) {
  if (model::takes_text(approval)) return;
  const std::string id = shown_id(call, approval.approval_id.text());
  std::vector<std::string> values;
  for (const model::ApprovalOption& option : approval.options) values.push_back(base::quoted(option.value));
  throw Error(ErrorCode::approval_takes_no_text, fmt::format("{} is not answered with text", id),
              approval.secret ? fmt::format("it asks for a secret: reeve approve {}", id)
                              : fmt::format("choose one of its options ({}): reeve approve {} --choice VALUE",
                                            base::join(values, ", "), id));
}

void print_decided(const Call& call, const Approval& approval) {
  const std::string id = shown_id(call, approval.approval_id.text());
  const std::string chosen = base::visible(approval.chosen_value.value_or(""));
  if (!call.out_is_terminal) {
    const std::string project = approval.project ? base::visible(approval.project->path) : std::string();
    const std::string run = approval.tool_run_id ? approval.tool_run_id->text() : std::string();
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\n", id, base::spell(approval.status), chosen, view::question_line(approval),
               project, run.empty() ? run : shown_id(call, run));
    return;
  }
  const view::Look look = view::look_of(approval.status);
  const bool says_more = !chosen.empty() && chosen != "approve" && chosen != "reject";
  std::string said = fmt::format("{}{}", base::spell(approval.status), says_more ? ": " + chosen : "");
  if (approval.answer) said = fmt::format("answered: {}", base::visible(*approval.answer));
  fmt::print("{} {} {}\n", call.out.paint(look.tint, call.out.pick(look.sign, look.ascii)), id, said);
  fmt::print("  {} asked: {}\n", view::origin_text(approval), view::question_line(approval));
}

// The command that shows the effect of the answer; empty if it is visible anyway.
std::string next_for(const Approval& approval) {
  const bool is_of_change = approval.delivery == model::Delivery::apply && approval.execution_id;
  if (is_of_change) return fmt::format("reeve patch list {}", approval.execution_id->text());
  return approval.tool_run_id ? fmt::format("reeve logs -f {}", approval.tool_run_id->text()) : std::string();
}

void print_refused(const Call& call, const Error& error) {
  // Not an error: the question was already decided or has expired.
  const bool is_late = error.is(ErrorCode::approval_already_resolved) || error.is(ErrorCode::approval_expired);
  if (!is_late) return print_aside("{}", with_prefix(call, view::error_text(error, call.err)));
  const view::Look look = view::look_of(model::ApprovalStatus::rejected);
  print_aside("{} {}\n", call.err.paint(look.tint, call.err.pick(look.sign, look.ascii)),
              with_prefix(call, call.err.words(base::visible(error.message()))));
}

class Decider {
 public:
  enum class Form { decision, answer };
  Decider(const Call& call, Verdict verdict, Form form = Form::decision)
      : call_(call),
        given_(read_confirmation(call)),
        daemon_(daemon_place(call)),
        verdict_(std::move(verdict)),
        is_answer_(form == Form::answer) {}

  void decide(const std::string& word) {
    try {
      const base::ApprovalId id = find_approval(daemon_, word);
      try {
        // A plain rejection needs nothing from the record.
        take(verdict_.word == Verdict::Word::approve ? approve(id) : client::decide(daemon_, id, verdict_));
      } catch (const client::Refusal& refusal) {
        if (!refusal.is(ErrorCode::approval_not_found)) throw;
        refuse(with_place(call_, id, refusal));
      }
    } catch (const client::Refusal& refusal) {
      refuse(refusal, refusal.document());
    } catch (const Error& error) {
      // Without a daemon the remaining ids cannot be decided either.
      if (error.is(ErrorCode::daemon_unavailable)) throw;
      refuse(error);
    }
  }

  // The named question, and the pending ones of the same run that ask for exactly the same call. What confirms one
  // confirms all: they differ in nothing that a person decides about.
  void decide_equal(const std::string& word) {
    const base::ApprovalId id = find_approval(daemon_, word);
    const Approval first = client::get_approval(daemon_, id).approval;
    if (first.kind != model::ApprovalKind::tool_call || !first.tool_run_id || !first.digest) {
      throw Error(ErrorCode::cli_usage, fmt::format("{} does not ask about a tool call", id.text()),
                  "leave out `--equal`");
    }
    constexpr std::size_t most = 500;
    const auto pending = client::list_approvals(daemon_, {.run = first.tool_run_id}, most);
    decide(word);
    verdict_.always.reset();
    for (const client::ApprovalRecord& record : pending) {
      const Approval& other = record.approval;
      const bool is_equal = other.kind == first.kind && other.digest == first.digest && other.risk == first.risk &&
                            other.tool_name == first.tool_name;
      if (code_ != ExitCode::done || other.approval_id == id || !is_equal) continue;
      given_.ids.push_back(other.approval_id);
      decide(other.approval_id.text());
    }
  }

  ExitCode finish() {
    if (call_.is_json) {
      print_json(call_, wire_.size() == 1 ? std::move(wire_.front()) : base::Value::array(std::move(wire_)));
    } else if (!next_.empty() && code_ == ExitCode::done && call_.out_is_terminal) {
      print_next(call_, next_);
    }
    return code_;
  }

 private:
  client::ApprovalRecord approve(base::ApprovalId id) {
    const auto shown = look(id);
    if (!shown) return client::decide(daemon_, id, verdict_);
    Verdict verdict = verdict_;
    if (is_answer_ && shown->status == model::ApprovalStatus::pending) refuse_text(call_, *shown);
    if (shown->status == model::ApprovalStatus::pending) {
      complete(call_, given_, *shown, verdict);
      if (verdict.always) confirm_grant(call_, given_, daemon_, *shown, *verdict.always);
    }
    return client::decide_shown(daemon_, *shown, verdict);
  }
  // Nothing for a caller that may not read: it may not decide either, and the decision itself reports that.
  std::optional<Approval> look(base::ApprovalId id) {
    try {
      return client::get_approval(daemon_, id).approval;
    } catch (const client::Refusal& refusal) {
      if (!refusal.is(ErrorCode::api_inside_run)) throw;
      return std::nullopt;
    }
  }
  void take(client::ApprovalRecord record) {
    next_ = next_for(record.approval);
    if (!call_.is_json) {
      print_decided(call_, record.approval);
      if (verdict_.always) print_grant(record.approval.approval_id);
    }
    wire_.push_back(mark_source(std::move(record.wire), call_, daemon_));
  }
  void print_grant(base::ApprovalId id) {
    constexpr std::size_t newest = 50;
    for (const client::GrantRecord& record : client::list_grants(daemon_, {}, newest)) {
      const model::Grant& grant = record.grant;
      if (grant.approval_id != id) continue;
      print_aside("{} allows from now on: {}, until {}\n", shown_id(call_, grant.grant_id.text()),
                  base::visible(grant.describes), view::clock_text(grant.expires_at, base::SystemClock().wall_now()));
      next_ = fmt::format("reeve policy revoke {}", grant.grant_id.text());
      return;
    }
  }
  void refuse(const Error& error) { refuse(error, wire::problem_document(error)); }
  void refuse(const Error& error, base::Value document) {
    if (code_ == ExitCode::done) code_ = exit_code_of(error);
    if (!call_.is_json) print_refused(call_, error);
    wire_.push_back(std::move(document));
  }

  const Call& call_;
  Confirmation given_;
  client::Daemon daemon_;
  Verdict verdict_;
  // `reeve answer`: only for questions that take text.
  bool is_answer_;
  ExitCode code_ = ExitCode::done;
  base::Value::Array wire_;
  std::string next_;
};

}  // namespace

ExitCode decide_all(const Call& call, Verdict::Word word) {
  Verdict verdict{
      .word = word, .choice = call.arguments.value("--choice"), .comment = call.arguments.value("--comment")};
  if (call.arguments.has("--secret-stdin")) verdict.secret = read_secret();
  if (word == Verdict::Word::approve) verdict.always = read_grant_terms(call);
  Decider decider(call, std::move(verdict));
  for (const std::string& name : call.arguments.positionals()) {
    call.arguments.has("--equal") ? decider.decide_equal(name) : decider.decide(name);
  }
  return decider.finish();
}

ExitCode answer_with_text(const Call& call) {
  Verdict verdict{.word = Verdict::Word::approve};
  if (call.arguments.positionals().size() > 1) verdict.answer = call.arguments.positional(1);
  Decider decider(call, std::move(verdict), Decider::Form::answer);
  decider.decide(call.arguments.positional(0));
  return decider.finish();
}

std::vector<Positional> decision_positionals() {
  return {{.name = "ID", .help = "AP-4, or @last for the newest", .is_repeatable = true, .is_id = true}};
}

Option equal_option() {
  return {.name = "--equal", .help = "also decide all pending questions of the run about exactly the same tool call"};
}

Option comment_option() {
  return {.name = "--comment", .value = "TEXT", .help = "comment to keep with the decision; the tool can read it"};
}

}  // namespace reeve::cli
