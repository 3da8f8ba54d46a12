#include "runtime/stored_answers.h"

#include <utility>

#include "runtime/loop/store_task.h"

namespace reeve::runtime {

using base::Error;

void StoredAnswers::find(const Idempotency& key,
                         std::function<void(std::expected<std::optional<SentAnswer>, Error>)> done) const {
  ask_store(
      ledger_, loop_,
      [key = std::optional(key)](ledger::Transaction& transaction) -> std::optional<SentAnswer> {
        try {
          find_answer(transaction, key);
          return std::nullopt;
        } catch (const Error& error) {
          auto answer = read_repeated(error);
          if (!answer) throw;
          return answer;
        }
      },
      std::move(done));
}

void StoredAnswers::complete(const Idempotency& key, const SentAnswer& answer) const {
  ask_store(
      ledger_, loop_, [key, answer](ledger::Transaction& transaction) { complete_answer(transaction, key, answer); },
      [](const std::expected<void, Error>&) {});
}

void StoredAnswers::forget_older_than(base::Milliseconds age) const {
  ask_store(
      ledger_, loop_, [age](ledger::Transaction& transaction) { forget_answers(transaction, transaction.now() - age); },
      [](const std::expected<void, Error>&) {
        // Tried again next time.
      });
}

}  // namespace reeve::runtime
