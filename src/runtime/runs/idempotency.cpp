#include "runtime/runs/idempotency.h"

#include <charconv>

#include <fmt/format.h>

namespace reeve::runtime {

using store::Sql;

namespace {

using base::ErrorCode;

constexpr ErrorCode repeated = ErrorCode::api_repeated;

// The part stored after the id: "TR-17\n201\n{…}".
std::string answer_text(const SentAnswer& answer) {
  const bool is_kept = answer.body.size() <= longest_kept_answer;
  return fmt::format("\n{}\n{}", answer.status, is_kept ? answer.body : "");
}

}  // namespace

std::optional<std::string> find_answer(ledger::Transaction& transaction,
                                       const std::optional<Idempotency>& idempotency) {
  std::optional<std::string> found;
  if (!idempotency) return found;
  bool is_same = true;
  transaction.session().query(Sql::idempotency_find, {{"key", idempotency->key}}, [&](const store::Row& row) {
    is_same = row.text(0) == idempotency->request_hash;
    found = std::string(row.text(1));
  });
  if (!is_same) {
    throw base::Error(ErrorCode::api_key_reused, "this Idempotency-Key was used for another request", "send a new key");
  }
  if (!found) return found;
  const std::size_t end = found->find('\n');
  if (end != std::string::npos) throw base::Error(repeated, found->substr(end + 1));
  return found;
}

void remember_answer(ledger::Transaction& transaction, const std::optional<Idempotency>& idempotency,
                     const std::string& about, std::string_view record) {
  if (!idempotency) return;
  const bool is_whole = idempotency->status != 0 && !record.empty() && record.size() <= longest_kept_answer;
  const std::string answer = is_whole ? answer_text({idempotency->status, std::string(record)}) : "";
  transaction.session().write(Sql::idempotency_insert, {{"key", idempotency->key},
                                                        {"request_hash", idempotency->request_hash},
                                                        {"response", about + answer},
                                                        {"now", transaction.now_text()}});
}

void complete_answer(ledger::Transaction& transaction, const Idempotency& idempotency, const SentAnswer& answer) {
  transaction.session().write_any(Sql::idempotency_complete, {{"key", idempotency.key},
                                                              {"request_hash", idempotency.request_hash},
                                                              {"response", answer_text(answer)},
                                                              {"whole", "%\n%"},
                                                              {"now", transaction.now_text()}});
}

void forget_answers(ledger::Transaction& transaction, base::WallTime before) {
  transaction.session().write_any(Sql::idempotency_forget, {{"before", base::format_time(before)}});
}

std::optional<SentAnswer> read_repeated(const base::Error& error) {
  if (!error.is(repeated)) return std::nullopt;
  const std::string& text = error.message();
  SentAnswer answer;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), answer.status);
  if (failure != std::errc() || *end != '\n') return std::nullopt;
  answer.body.assign(end + 1, text.data() + text.size());
  return answer;
}

}  // namespace reeve::runtime
