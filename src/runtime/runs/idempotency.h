#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ledger/unit.h"

namespace reeve::runtime {

// A client's idempotency key: a repeated request gets the response to the first one. Stored in the transaction that
// performs the request.
struct Idempotency {
  std::string key;
  std::string request_hash;
  // The HTTP status if the resource's record is the complete response, which is then stored with the key. 0 otherwise.
  int status = 0;
};

// A response as it was sent.
struct SentAnswer {
  int status = 0;
  // Empty if the response was too long to store; the resource's current state is shown instead.
  std::string body;
};
inline constexpr std::size_t longest_kept_answer = 64UL * 1024;

// The id that the first request with this key started or decided ("TR-17"); nothing for a new key. Throws
// `api.key_reused` if the key was used for a different request, and `api.repeated` if the complete response is stored
// (read_repeated).
std::optional<std::string> find_answer(ledger::Transaction& transaction, const std::optional<Idempotency>& idempotency);
// `about`: the id of what was started or decided. `record`: its record, stored if `Idempotency::status` is set.
void remember_answer(ledger::Transaction& transaction, const std::optional<Idempotency>& idempotency,
                     const std::string& about, std::string_view record = {});
// Stores the complete response after the change was made.
void complete_answer(ledger::Transaction& transaction, const Idempotency& idempotency, const SentAnswer& answer);
// Deletes keys older than that time.
void forget_answers(ledger::Transaction& transaction, base::WallTime before);

// The response carried by an `api.repeated` error; nothing for other errors.
std::optional<SentAnswer> read_repeated(const base::Error& error);

}  // namespace reeve::runtime
