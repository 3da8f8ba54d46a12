#pragma once

#include <expected>
#include <memory>
#include <utility>

#include "ledger/ledger.h"
#include "runtime/loop.h"

// From the loop to the store thread and back.
namespace reeve::runtime {

namespace detail {

template <class F, class Done, class T>
class StoreTask final : public ledger::Unit {
 public:
  StoreTask(Loop& loop, F work, Done done) : loop_(loop), work_(std::move(work)), done_(std::move(done)) {}

  void run(ledger::Transaction& transaction) override {
    if constexpr (std::is_void_v<T>) {
      work_(transaction);
      answer_ = {};
    } else {
      answer_.emplace(work_(transaction));
    }
  }
  void finish(const std::optional<base::Error>& error) override {
    if (error) answer_ = std::unexpected(*error);
    // A function must be copyable: what it carries is shared.
    auto result =
        std::make_shared<std::pair<Done, std::expected<T, base::Error>>>(std::move(done_), std::move(answer_));
    loop_.post([result] { result->first(std::move(result->second)); });
  }

 private:
  Loop& loop_;
  F work_;
  Done done_;
  std::expected<T, base::Error> answer_ = std::unexpected(base::Error("store.failed", "it did not run"));
};

}  // namespace detail

// Runs `work(transaction)` on the store thread and, after its commit, `done(expected<result, Error>)` on the loop. The
// ledger and the loop must outlive it.
template <class F, class Done>
void ask_store(ledger::Ledger& ledger, Loop& loop, F work, Done done) {
  using T = std::invoke_result_t<F&, ledger::Transaction&>;
  auto kept = std::make_shared<Done>(std::move(done));
  auto call = [kept](std::expected<T, base::Error> answer) { (*kept)(std::move(answer)); };
  auto unit = std::make_unique<detail::StoreTask<F, decltype(call), T>>(loop, std::move(work), call);
  if (ledger.submit(std::move(unit))) return;
  loop.post([call] {
    call(std::unexpected(base::Error("store.busy", "too many requests wait for the store", "try again in a moment")));
  });
}

}  // namespace reeve::runtime
