#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace reeve::ledger {

// What a request that waits for the store has agreed to. Shared by its units and whoever answers it.
class RequestTerms {
 public:
  // `only_reads`: its units may run beside the store thread, on a session that cannot write.
  explicit RequestTerms(bool only_reads) noexcept : only_reads_(only_reads) {}

  bool only_reads() const noexcept { return only_reads_; }

  // By the store, once nothing but the unit itself stands between it and its commit. False: it was withdrawn, and
  // nothing of it may happen.
  bool begin() noexcept {
    State expected = State::waiting;
    return state_.compare_exchange_strong(expected, State::begun) || expected == State::begun;
  }
  // By whoever answers. True: nothing of it was stored, and nothing will be. False: it has begun.
  bool withdraw() noexcept {
    State expected = State::waiting;
    return state_.compare_exchange_strong(expected, State::withdrawn) || expected == State::withdrawn;
  }

  // What is submitted on this thread while one of these lives belongs to that request.
  class Scope {
   public:
    explicit Scope(std::shared_ptr<RequestTerms> terms) noexcept : before_(std::exchange(current_, std::move(terms))) {}
    ~Scope() { current_ = std::move(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<RequestTerms> before_;
  };
  // None outside of any request.
  static const std::shared_ptr<RequestTerms>& current() noexcept { return current_; }

 private:
  enum class State { waiting, begun, withdrawn };
  bool only_reads_;
  std::atomic<State> state_ = State::waiting;
  static inline thread_local std::shared_ptr<RequestTerms> current_;
};

}  // namespace reeve::ledger
