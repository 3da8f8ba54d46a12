#pragma once

#include <expected>
#include <functional>
#include <optional>

#include "ledger/ledger.h"
#include "runtime/loop/loop.h"
#include "runtime/runs/idempotency.h"

namespace reeve::runtime {

// Stored responses to requests with an idempotency key that are written apart from the change itself. Callbacks run on
// the loop.
class StoredAnswers {
 public:
  // Both must outlive the calls.
  StoredAnswers(ledger::Ledger& ledger, Loop& loop) noexcept : ledger_(ledger), loop_(loop) {}

  // The response to the first request with this key; nothing for a new key. Errors: `api.key_reused`.
  void find(const Idempotency& key,
            std::function<void(std::expected<std::optional<SentAnswer>, base::Error>)> done) const;
  // If this fails, the change is still stored and the next daemon finds it there.
  void complete(const Idempotency& key, const SentAnswer& answer) const;
  // Deletes older keys.
  void forget_older_than(base::Milliseconds age) const;

 private:
  ledger::Ledger& ledger_;
  Loop& loop_;
};

}  // namespace reeve::runtime
