#pragma once

#include <expected>
#include <memory>
#include <utility>

#include "ledger/ledger.h"
#include "runtime/loop.h"

// From the loop to the store thread and back.
namespace reeve::runtime {

// Files belong beside a transaction, not into it: a slow disk would hold the store, and what is undone would leave
// them.
template <class Before, class Work, class After>
struct StoreSteps {
  // Once, before the transaction begins. What it throws is the answer, and nothing else is done.
  Before before;
  Work work;
  // Once, after the commit or the failure: gets the answer, and may replace it. Throws nothing.
  After after;
};

namespace detail {

// What is asked and whoever is told, with all that both hold: objects of the loop, which owns it.
template <class Steps, class Done, class T>
struct StoreMatter {
  Steps steps;
  Done done;
  std::expected<T, base::Error> answer = std::unexpected(base::Error("store.failed", "it did not run"));
};

template <class Steps, class Done, class T>
class StoreTask final : public ledger::Unit {
 public:
  using Matter = StoreMatter<Steps, Done, T>;
  StoreTask(Loop& loop, std::shared_ptr<Matter> matter) : loop_(loop), matter_(std::move(matter)) {}

  void prepare() override { matter_->steps.before(); }
  void run(ledger::Transaction& transaction) override {
    if constexpr (std::is_void_v<T>) {
      matter_->steps.work(transaction);
      matter_->answer = {};
    } else {
      matter_->answer.emplace(matter_->steps.work(transaction));
    }
  }
  void finish(const std::optional<base::Error>& error) override {
    if (error) matter_->answer = std::unexpected(*error);
    matter_->steps.after(matter_->answer);
    // What follows from it belongs to the same request.
    loop_.post([matter = std::move(matter_), terms = terms] {
      const ledger::RequestTerms::Scope scope(terms);
      matter->done(std::move(matter->answer));
    });
  }

 private:
  Loop& loop_;
  std::shared_ptr<Matter> matter_;
};

}  // namespace detail

// Runs the steps on the store thread and then `done(expected<result, Error>)` on the loop. All of them are destroyed on
// the loop, whatever becomes of them. The ledger and the loop must outlive it.
template <class Before, class Work, class After, class Done>
void ask_store(ledger::Ledger& ledger, Loop& loop, StoreSteps<Before, Work, After> steps, Done done) {
  using T = std::invoke_result_t<Work&, ledger::Transaction&>;
  using Steps = StoreSteps<Before, Work, After>;
  using Matter = detail::StoreMatter<Steps, Done, T>;
  std::shared_ptr<Matter> matter = loop.make<Matter>(std::move(steps), std::move(done));
  if (ledger.submit(std::make_unique<detail::StoreTask<Steps, Done, T>>(loop, matter))) return;
  loop.post([matter = std::move(matter)] {
    matter->done(
        std::unexpected(base::Error("store.busy", "too many requests wait for the store", "try again in a moment")));
  });
}

// The same for `work(transaction)` alone.
template <class Work, class Done>
void ask_store(ledger::Ledger& ledger, Loop& loop, Work work, Done done) {
  constexpr auto nothing = [] {};
  constexpr auto keep = [](const auto&) {};
  ask_store(
      ledger, loop,
      StoreSteps<decltype(nothing), Work, decltype(keep)>{.before = nothing, .work = std::move(work), .after = keep},
      std::move(done));
}

}  // namespace reeve::runtime
