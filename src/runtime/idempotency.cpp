#include "runtime/idempotency.h"

namespace reeve::runtime {

using store::Sql;

std::optional<std::string> find_answer(ledger::Transaction& transaction,
                                       const std::optional<Idempotency>& idempotency) {
  std::optional<std::string> answer;
  if (!idempotency) return answer;
  transaction.session().query(Sql::idempotency_find, {{"key", idempotency->key}}, [&](const store::Row& row) {
    if (row.text(0) != idempotency->request_hash) {
      throw base::Error("api.key_reused", "this Idempotency-Key was used for another request", "send a new key");
    }
    answer = std::string(row.text(1));
  });
  return answer;
}

void remember_answer(ledger::Transaction& transaction, const std::optional<Idempotency>& idempotency,
                     const std::string& answer) {
  if (!idempotency) return;
  transaction.session().write(Sql::idempotency_insert, {{"key", idempotency->key},
                                                        {"request_hash", idempotency->request_hash},
                                                        {"response", answer},
                                                        {"now", transaction.now_text()}});
}

}  // namespace reeve::runtime
