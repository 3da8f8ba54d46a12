#pragma once

#include <expected>
#include <memory>
#include <utility>

#include "ledger/ledger.h"
#include "runtime/loop/loop.h"

// From the loop to the store thread and back.
namespace reeve::runtime {

// Files are written outside the transaction: a slow disk would block the store, and a rollback would leave them behind.
template <class Before, class Work, class After>
struct StoreSteps {
  // Called once, before the transaction. If it throws, that is the answer, and nothing else is done.
  Before before;
  Work work;
  // Called once, after the commit or the failure, with the answer, which it may replace. Must not throw.
  After after;
};

namespace detail {

// The work and its callback, with everything they own: objects of the loop, so they are destroyed there.
template <class Steps, class Done, class T>
struct StoreMatter {
  Steps steps;
  Done done;
  std::expected<T, base::Error> answer =
      std::unexpected(base::Error(base::ErrorCode::store_failed, "the operation did not run"));
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
    // The callback's own requests belong to the same request.
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

// Runs the steps on the store thread, then `done(expected<result, Error>)` on the loop. All of them are destroyed on
// the loop in every case. The ledger and the loop must outlive the task.
template <class Before, class Work, class After, class Done>
void ask_store(ledger::Ledger& ledger, Loop& loop, StoreSteps<Before, Work, After> steps, Done done) {
  using T = std::invoke_result_t<Work&, ledger::Transaction&>;
  using Steps = StoreSteps<Before, Work, After>;
  using Matter = detail::StoreMatter<Steps, Done, T>;
  std::shared_ptr<Matter> matter = loop.make<Matter>(std::move(steps), std::move(done));
  if (ledger.submit(std::make_unique<detail::StoreTask<Steps, Done, T>>(loop, matter))) return;
  loop.post([matter = std::move(matter)] {
    matter->done(std::unexpected(base::Error(base::ErrorCode::store_busy, "too many requests are waiting for the store",
                                             "try again in a moment")));
  });
}

// The same with `work(transaction)` only.
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
