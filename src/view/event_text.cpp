#include "view/event_text.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "json/fields.h"
#include "model/approval.h"
#include "view/approval_text.h"

namespace reeve::view {

namespace {

using base::Value;

std::string text_of(const Value& event, std::string_view key) { return base::visible(json::text_of(event, key)); }

// "EX-9/deploy", "EX-9", or empty.
std::string node_of(const Value& event) {
  const std::string execution = text_of(event, "execution_id");
  const std::string node = text_of(event, "node_id");
  return execution.empty() || node.empty() ? execution + node : execution + "/" + node;
}

// The asker: "EX-9/deploy", "sh TR-17".
std::string asker_of(const Value& event) {
  if (!text_of(event, "node_id").empty()) return node_of(event);
  if (std::string caller = text_of(event, "asked_by"); !caller.empty()) return caller;
  const std::string tool = text_of(event, "tool");
  const std::string run = text_of(event, "tool_run_id");
  return tool.empty() || run.empty() ? tool + run : tool + " " + run;
}

std::string with_reason(std::string text, const std::string& reason) {
  if (reason.empty()) return text;
  return text.empty() ? reason : text + ": " + reason;
}

std::string run_note(const Value& event) {
  std::string who = text_of(event, "tool");
  if (const std::string execution = text_of(event, "execution_id"); !execution.empty()) who += " in " + execution;
  const std::string reason = text_of(event, "reason");
  const auto code = json::integer_of(event, "exit_code");
  return with_reason(who, reason.empty() && code ? fmt::format("exit {}", *code) : reason);
}

std::string question_note(const Value& event) {
  model::Approval approval;
  const Value* question = event.find("question");
  if (question != nullptr && question->as_string() != nullptr) approval.question = *question->as_string();
  const Value* reminder = event.find("reminder");
  const bool is_again = reminder != nullptr && reminder->as_bool() != nullptr && *reminder->as_bool();
  return with_reason(asker_of(event) + (is_again ? " still asks" : " asks"), question_line(approval));
}

std::string call_note(const Value& event, std::string_view what) {
  return with_reason(fmt::format("{} {} {}", text_of(event, "agent"), what, text_of(event, "tool")),
                     text_of(event, text_of(event, "reason").empty() ? "rule" : "reason"));
}

std::string progress_note(const Value& event) {
  const Value* percent = event.find("percent");
  std::string text = text_of(event, "caller");
  if (percent != nullptr && !percent->is_null()) {
    const std::int64_t* whole = percent->as_integer();
    const double* number = percent->as_number();
    const double share = whole != nullptr ? static_cast<double>(*whole) : number != nullptr ? *number : 0;
    text += fmt::format(" {:.0f} %", share);
  }
  return with_reason(std::move(text), text_of(event, "message"));
}

std::string decision_note(const Value& event) {
  std::string text = asker_of(event);
  const std::string chosen = text_of(event, "chosen_value");
  const std::string by = text_of(event, "decided_by");
  if (!chosen.empty()) text = with_reason(text, chosen);
  if (!by.empty()) text += " by " + by;
  return with_reason(text, text_of(event, "reason"));
}

std::string node_note(const Value& event) {
  std::vector<std::string> parts;
  if (const auto attempt = json::integer_of(event, "attempt"); attempt && *attempt > 1) {
    parts.push_back(fmt::format("attempt {}", *attempt));
  }
  if (const auto round = json::integer_of(event, "iteration"); round && *round > 0) {
    parts.push_back(fmt::format("round {}", *round + 1));
  }
  return with_reason(base::join(parts, ", "), text_of(event, "error"));
}

std::string patch_note(const Value& event) {
  const auto files = json::integer_of(event, "files").value_or(0);
  return with_reason(
      fmt::format("{}, {} file{} +{} -{}", node_of(event), files, files == 1 ? "" : "s",
                  json::integer_of(event, "added").value_or(0), json::integer_of(event, "removed").value_or(0)),
      text_of(event, "reason"));
}

}  // namespace

std::string event_subject(const Value& event) {
  for (const char* key : {"approval_id", "tool_run_id", "patch_id", "task_id", "agent_id"}) {
    if (std::string id = text_of(event, key); !id.empty()) return id;
  }
  return node_of(event);
}

std::string event_status(const Value& event) {
  std::string status = text_of(event, "status");
  return status.empty() ? text_of(event, "state") : status;
}

std::string event_note(const Value& event) {
  const std::string kind = text_of(event, "event");
  if (kind == "tool_status_change") return run_note(event);
  if (kind == "tool_approval_pending") return call_note(event, "asks to use");
  if (kind == "policy_denied" && !text_of(event, "call_id").empty()) return call_note(event, "was denied");
  if (kind == "approval_needed" || kind == "policy_denied") return question_note(event);
  if (kind == "approval_status_change") return decision_note(event);
  if (kind == "caller_progress") return progress_note(event);
  if (kind == "node_status_change") return node_note(event);
  if (kind == "patch_state_change") return patch_note(event);
  return with_reason(text_of(event, "workflow"), text_of(event, "reason"));
}

}  // namespace reeve::view
