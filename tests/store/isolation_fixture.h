#pragma once

#include <fstream>

#include <gmock/gmock.h>

#include "runtime/isolation/git_operations.h"
#include "runtime/isolation/project_survey.h"
#include "tests/support/git_repository.h"
#include "tests/support/store/flows.h"

// Isolation with a real repository, step by step, and with a process that may die in between.
namespace reeve::runtime {

namespace fs = std::filesystem;

inline void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// Thrown where the process is killed.
struct Killed {};

// Nothing while another task holds the shared worktree.
inline std::optional<std::string> prepare_worktree(GitOperations& git, const IsolationSettings& settings,
                                                   const NodeAttemptId& place) {
  const auto prepared = git.nodes.begin_prepare(settings, place);
  if (!prepared) return std::nullopt;
  if (!prepared->setup) return prepared->folder;
  set_up_worktree(*prepared->setup, [] { return false; });
  return git.nodes.finish_prepare(settings, place);
}

inline std::string check_out(GitOperations& git, const IsolationSettings& settings, const NodeAttemptId& place,
                             const std::optional<std::string>& commit, const std::string& name) {
  const PreparedFolder prepared = git.checkouts.make(settings, place, commit, name);
  if (prepared.setup) set_up_worktree(*prepared.setup, [] { return false; });
  return prepared.folder;
}

class IsolationTest : public ::testing::Test {
 protected:
  IsolationTest()
      : store_(store::Place::Kind::memory),
        ledger_(store_),
        root_(ledger_.start(testing::make_execution(testing::make_chain(3))).execution) {
    begin_anew();
    settings_.project = made_.root().string();
    settings_.base_commit = made_.git({"rev-parse", "HEAD"});
    settings_.environment = {{"PATH", "/usr/bin:/bin"}};
  }

  // As a daemon after a restart.
  void begin_anew() {
    git_.emplace(IsolationContext{
        .ledger = *ledger_, .host = "here", .scratch = made_.beside("scratch"), .crash_point = [this](const char*) {
          if (dies_in_ && --*dies_in_ == 0) throw Killed{};
        }});
  }
  // Kills at each crash point in turn, and repeats the action until it succeeds.
  template <class Act>
  void with_crashes(Act act) {
    for (int at = 1;; ++at) {
      dies_in_ = at;
      try {
        act();
        dies_in_.reset();
        return;
      } catch (const Killed&) {
        dies_in_.reset();
        begin_anew();
      }
    }
  }
  NodeAttemptId at(const std::string& node, int attempt = 1) const {
    return {.root = root_, .execution = root_, .node = node, .iteration = 0, .attempt = attempt, .worktree_id = {}};
  }
  fs::path prepare(const NodeAttemptId& place) {
    auto folder = prepare_worktree(*git_, settings_, place);
    EXPECT_TRUE(folder);
    return folder.value_or("");
  }
  // A person's action on one patch whose gates need not run.
  model::Patch act(base::PatchId id, Isolation::PatchAction action, const std::string& by) {
    using enum Isolation::PatchAction;
    if (action == drop) return git_->patches.drop(id, by);
    if (action == rollback) return git_->applies.roll_back(id, by);
    EXPECT_FALSE(git_->applies.apply_patch(id, by).check);
    return git_->patches.get(id);
  }
  // A task that writes a file and is accepted.
  void work(const std::string& node, const std::string& file, const std::string& text) {
    write_text(prepare(at(node)) / file, text);
    git_->nodes.collect(settings_, at(node));
    EXPECT_FALSE(git_->nodes.accept(settings_, at(node)).is_conflict);
  }
  model::Patch patch(int number) {
    return ledger_->call(
        [number](ledger::Transaction& transaction) { return ledger::get_patch(transaction, base::PatchId(number)); });
  }
  std::size_t count_patches() {
    return ledger_->call(
        [](ledger::Transaction& transaction) { return store::list_patches(transaction.session(), {}).size(); });
  }
  std::string branch() const { return "reeve/" + root_.text(); }
  std::string show(const std::string& file) const { return made_.git({"show", branch() + ":" + file}); }
  bool has_ref(const std::string& ref) const { return !made_.git({"for-each-ref", ref}).empty(); }
  fs::path worktree() const { return made_.root() / ".worktrees" / root_.text(); }

  testing::GitRepository made_;
  testing::TestStore store_;
  testing::TestLedger ledger_;
  base::ExecutionId root_;
  IsolationSettings settings_;
  std::optional<int> dies_in_;
  std::optional<GitOperations> git_;
};

}  // namespace reeve::runtime
