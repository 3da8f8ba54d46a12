#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/random.h"
#include "engine/recovery.h"
#include "engine/run.h"

namespace reeve::testing {

// A tool, its keeper, the store, a person and a daemon that crashes, all as plain values around
// engine::decide(RunState): the same interleavings as in the real daemon, thousands per second. Requests to the store
// are answered in order, with or without success; messages of the keeper arrive in order; everything else happens in
// any order. Each step checks what must always hold; the first violation is kept.
class RunWorld {
 public:
  struct Coverage {
    int crashes = 0;
    int questions = 0;
    int typed = 0;
    int stops = 0;
    int stalls = 0;
    int failed_writes = 0;
    int ends = 0;
    int pauses = 0;
    int limits = 0;
    int calls = 0;
    // Calls that waited beside another call or a question.
    int parallel = 0;
  };

  RunWorld(base::Random& random, engine::RunTerms terms);

  // Lets something happen.
  void step();
  // From now on the store works, people answer and the tool exits: false if the run is not over soon.
  bool settle();

  const std::string& violation() const noexcept { return violation_; }
  const Coverage& coverage() const noexcept { return coverage_; }

 private:
  enum class Decision { pending, approved, expired };
  struct StoredQuestion {
    Decision decision = Decision::pending;
    std::optional<std::uint32_t> prompt = {};
  };
  struct Store {
    model::RunStatus status = model::RunStatus::running;
    std::optional<model::RunEnding> ending = {};
    std::optional<base::BootTime> deadline = {};
    std::optional<base::Milliseconds> left = {};
    std::uint64_t position = 0;
    std::map<base::ApprovalId, StoredQuestion> questions;
    // Tool calls: whether they wait for a person.
    std::map<base::ApprovalId, bool> calls;
    bool is_paused = false;
    bool is_over = false;
  };
  struct Keeper {
    bool is_alive = true;
    bool is_frozen = false;
    bool has_exit_record = false;
    std::uint64_t written = 0;
    std::uint32_t last_serial = 0;
    std::optional<std::uint32_t> prompt = {};
    std::uint64_t last_typed = 0;
    std::deque<engine::RunEvent> messages;
  };
  using Request = std::function<void(bool is_stored)>;

  bool chance(std::uint64_t one_in) { return random_.below(one_in) == 0; }
  void check(bool holds, const std::string& what);
  void handle(const engine::RunEvent& event);
  void request(Request request) { requests_.push_back(std::move(request)); }
  void answer_store();
  void deliver();
  void fire_timer();
  void act_as_tool();
  void act_as_person();
  bool change_course();
  void show_prompt();
  void exit_tool();
  void crash();
  void recover();
  void begin_daemon();
  engine::RunState restore() const;
  void move(model::RunStatus to);
  std::optional<base::ApprovalId> find_pending() const;
  std::set<base::ApprovalId> find_waiting_calls() const;
  bool is_waiting() const { return find_pending() || !find_waiting_calls().empty(); }
  void hold_clock(std::optional<base::Milliseconds> left);
  void call();
  bool answer_call();
  std::optional<base::ApprovalId> store_question(std::optional<std::uint32_t> prompt,
                                                 std::optional<base::Milliseconds> left);
  void check_state();

  void perform(const engine::SetTimer& action);
  void perform(const engine::ClearTimer& action);
  void perform(const engine::StoreNews& action);
  void perform(const engine::StoreEnd& action);
  void perform(const engine::StoreEnding& action);
  void perform(const engine::StoreStatus& action);
  void perform(const engine::StoreWarning&) {}
  void perform(const engine::StoreTyped&) {}
  void perform(const engine::WithdrawQuestion& action);
  void perform(const engine::ReadScreen& action);
  void perform(const engine::AskAtTerminal& action);
  void perform(const engine::TypeAnswer& action);
  void perform(const engine::TypeFixedAnswer& action);
  void perform(const engine::TypeAgain& action);
  void perform(const engine::StorePause& action);
  void perform(const engine::StoreResume& action);
  void perform(const engine::StoreTimeLeft& action);
  void perform(const engine::StoreLimits& action);
  void perform(const engine::FreezeProcess& action);
  void perform(const engine::ThawProcess& action);
  void perform(const engine::StopProcess& action);
  void perform(const engine::SendDeadline&) {}
  void perform(const engine::Acknowledge&) {}
  void perform(const engine::ReadRest& action);
  void perform(const engine::Recover& action);

  base::Random& random_;
  engine::RunTerms terms_;
  base::BootTime now_{std::chrono::hours(1)};
  Store store_;
  Keeper keeper_;
  engine::RunState state_;
  std::deque<engine::RunEvent> events_;
  bool is_handling_ = false;
  std::map<engine::RunTimer, base::BootTime> timers_;
  std::deque<Request> requests_;
  // Results for a daemon that has died are dropped.
  int daemon_ = 1;
  // A printed question that was read and not asked yet.
  bool has_printed_ = false;
  std::optional<std::pair<std::uint64_t, std::uint32_t>> sent_answer_;
  std::int64_t next_id_ = 1;
  // What was left could not be stored, so that the stored clock is not exact.
  bool has_lost_time_left_ = false;
  std::set<std::uint64_t> typed_;
  bool is_settling_ = false;
  std::string violation_;
  Coverage coverage_;
};

}  // namespace reeve::testing
