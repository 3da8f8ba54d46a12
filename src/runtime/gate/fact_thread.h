#pragma once

#include <atomic>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <utility>

#include "base/error.h"
#include "ledger/request_terms.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/work_thread.h"

namespace reeve::runtime {

// A thread that looks up on the disk what the rules look at: a slow file system delays neither the loop nor the store.
// Lives on the loop, which must outlive it.
class FactThread {
 public:
  explicit FactThread(Loop& loop) noexcept : loop_(loop) {}
  FactThread(const FactThread&) = delete;
  FactThread& operator=(const FactThread&) = delete;

  // `work()` on the thread, then `done(expected<result, Error>)` on the loop, where both are destroyed. With too many
  // waiting, answers `store.busy`.
  template <class Work, class Done>
  void ask(Work work, Done done) {
    using T = std::invoke_result_t<Work&>;
    struct Matter {
      Work work;
      Done done;
      std::expected<T, base::Error> answer;
      // What `done` asks of the store belongs to the same request.
      std::shared_ptr<ledger::RequestTerms> terms;

      void finish() {
        const ledger::RequestTerms::Scope scope(terms);
        done(std::move(answer));
      }
    };
    std::shared_ptr<Matter> matter = loop_.make<Matter>(
        std::move(work), std::move(done),
        std::expected<T, base::Error>(std::unexpected(base::Error(
            base::ErrorCode::store_busy, "too many requests wait for the file system", "try again in a moment"))),
        ledger::RequestTerms::current());
    if (waiting_->fetch_add(1) >= max_waiting) {
      waiting_->fetch_sub(1);
      return loop_.post([matter = std::move(matter)] { matter->finish(); });
    }
    thread_.submit([&loop = loop_, waiting = waiting_, matter = std::move(matter)]() mutable {
      try {
        matter->answer = matter->work();
      } catch (const base::Error& error) {
        matter->answer = std::unexpected(error);
      } catch (const std::exception& failure) {
        matter->answer = std::unexpected(base::Error(base::ErrorCode::os_failed, failure.what()));
      }
      waiting->fetch_sub(1);
      loop.post([matter = std::move(matter)] { matter->finish(); });
    });
  }

 private:
  static constexpr int max_waiting = 256;

  Loop& loop_;
  std::shared_ptr<std::atomic<int>> waiting_ = std::make_shared<std::atomic<int>>(0);
  // Declared last: it uses the members above.
  WorkThread thread_;
};

}  // namespace reeve::runtime
