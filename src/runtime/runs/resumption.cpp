#include "runtime/runs/resumption.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "json/encode.h"
#include "ledger/run_questions.h"

namespace reeve::runtime {

namespace {

using base::Value;

constexpr std::int64_t max_decisions = 100;
// Limits for a variable or argument: the kernel allows 128 KiB each and 2 MiB in total.
constexpr std::size_t max_value = 16UL * 1024;
constexpr std::size_t max_text = 64UL * 1024;

std::string one_word(std::string_view text) {
  std::string word(base::truncate_utf8(text, max_value));
  // NUL bytes cannot be passed in the environment or arguments.
  std::erase(word, '\0');
  return word;
}

std::string fill_in(std::string_view word, const model::Approval& approval) {
  struct Place {
    std::string_view name;
    std::string value;
  };
  const Place places[] = {{"{value}", one_word(approval.chosen_value.value_or(""))},
                          {"{comment}", one_word(approval.comment.value_or(""))},
                          {"{approval_id}", approval.approval_id.text()}};
  std::string filled;
  while (!word.empty()) {
    const auto place = std::ranges::find_if(places, [&](const Place& one) { return word.starts_with(one.name); });
    if (place != std::end(places)) {
      filled += place->value;
      word.remove_prefix(place->name.size());
    } else {
      filled += word.front();
      word.remove_prefix(1);
    }
  }
  return filled;
}

// Whether that attempt left calls for the next one.
bool left_calls(ledger::Transaction& transaction, base::RunId run, int attempt) {
  return transaction.session().query_number(store::Sql::attempt_left_calls,
                                            {{"run", run.number()}, {"attempt", attempt}}) > 0;
}

}  // namespace

Value describe_decisions(const std::vector<model::Approval>& approvals) {
  Value decisions = Value::object();
  std::size_t size = 0;
  for (const model::Approval& approval : approvals) {
    if (approval.status == model::ApprovalStatus::pending) continue;
    const std::string name = approval.tool_ref.value_or(approval.approval_id.text());
    // Newest first: older answers to a question of the same name are ignored.
    if (decisions.find(name) != nullptr) continue;
    Value decision = Value::object();
    decision.set("approval_id", Value::string(approval.approval_id.text()));
    decision.set("status", Value::string(base::spell(approval.status)));
    decision.set("chosen_value", json::to_value(approval.chosen_value));
    decision.set("comment", json::to_value(approval.comment));
    size += json::encode(decision).size() + name.size();
    if (size > max_text) break;
    decisions.set(name, std::move(decision));
  }
  return decisions;
}

std::optional<model::Approval> find_grant(ledger::Transaction& transaction, base::RunId run, int attempt) {
  std::optional<base::ApprovalId> id;
  transaction.session().query(store::Sql::attempt_load, {{"run", run.number()}, {"attempt", attempt}},
                              [&](const store::Row& row) {
                                if (const auto number = row.find_integer(2)) id = base::ApprovalId(*number);
                              });
  auto found = id ? store::find_approval(transaction.session(), *id) : std::nullopt;
  return found ? std::optional(std::move(found->approval)) : std::nullopt;
}

Resumption resume_after_calls(const std::vector<model::Approval>& approvals,
                              const std::vector<std::string>& resume_args) {
  Resumption resumption{.environment = {fmt::format("REEVE_DECISIONS={}", json::encode(describe_decisions(approvals)))},
                        .words = {}};
  const auto newest = std::ranges::find_if(
      approvals, [](const model::Approval& one) { return one.status != model::ApprovalStatus::pending; });
  for (const std::string& word : resume_args) {
    resumption.words.push_back(newest != approvals.end() ? fill_in(word, *newest) : word);
  }
  return resumption;
}

std::optional<Resumption> find_resumption(ledger::Transaction& transaction, base::RunId run, int attempt,
                                          const std::vector<std::string>& resume_args) {
  const auto grant = find_grant(transaction, run, attempt);
  if (!grant && !left_calls(transaction, run, attempt - 1)) return std::nullopt;
  if (!grant) {
    return resume_after_calls(ledger::find_approvals_of(transaction.session(), run, max_decisions), resume_args);
  }
  const model::Approval& approval = *grant;
  Resumption resumption;
  const Value decisions = describe_decisions(
      ledger::find_approvals_of(transaction.session(), run, max_decisions, model::ApprovalKind::question));
  resumption.environment = {fmt::format("AUTO_APPROVAL={}", one_word(approval.chosen_value.value_or(""))),
                            fmt::format("REEVE_APPROVAL_ID={}", approval.approval_id.text()),
                            fmt::format("REEVE_DECISIONS={}", json::encode(decisions))};
  for (const std::string& word : resume_args) resumption.words.push_back(fill_in(word, approval));
  return resumption;
}

}  // namespace reeve::runtime
