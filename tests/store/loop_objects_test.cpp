#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/inbox/inbox.h"
#include "runtime/isolation/isolation.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/live_run.h"
#include "tests/support/git_repository.h"
#include "tests/support/store/stores.h"

// Objects that belong to the loop and travel through other threads are destroyed on the loop.
namespace reeve::runtime {
namespace {

// Counts objects that were destroyed on another thread than the one that made them.
class Strays {
 public:
  std::shared_ptr<void> make() {
    return {new char, [this, home = std::this_thread::get_id()](char* object) {
              if (std::this_thread::get_id() != home) ++count_;
              delete object;
            }};
  }
  int count() const { return count_; }

 private:
  std::atomic<int> count_ = 0;
};

TEST(LoopObjects, store_request_objects_are_destroyed_on_the_loop) {
  constexpr int questions = 2'000;
  testing::TestStore store(store::Place::Kind::memory);
  Loop loop;
  Strays strays;
  {
    ledger::Ledger ledger(store.open_writer(), {});
    int answered = 0;
    const auto ask = [&](bool fails) {
      ask_store(
          ledger, loop,
          [held = strays.make(), fails](ledger::Transaction&) {
            if (fails) throw base::Error(base::ErrorCode::store_failed, "on purpose");
          },
          [&, held = strays.make(), fails](const std::expected<void, base::Error>& answer) {
            EXPECT_EQ(answer.has_value(), !fails);
            if (++answered == questions) loop.stop();
          });
    };
    for (int i = 0; i < questions; ++i) ask(i % 100 == 99);
    loop.run();
    EXPECT_EQ(answered, questions);
    // Answered after the loop has stopped.
    ask(false);
  }
  EXPECT_EQ(strays.count(), 0);
}

TEST(LoopObjects, refused_request_objects_are_destroyed_on_the_loop) {
  testing::TestStore store(store::Place::Kind::memory);
  Loop loop;
  Strays strays;
  ledger::Ledger ledger(store.open_writer(), {.max_waiting = 0});
  std::optional<std::string> code;
  ask_store(
      ledger, loop, [held = strays.make()](ledger::Transaction&) {},
      [&, held = strays.make()](const std::expected<void, base::Error>& answer) {
        code = answer.error().code();
        loop.stop();
      });
  loop.run();
  EXPECT_EQ(code, "store.busy");
  EXPECT_EQ(strays.count(), 0);
}

TEST(LoopObjects, objects_waiting_for_git_are_destroyed_on_the_loop) {
  const testing::GitRepository made;
  testing::TestStore store(store::Place::Kind::memory);
  Loop loop;
  Strays strays;
  const base::SystemClock clock;
  ledger::Ledger ledger(store.open_writer(), {});
  LogThread log({.path = made.beside("combined.log").string(),
                 .batch_read = [](const OutputBatch&) {},
                 .log_warning = [](const std::string&) {}});
  KeeperPool keepers(loop, {.program = "/nonexistent/keeper", .endpoints = "/nonexistent", .size = 0});
  Inbox inbox(loop, [](const Event&) {});
  RuntimeContext context{.loop = loop,
                         .inbox = inbox,
                         .ledger = ledger,
                         .clock = clock,
                         .log = log,
                         .keepers = keepers,
                         .folder = project::StateFolder{made.beside("state")}};
  constexpr int questions = 40;
  int answered = 0;
  const auto count = [&] {
    if (++answered == questions) loop.stop();
  };
  {
    Isolation isolation(context);
    IsolationSettings settings{.project = made.root().string(), .base_commit = made.git({"rev-parse", "HEAD"})};
    const NodeAttemptId place{.root = base::ExecutionId(7), .execution = base::ExecutionId(7), .node = "a"};
    for (int i = 0; i < questions / 4; ++i) {
      isolation.survey(
          settings.project, {},
          [&count, held = strays.make()](const std::expected<Isolation::Survey, base::Error>&) { count(); });
      isolation.checkout(
          settings, place, {}, "gate",
          [&count, held = strays.make()](const std::expected<Isolation::Checkout, base::Error>&) { count(); });
      isolation.reject(settings, place, model::PatchState::rejected, "no",
                       [&count, held = strays.make()](const std::expected<void, base::Error>&) { count(); });
      isolation.close(settings, place.root, [&count, held = strays.make()](bool) { count(); });
    }
    loop.run();
  }
  EXPECT_EQ(answered, questions);
  EXPECT_EQ(strays.count(), 0);
}

}  // namespace
}  // namespace reeve::runtime
