#pragma once

#include <expected>
#include <memory>
#include <utility>

#include "ledger/ledger.h"
#include "runtime/loop.h"

// From the loop to the store thread and back.
namespace reeve::runtime {

namespace detail {

// What is asked and whoever is told, with all that both hold: objects of the loop, which owns it.
template <class F, class Done, class T>
struct StoreMatter {
  F work;
  Done done;
  std::expected<T, base::Error> answer = std::unexpected(base::Error("store.failed", "it did not run"));
};

template <class F, class Done, class T>
class StoreTask final : public ledger::Unit {
 public:
  using Matter = StoreMatter<F, Done, T>;
  StoreTask(Loop& loop, std::shared_ptr<Matter> matter) : loop_(loop), matter_(std::move(matter)) {}

  void run(ledger::Transaction& transaction) override {
    if constexpr (std::is_void_v<T>) {
      matter_->work(transaction);
      matter_->answer = {};
    } else {
      matter_->answer.emplace(matter_->work(transaction));
    }
  }
  void finish(const std::optional<base::Error>& error) override {
    if (error) matter_->answer = std::unexpected(*error);
    loop_.post([matter = std::move(matter_)] { matter->done(std::move(matter->answer)); });
  }

 private:
  Loop& loop_;
  std::shared_ptr<Matter> matter_;
};

}  // namespace detail

// Runs `work(transaction)` on the store thread and, after its commit, `done(expected<result, Error>)` on the loop. Both
// are destroyed on the loop, whatever becomes of them. The ledger and the loop must outlive it.
template <class F, class Done>
void ask_store(ledger::Ledger& ledger, Loop& loop, F work, Done done) {
  using T = std::invoke_result_t<F&, ledger::Transaction&>;
  using Matter = detail::StoreMatter<F, Done, T>;
  std::shared_ptr<Matter> matter = loop.make<Matter>(std::move(work), std::move(done));
  if (ledger.submit(std::make_unique<detail::StoreTask<F, Done, T>>(loop, matter))) return;
  loop.post([matter = std::move(matter)] {
    matter->done(
        std::unexpected(base::Error("store.busy", "too many requests wait for the store", "try again in a moment")));
  });
}

}  // namespace reeve::runtime
