#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include <gmock/gmock.h>

#include "git/checkout_update_journal.h"
#include "ledger/patches.h"
#include "runtime/daemon.h"
#include "store/patches.h"
#include "tests/support/git_repository.h"
#include "tests/support/program.h"
#include "tests/support/session.h"
#include "tests/support/store/flows.h"

// Isolation as the daemon uses it: called on the loop, executed on its own thread.
namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;

class IsolationThread : public ::testing::Test {
 protected:
  IsolationThread() {
    Daemon::Options options{
        .folder = {made_.beside("state")},
        .config = {},
        .reload = [](const std::filesystem::path&) { return model::Config(); },
        .keeper_program = (fs::path(testing::reeve_binary()).parent_path() / "reeve-keeper").string(),
        .log_warning = [this](const std::string& text) { EXPECT_TRUE(may_complain_) << text; }};
    fs::create_directories(options.folder.root);
    daemon_ = std::make_unique<Daemon>(std::move(options));
    root_ = daemon_->ledger().call([&](ledger::Transaction& transaction) {
      ledger::StepResult step;
      return daemon_->ledger().executions().start(transaction, testing::make_execution(testing::make_chain(2)),
                                                  daemon_->ledger().worker(), step);
    });
    settings_.project = made_.root().string();
    settings_.base_commit = made_.git({"rev-parse", "HEAD"});
    turning_ = std::jthread([this] { daemon_->loop().run(); });
  }
  ~IsolationThread() override {
    daemon_->loop().stop();
    turning_.join();
  }
  NodeAttemptId at(const std::string& node) const {
    return {.root = root_, .execution = root_, .node = node, .iteration = 0, .attempt = 1, .worktree_id = "shared"};
  }
  // In a separate worktree.
  NodeAttemptId alone(const std::string& node) const {
    NodeAttemptId place = at(node);
    place.worktree_id.reset();
    return place;
  }
  // Each setup leaves a file in the returned folder, and lasts until the condition holds ($0 is the folder).
  fs::path set_up_until(const std::string& condition) {
    fs::path signs = made_.beside("signs");
    fs::create_directories(signs);
    settings_.environment = {{"PATH", "/usr/bin:/bin"}};
    settings_.worktree.setup = {
        {"sh", "-c", "echo > \"$0/${PWD##*/}\"; until " + condition + "; do sleep 0.02; done", signs.string()}};
    return signs;
  }
  static int count_files(const fs::path& folder) {
    return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
  // Calls on the loop and returns a future.
  template <class T, class Ask>
  std::future<std::expected<T, base::Error>> ask(Ask act) {
    auto promise = std::make_shared<std::promise<std::expected<T, base::Error>>>();
    daemon_->loop().post([this, act, promise] {
      act(daemon_->isolation(),
          [promise](std::expected<T, base::Error> answer) { promise->set_value(std::move(answer)); });
    });
    return promise->get_future();
  }
  std::future<std::expected<std::string, base::Error>> prepare(const NodeAttemptId& place) {
    return ask<std::string>(
        [this, place](Isolation& isolation, auto answer) { isolation.prepare(settings_, place, std::move(answer)); });
  }
  std::future<std::expected<void, base::Error>> reject(const NodeAttemptId& place) {
    return ask<void>([this, place](Isolation& isolation, auto answer) {
      isolation.reject(settings_, place, model::PatchState::quarantined, "cancelled", std::move(answer));
    });
  }
  void begin(const std::set<base::ExecutionId>& alive) {
    ask<int>([alive](Isolation& isolation, auto answer) { isolation.begin(alive, [answer] { answer(0); }); }).get();
  }
  // Ends the execution.
  void cancel() {
    daemon_->ledger().call([&](ledger::Transaction& transaction) {
      ledger::StepResult step;
      daemon_->ledger().executions().step(transaction, root_, engine::CancelRequested{}, daemon_->ledger().worker(),
                                          step);
    });
  }
  std::vector<model::Patch> list_patches() {
    return daemon_->ledger().call(
        [](ledger::Transaction& transaction) { return store::list_patches(transaction.session(), {}); });
  }
  static constexpr auto timeout = std::chrono::seconds(60);

  std::atomic<bool> may_complain_ = false;
  testing::GitRepository made_;
  std::unique_ptr<Daemon> daemon_;
  base::ExecutionId root_{0};
  IsolationSettings settings_;
  std::jthread turning_;
};

// ISO-1: tasks that share a worktree wait until it is free; then the next one gets it.
TEST_F(IsolationThread, tasks_sharing_a_worktree_take_turns) {
  const auto first = prepare(at("a")).get();
  ASSERT_TRUE(first) << first.error().message();
  auto second = prepare(at("b"));
  std::ofstream(fs::path(*first) / "a") << "a\n";
  const auto collected = ask<Isolation::Collected>([this](Isolation& isolation, auto answer) {
                           isolation.collect(settings_, at("a"), std::move(answer));
                         }).get();
  ASSERT_TRUE(collected && collected->patch);
  EXPECT_EQ(second.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  const auto accepted = ask<Isolation::Accepted>([this](Isolation& isolation, auto answer) {
                          isolation.accept(settings_, at("a"), std::move(answer));
                        }).get();
  ASSERT_TRUE(accepted && !accepted->is_conflict);
  ASSERT_EQ(second.wait_for(timeout), std::future_status::ready);
  EXPECT_EQ(*second.get(), *first);
  EXPECT_TRUE(fs::exists(fs::path(*first) / "a"));
}

TEST_F(IsolationThread, closing_an_execution_answers_waiting_tasks) {
  ASSERT_TRUE(prepare(at("a")).get());
  auto waiting = prepare(at("b"));
  const auto closed = ask<int>([this](Isolation& isolation, auto answer) {
                        isolation.close(settings_, root_, [answer](bool is_done) { answer(is_done ? 0 : 1); });
                      }).get();
  EXPECT_EQ(*closed, 0);
  ASSERT_EQ(waiting.wait_for(timeout), std::future_status::ready);
  EXPECT_EQ(waiting.get().error().code(), "execution.over");
  EXPECT_FALSE(fs::exists(made_.root() / ".worktrees" / root_.text()));
}

// Outside git everything happens in the project's folder.
TEST_F(IsolationThread, without_a_base_commit_the_project_folder_is_used) {
  settings_.base_commit.reset();
  EXPECT_EQ(*prepare(at("a")).get(), settings_.project);
  EXPECT_EQ(*prepare(at("b")).get(), settings_.project);
  EXPECT_FALSE(fs::exists(made_.root() / ".worktrees"));
}

// A task that was cancelled while it waited never gets the worktree: it would never free it.
TEST_F(IsolationThread, cancelled_task_stops_waiting) {
  ASSERT_TRUE(prepare(at("a")).get());
  auto ghost = prepare(at("b"));
  auto next = prepare(at("c"));
  ASSERT_TRUE(reject(at("b")).get());
  ASSERT_TRUE(reject(at("a")).get());
  ASSERT_EQ(next.wait_for(timeout), std::future_status::ready);
  EXPECT_TRUE(next.get());
  EXPECT_THROW(ghost.get(), std::future_error) << "forgotten, and never answered";
}

// A setup may take long: a cancelled task does not wait for its end, nor do others.
TEST_F(IsolationThread, a_cancelled_task_ends_its_setup) {
  settings_.environment = {{"PATH", "/usr/bin:/bin"}};
  const fs::path began = made_.beside("began");
  settings_.worktree.setup = {{"sh", "-c", "echo > \"$0\"; exec sleep 600", began.string()}};
  auto prepared = prepare(at("a"));
  ASSERT_TRUE(testing::eventually([&] { return fs::exists(began); }));
  const auto rejected = reject(at("a"));
  ASSERT_EQ(rejected.wait_for(timeout), std::future_status::ready);
  EXPECT_EQ(prepared.get().error().code(), "worktree.setup_failed");
  settings_.worktree.setup.clear();
  NodeAttemptId again = at("a");
  again.attempt = 2;
  EXPECT_TRUE(prepare(again).get());
}

// GRF-14: ready nodes start at once. Each of these setups waits for a file of the other; nothing else waits for either.
TEST_F(IsolationThread, setups_run_concurrently_and_block_nothing) {
  const fs::path signs = set_up_until("[ $(ls \"$0\" | wc -l) -ge 2 ]");
  auto first = prepare(alone("a"));
  ASSERT_TRUE(testing::eventually([&] { return count_files(signs) == 1; }));
  ASSERT_TRUE(ask<Isolation::Survey>([this](Isolation& isolation, auto answer) {
                isolation.survey(settings_.project, std::nullopt, std::move(answer));
              }).get());
  const auto acted = ask<model::Patch>([](Isolation& isolation, auto answer) {
                       isolation.act(base::PatchId(17), Isolation::PatchAction::apply, "me", std::move(answer));
                     }).get();
  EXPECT_EQ(acted.error().code(), "patch.not_found");
  EXPECT_EQ(first.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  auto second = prepare(alone("b"));
  ASSERT_EQ(first.wait_for(timeout), std::future_status::ready);
  ASSERT_EQ(second.wait_for(timeout), std::future_status::ready);
  const auto one = first.get();
  const auto two = second.get();
  ASSERT_TRUE(one && two);
  EXPECT_NE(*one, *two);
}

// A cancelled task ends only its own setup; its next attempt waits for that and gets a new worktree.
TEST_F(IsolationThread, cancelling_ends_only_its_own_setup) {
  const fs::path signs = set_up_until("[ -e \"$0/go\" ]");
  auto cancelled = prepare(alone("a"));
  auto other = prepare(alone("b"));
  ASSERT_TRUE(testing::eventually([&] { return count_files(signs) == 2; }));
  auto rejected = reject(alone("a"));
  NodeAttemptId again = alone("a");
  again.attempt = 2;
  auto next = prepare(again);
  ASSERT_EQ(rejected.wait_for(timeout), std::future_status::ready);
  EXPECT_TRUE(rejected.get());
  const auto answer = cancelled.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), "worktree.setup_failed");
  EXPECT_EQ(answer.error().fix(), "") << "nothing is to be mended";
  EXPECT_EQ(other.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  std::ofstream(signs / "go") << "go";
  ASSERT_EQ(other.wait_for(timeout), std::future_status::ready);
  ASSERT_EQ(next.wait_for(timeout), std::future_status::ready);
  EXPECT_TRUE(other.get());
  EXPECT_TRUE(next.get());
}

// Closing an execution does not wait for its setups.
TEST_F(IsolationThread, closing_an_execution_ends_its_setups) {
  const fs::path signs = set_up_until("false");
  auto prepared = prepare(alone("a"));
  ASSERT_TRUE(testing::eventually([&] { return count_files(signs) == 1; }));
  const auto closed =
      ask<bool>([this](Isolation& isolation, auto answer) { isolation.close(settings_, root_, answer); });
  ASSERT_EQ(closed.wait_for(timeout), std::future_status::ready);
  EXPECT_EQ(prepared.get().error().code(), "worktree.setup_failed");
  EXPECT_FALSE(fs::exists(made_.root() / ".worktrees" / root_.text()));
}

// ISO-2: the checkout of a gate is set up in parallel too.
TEST_F(IsolationThread, gate_checkout_is_set_up_concurrently) {
  set_up_until("[ $(ls \"$0\" | wc -l) -ge 2 ]");
  auto task = prepare(alone("a"));
  auto gate = ask<Isolation::Checkout>([this](Isolation& isolation, auto answer) {
    isolation.checkout(settings_, alone("g"), std::nullopt, "tests", std::move(answer));
  });
  ASSERT_EQ(task.wait_for(timeout), std::future_status::ready);
  ASSERT_EQ(gate.wait_for(timeout), std::future_status::ready);
  EXPECT_TRUE(task.get());
  EXPECT_TRUE(gate.get());
}

// The next start removes leftovers of ended executions in any project; those of live ones are kept.
TEST_F(IsolationThread, start_removes_only_leftovers_of_ended_executions) {
  const fs::path folder = *prepare(at("a")).get();
  std::ofstream(folder / "left") << "left\n";
  begin({root_});
  EXPECT_TRUE(fs::exists(folder / "left"));
  begin({});
  EXPECT_TRUE(fs::exists(folder / "left")) << "the store says that it is not over";
  cancel();
  begin({root_});
  EXPECT_TRUE(fs::exists(folder / "left")) << "another is about to";
  begin({});
  EXPECT_FALSE(fs::exists(folder));
  const auto kept = list_patches();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].state, model::PatchState::quarantined) << "ISO-4: it became a patch first";
}

// ISO-3: an approved apply whose daemon died is completed by the next one, even if the execution is otherwise over;
// afterwards no refs are left.
TEST_F(IsolationThread, start_resumes_a_queued_apply_and_leaves_no_refs) {
  std::ofstream(fs::path(*prepare(at("a")).get()) / "new") << "new\n";
  ASSERT_TRUE(ask<Isolation::Collected>([this](Isolation& isolation, auto answer) {
                isolation.collect(settings_, at("a"), std::move(answer));
              }).get());
  ASSERT_TRUE(ask<Isolation::Accepted>([this](Isolation& isolation, auto answer) {
                isolation.accept(settings_, at("a"), std::move(answer));
              }).get());
  cancel();
  begin({});
  EXPECT_NE(made_.git({"for-each-ref", "refs/heads/reeve"}), "") << "it is not in the checkout";
  daemon_->ledger().call([&](ledger::Transaction& transaction) {
    ledger::move_patch(transaction, base::PatchId(1), {.to = model::PatchState::queued});
  });
  begin({});
  EXPECT_EQ(made_.read("new"), "new\n");
  EXPECT_EQ(list_patches()[0].state, model::PatchState::committed);
  EXPECT_EQ(made_.git({"for-each-ref", "refs/heads/reeve", "refs/reeve"}), "");
}

// ISO-3: an apply that git refused is retried at a poll, once git can.
TEST_F(IsolationThread, failed_apply_is_retried_at_polls) {
  std::ofstream(fs::path(*prepare(at("a")).get()) / "new") << "new\n";
  ASSERT_TRUE(ask<Isolation::Collected>([this](Isolation& isolation, auto answer) {
                isolation.collect(settings_, at("a"), std::move(answer));
              }).get());
  ASSERT_TRUE(ask<Isolation::Accepted>([this](Isolation& isolation, auto answer) {
                isolation.accept(settings_, at("a"), std::move(answer));
              }).get());
  may_complain_ = true;
  made_.write(".git/index.lock", "");
  const auto failed = ask<Isolation::Applied>([this](Isolation& isolation, auto answer) {
                        isolation.apply(settings_, root_, model::ApplyWhen::on_complete, std::move(answer));
                      }).get();
  EXPECT_EQ(failed.error().code(), "git.index_locked");
  EXPECT_EQ(list_patches()[0].state, model::PatchState::queued);
  fs::remove(made_.root() / ".git/index.lock");
  EXPECT_TRUE(testing::eventually([&] {
    daemon_->loop().post([this] { daemon_->isolation().apply_granted(); });
    return list_patches()[0].state == model::PatchState::committed;
  }));
  EXPECT_EQ(made_.read("new"), "new\n");
}

// A daemon was killed together with the git that wrote into the checkout: the next one leaves nothing half done, and
// completes the single patch that was in progress.
TEST_F(IsolationThread, start_repairs_a_half_written_checkout) {
  std::ofstream(fs::path(*prepare(at("a")).get()) / "file.txt") << "new and longer\n";
  ASSERT_TRUE(ask<Isolation::Collected>([this](Isolation& isolation, auto answer) {
                isolation.collect(settings_, at("a"), std::move(answer));
              }).get());
  ASSERT_TRUE(reject(at("a")).get());
  daemon_->ledger().call([&](ledger::Transaction& transaction) {
    ledger::move_patch(transaction, base::PatchId(1), {.to = model::PatchState::validated});
    ledger::move_patch(transaction, base::PatchId(1), {.to = model::PatchState::queued});
  });
  may_complain_ = true;
  const git::GitContext context(*git::find_place(made_.root()), made_.beside("state") / "git");
  const auto forward = git::make_journal(*settings_.base_commit, list_patches()[0].commit, false);
  git::write_journal(context, forward);
  made_.write(".git/index.lock", forward.mark);
  made_.write("file.txt", "new and");
  begin({root_});
  EXPECT_EQ(made_.read("file.txt"), "new and longer\n");
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  EXPECT_EQ(list_patches()[0].state, model::PatchState::committed);
}

// A failed cleanup must be retried later.
TEST_F(IsolationThread, failed_close_is_reported) {
  ASSERT_TRUE(prepare(at("a")).get());
  may_complain_ = true;
  fs::rename(made_.root() / ".worktrees", made_.root() / "elsewhere");
  fs::create_symlink("elsewhere", made_.root() / ".worktrees");
  const auto close = [this] {
    return *ask<bool>([this](Isolation& isolation, auto answer) { isolation.close(settings_, root_, answer); }).get();
  };
  EXPECT_FALSE(close());
  fs::remove(made_.root() / ".worktrees");
  fs::rename(made_.root() / "elsewhere", made_.root() / ".worktrees");
  EXPECT_TRUE(close());
}

}  // namespace
}  // namespace reeve::runtime
