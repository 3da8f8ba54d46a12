#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace reeve::ledger {

// The state of a request that waits for the store, shared by its units and the code that answers it.
class RequestTerms {
 public:
  // `only_reads`: its units may run next to the store thread, on a read-only session.
  explicit RequestTerms(bool only_reads) noexcept : only_reads_(only_reads) {}

  bool only_reads() const noexcept { return only_reads_; }

  // Called by the store when the unit is about to run. False: the request was withdrawn, and nothing of it may happen.
  bool begin() noexcept {
    State expected = State::waiting;
    return state_.compare_exchange_strong(expected, State::begun) || expected == State::begun;
  }
  // Called by the answering side. True: nothing was stored, and nothing will be. False: it has begun.
  bool withdraw() noexcept {
    State expected = State::waiting;
    return state_.compare_exchange_strong(expected, State::withdrawn) || expected == State::withdrawn;
  }

  // Units submitted on this thread during the lifetime of a Scope belong to its request.
  class Scope {
   public:
    explicit Scope(std::shared_ptr<RequestTerms> terms) noexcept : before_(std::exchange(current_, std::move(terms))) {}
    ~Scope() { current_ = std::move(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<RequestTerms> before_;
  };
  // Null outside a request.
  static const std::shared_ptr<RequestTerms>& current() noexcept { return current_; }

 private:
  enum class State { waiting, begun, withdrawn };
  bool only_reads_;
  std::atomic<State> state_ = State::waiting;
  static inline thread_local std::shared_ptr<RequestTerms> current_;
};

}  // namespace reeve::ledger
