#pragma once

#include <optional>
#include <string>

#include "ledger/unit.h"

namespace reeve::runtime {

// Of a client that may ask again with the same key: it is answered with what the first one was. Stored in the
// transaction that does what was asked for.
struct Idempotency {
  std::string key;
  std::string request_hash;
};

// What the same request was answered with; nothing when there was none. Throws `api.key_reused` for another request.
std::optional<std::string> find_answer(ledger::Transaction& transaction, const std::optional<Idempotency>& idempotency);
void remember_answer(ledger::Transaction& transaction, const std::optional<Idempotency>& idempotency,
                     const std::string& answer);

}  // namespace reeve::runtime
