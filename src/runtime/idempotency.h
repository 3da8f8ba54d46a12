#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ledger/unit.h"

namespace reeve::runtime {

// Of a client that may ask again with the same key: it is answered with what the first one was. Stored in the
// transaction that does what was asked for.
struct Idempotency {
  std::string key;
  std::string request_hash;
  // What HTTP says when the record of what was started is the whole answer: that is then stored with it. 0: it is not.
  int status = 0;
};

// An answer as it was sent.
struct SentAnswer {
  int status = 0;
  // Empty: it was too long to be kept, what it was about is to be shown instead.
  std::string body;
};
inline constexpr std::size_t longest_kept_answer = 64UL * 1024;

// What the same request was about ("TR-17"); nothing when there was none. Throws `api.key_reused` for another request,
// and `api.repeated` when the whole answer is known (read_repeated).
std::optional<std::string> find_answer(ledger::Transaction& transaction, const std::optional<Idempotency>& idempotency);
// `about`: what was started or decided. `record`: its record, which is kept where `Idempotency::status` says so.
void remember_answer(ledger::Transaction& transaction, const std::optional<Idempotency>& idempotency,
                     const std::string& about, std::string_view record = {});
// The whole answer, behind the change.
void complete_answer(ledger::Transaction& transaction, const Idempotency& idempotency, const SentAnswer& answer);
// Keys of before that time.
void forget_answers(ledger::Transaction& transaction, base::WallTime before);

// Of an `api.repeated`; nothing for another error.
std::optional<SentAnswer> read_repeated(const base::Error& error);

}  // namespace reeve::runtime
