#include "base/error.h"
#include "ledger/homes.h"
#include "tests/store/isolation_fixture.h"

// ISO-1: an execution whose branch is shared through a remote, on two hosts with a clone each and one store.
namespace reeve::runtime {
namespace {

using model::PatchState;
using ::testing::HasSubstr;
using ::testing::Not;

class IsolationRemote : public IsolationTest {
 protected:
  IsolationRemote() {
    made_.git({"init", "-q", "--bare", bare_.string()});
    made_.git({"remote", "add", "origin", bare_.string()});
    made_.git({"clone", "-q", made_.root().string(), clone_.string()});
    made_.git_in(clone_, {"remote", "set-url", "origin", bare_.string()});
    settings_.worktree.remote = "origin";
    remote_copy_settings_ = settings_;
    remote_copy_settings_.project = clone_.string();
    begin_anew();
    // No daemon is working on it.
    ledger_->call([&](ledger::Transaction& transaction) { ledger::end_lease(transaction, ledger_.worker().daemon); });
  }
  void begin_anew() {
    const auto make = [this](const std::string& host) {
      return IsolationContext{.ledger = *ledger_,
                              .host = host,
                              .scratch = made_.beside("scratch-" + host),
                              .is_shared = true,
                              .pause = [this](base::Milliseconds) { ++pauses_; },
                              .log_warning = [this](const std::string& text) { complaints_.push_back(text); },
                              .crash_point =
                                  [this](const char* point) {
                                    points_.insert(point);
                                    if (dies_in_ && --*dies_in_ == 0) throw Killed{};
                                  }};
    };
    git_.emplace(make("here"));
    remote_copy_.emplace(make("there"));
  }
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
  template <class Act>
  static std::string code_of(Act act) {
    try {
      act();
    } catch (const base::Error& error) {
      return error.code();
    }
    return "none";
  }
  void work_at(GitOperations& git, const IsolationSettings& settings, const std::string& node) const {
    write_text(fs::path(prepare_worktree(git, settings, at(node)).value_or("")) / (node + ".txt"), node + "\n");
    git.nodes.collect(settings, at(node));
    EXPECT_FALSE(git.nodes.accept(settings, at(node)).is_conflict);
  }
  bool move(GitOperations& git, const IsolationSettings& settings, const std::string& host) {
    const std::string tip = ExecutionBranch::migrate(git.context, settings, root_);
    return ledger_->call([&](ledger::Transaction& transaction) {
      return ledger::move_owner_host(transaction, ledger_->executions(),
                                     {.root = root_, .host = host, .project = settings.project, .tip = tip})
          .has_value();
    });
  }
  std::string there() const {
    return made_.git_in(bare_, {"for-each-ref", "--format=%(objectname)", "refs/heads/reeve"});
  }
  store::BranchRow row() {
    return ledger_->call(
        [&](ledger::Transaction& transaction) { return *store::find_branch(transaction.session(), root_); });
  }
  void end() { ledger_.on(root_, engine::CancelRequested{"over"}); }

  fs::path bare_ = made_.beside("bare.git");
  fs::path clone_ = made_.beside("clone");
  IsolationSettings remote_copy_settings_;
  std::optional<GitOperations> remote_copy_;
  std::vector<std::string> complaints_;
  std::set<std::string> points_;
  int pauses_ = 0;
};

TEST_F(IsolationRemote, accepted_commit_is_pushed_before_the_node_completes) {
  prepare(at("a"));
  EXPECT_EQ(there(), *settings_.base_commit) << "also what it begins with may be known here alone";
  work_at(*git_, settings_, "a");
  EXPECT_EQ(there(), row().tip);
  EXPECT_EQ(row().pushed, row().tip);
  EXPECT_FALSE(row().sending);
  EXPECT_NE(row().tip, *settings_.base_commit);
}

TEST_F(IsolationRemote, hosts_alternate_and_the_start_host_applies_everything) {
  work_at(*git_, settings_, "a");
  ASSERT_TRUE(move(*remote_copy_, remote_copy_settings_, "there"));
  EXPECT_EQ(code_of([&] { prepare_worktree(*git_, settings_, at("b")); }), "git.elsewhere")
      << "it is at one place at a time";
  work_at(*remote_copy_, remote_copy_settings_, "b");
  EXPECT_TRUE(fs::exists(clone_ / ".worktrees" / root_.text() / "a.txt"));
  ASSERT_TRUE(move(*git_, settings_, "here"));
  work_at(*git_, settings_, "c");
  ASSERT_TRUE(move(*remote_copy_, remote_copy_settings_, "there"));
  end();
  EXPECT_EQ(remote_copy_->applies.apply(root_, model::ApplyWhen::on_complete).kind, Isolation::Applied::Kind::nothing);
  EXPECT_FALSE(fs::exists(clone_ / "a.txt")) << "that checkout is nobody's who started it";
  remote_copy_->cleanup.close(root_);
  EXPECT_FALSE(fs::exists(clone_ / ".worktrees" / root_.text()));
  EXPECT_EQ(made_.git_in(clone_, {"for-each-ref", "refs/heads/reeve", "refs/reeve"}), "");
  EXPECT_EQ(there(), row().tip) << "it has not come home yet";
  EXPECT_EQ(git_->applies.apply(root_, model::ApplyWhen::on_complete).kind, Isolation::Applied::Kind::applied);
  for (const char* node : {"a", "b", "c"}) EXPECT_EQ(made_.read(std::string(node) + ".txt"), std::string(node) + "\n");
  git_->cleanup.close(root_);
  EXPECT_EQ(there(), "") << "it goes with the local one";
  EXPECT_FALSE(has_ref("refs/heads/" + branch()));
  EXPECT_EQ(row().home, "here");
}

TEST_F(IsolationRemote, manual_apply_keeps_local_and_remote_branch) {
  work_at(*git_, settings_, "a");
  end();
  EXPECT_EQ(git_->applies.apply(root_, model::ApplyWhen::manual).kind, Isolation::Applied::Kind::nothing);
  git_->cleanup.close(root_);
  EXPECT_TRUE(has_ref("refs/heads/" + branch()));
  EXPECT_EQ(there(), row().tip);
}

// A user takes the branch over by its name.
TEST_F(IsolationRemote, local_branch_has_the_remote_work_at_the_end) {
  work_at(*git_, settings_, "a");
  ASSERT_TRUE(move(*remote_copy_, remote_copy_settings_, "there"));
  work_at(*remote_copy_, remote_copy_settings_, "b");
  end();
  EXPECT_EQ(git_->applies.apply(root_, model::ApplyWhen::manual).kind, Isolation::Applied::Kind::nothing);
  git_->cleanup.close(root_);
  EXPECT_EQ(made_.git({"rev-parse", branch()}), row().tip);
  EXPECT_EQ(show("b.txt"), "b");
  EXPECT_EQ(act(base::PatchId(2), Isolation::PatchAction::apply, "ana").state, PatchState::committed);
  EXPECT_EQ(made_.read("b.txt"), "b\n");
}

TEST_F(IsolationRemote, crash_between_any_two_steps_is_recovered) {
  with_crashes([&] { prepare_worktree(*git_, settings_, at("a")); });
  write_text(worktree() / "a.txt", "a\n");
  with_crashes([&] { git_->nodes.collect(settings_, at("a")); });
  with_crashes([&] { EXPECT_FALSE(git_->nodes.accept(settings_, at("a")).is_conflict); });
  EXPECT_EQ(there(), row().tip);
  EXPECT_EQ(patch(1).state, PatchState::validated);
  // Two at once: the second is a merge, which gets another hash each time it is made.
  with_crashes([&] { prepare_worktree(*git_, settings_, at("b")); });
  with_crashes([&] { prepare_worktree(*git_, settings_, at("c")); });
  write_text(worktree() / "b.txt", "b\n");
  write_text(worktree().string() + ".2/c.txt", "c\n");
  for (const char* node : {"b", "c"}) {
    with_crashes([&] { git_->nodes.collect(settings_, at(node)); });
    with_crashes([&] { EXPECT_FALSE(git_->nodes.accept(settings_, at(node)).is_conflict); });
    EXPECT_EQ(there(), row().tip);
  }
  EXPECT_EQ(count_patches(), 3U);
  end();
  with_crashes([&] { git_->applies.apply(root_, model::ApplyWhen::on_complete); });
  with_crashes([&] { git_->cleanup.close(root_); });
  EXPECT_EQ(made_.read("b.txt") + made_.read("c.txt"), "b\nc\n");
  EXPECT_EQ(there(), "");
  for (const char* point : {"isolation.before_push", "isolation.after_push"}) EXPECT_TRUE(points_.contains(point));
}

// GRF-13: the host died after the push and before the commit in the store. Another host continues from the store.
TEST_F(IsolationRemote, pushed_but_unaccepted_commit_is_discarded) {
  write_text(prepare(at("a")) / "a.txt", "half\n");
  git_->nodes.collect(settings_, at("a"));
  const std::string before = row().tip;
  // After the push.
  points_.clear();
  for (int point = 1; !points_.contains("isolation.after_push"); ++point) {
    dies_in_ = point;
    EXPECT_THROW(git_->nodes.accept(settings_, at("a")), Killed);
    dies_in_.reset();
    begin_anew();
  }
  EXPECT_NE(there(), before);
  EXPECT_EQ(row().tip, before);
  ASSERT_TRUE(move(*remote_copy_, remote_copy_settings_, "there"));
  const auto folder = prepare_worktree(*remote_copy_, remote_copy_settings_, at("a", 2));
  EXPECT_FALSE(fs::exists(fs::path(*folder) / "a.txt"));
  EXPECT_EQ(there(), before) << "put back";
  // The host that lost ownership can no longer change anything.
  EXPECT_EQ(code_of([&] { git_->nodes.accept(settings_, at("a")); }), "git.elsewhere");
  EXPECT_EQ(code_of([&] { git_->nodes.withdraw(settings_, at("a"), "late"); }), "git.elsewhere");
  EXPECT_EQ(there(), before);
  remote_copy_->nodes.reject(remote_copy_settings_, at("a", 2), PatchState::quarantined, "enough");
  end();
  // ISO-4: its changes are kept where they are.
  git_->cleanup.close(root_);
  EXPECT_EQ(count_patches(), 1U);
  EXPECT_EQ(patch(1).state, PatchState::created) << "its commit is kept";
  EXPECT_TRUE(has_ref("refs/reeve/" + root_.text() + "/PA-1"));
}

TEST_F(IsolationRemote, remote_tip_unknown_to_the_store_is_never_used) {
  work_at(*git_, settings_, "a");
  const std::string pushed = row().tip;
  EXPECT_EQ(ExecutionBranch::migrate(remote_copy_->context, remote_copy_settings_, root_), pushed);
  made_.git_in(bare_, {"update-ref", "refs/heads/" + branch(), *settings_.base_commit});
  EXPECT_EQ(code_of([&] { ExecutionBranch::migrate(remote_copy_->context, remote_copy_settings_, root_); }),
            "git.remote_moved")
      << "though it knows the right one";
  write_text(prepare(at("b")) / "b.txt", "b\n");
  git_->nodes.collect(settings_, at("b"));
  EXPECT_EQ(code_of([&] { git_->nodes.accept(settings_, at("b")); }), "git.remote_moved");
  EXPECT_EQ(row().tip, pushed) << "nothing half done";
  EXPECT_EQ(there(), *settings_.base_commit) << "what somebody put there is theirs";
  made_.git_in(bare_, {"update-ref", "refs/heads/" + branch(), pushed});
  EXPECT_EQ(code_of([&] { git_->nodes.accept(settings_, at("b")); }), "none");
  EXPECT_EQ(there(), row().tip);
}

TEST_F(IsolationRemote, a_branch_of_another_store_is_left_alone) {
  made_.git({"push", "-q", "origin", "HEAD:refs/heads/" + branch()});
  made_.write("more.txt", "more\n");
  made_.commit("more");
  settings_.base_commit = made_.git({"rev-parse", "HEAD"});
  EXPECT_EQ(code_of([&] { prepare_worktree(*git_, settings_, at("a")); }), "git.remote_moved");
  EXPECT_NE(there(), *settings_.base_commit);
}

TEST_F(IsolationRemote, unreachable_remote_is_retried_then_reported) {
  work_at(*git_, settings_, "a");
  write_text(prepare(at("b")) / "b.txt", "b\n");
  git_->nodes.collect(settings_, at("b"));
  fs::rename(bare_, made_.beside("away"));
  const std::string before = row().tip;
  EXPECT_EQ(code_of([&] { git_->nodes.accept(settings_, at("b")); }), "git.remote_failed");
  EXPECT_EQ(pauses_, 4);
  EXPECT_EQ(row().tip, before);
  git_->nodes.reject(settings_, at("b"), PatchState::quarantined, "not pushed");
  EXPECT_EQ(patch(2).state, PatchState::quarantined);
  fs::rename(made_.beside("away"), bare_);
  work_at(*git_, settings_, "c");
  EXPECT_EQ(there(), row().tip);
}

TEST_F(IsolationRemote, invalid_remote_is_reported_before_anything_starts) {
  EXPECT_EQ(code_of([&] { check_remote(git_->context, settings_.project, {"nope", ""}); }), "git.no_remote");
  EXPECT_EQ(code_of([&] { check_remote(git_->context, settings_.project, {"ext::sh", ""}); }), "git.unsafe_remote");
  EXPECT_EQ(code_of([&] { check_remote(git_->context, settings_.project, {"/nowhere/x.git", ""}); }),
            "git.remote_failed");
  EXPECT_EQ(code_of([&] { check_remote(git_->context, settings_.project, {"origin", ""}); }), "none");
}

// Each daemon has its own clone: two in one would mistake each other's worktrees for their own.
TEST_F(IsolationRemote, daemon_in_the_same_repository_cannot_take_over) {
  work_at(*git_, settings_, "a");
  EXPECT_EQ(code_of([&] { ExecutionBranch::migrate(remote_copy_->context, settings_, root_); }), "git.branch_in_use");
}

TEST_F(IsolationRemote, owner_host_moves_only_with_the_fetched_commit) {
  work_at(*git_, settings_, "a");
  const std::string tip = ExecutionBranch::migrate(remote_copy_->context, remote_copy_settings_, root_);
  work_at(*git_, settings_, "b");
  const auto move_with = [&](const std::string& commit) {
    return ledger_->call([&](ledger::Transaction& transaction) {
      return ledger::move_owner_host(transaction, ledger_->executions(),
                                     {.root = root_, .host = "there", .project = clone_.string(), .tip = commit})
          .has_value();
    });
  };
  EXPECT_FALSE(move_with(tip)) << "it has moved on since";
  EXPECT_TRUE(move_with(ExecutionBranch::migrate(remote_copy_->context, remote_copy_settings_, root_)));
  EXPECT_FALSE(move_with(row().tip)) << "it is there already";
}

// GRF-13: a host with a valid lease keeps ownership.
TEST_F(IsolationRemote, owner_host_stays_while_a_node_is_running) {
  work_at(*git_, settings_, "a");
  const auto set_lease = [&](const std::string& until) {
    ledger_->call([&](ledger::Transaction& transaction) {
      transaction.session().run_script("UPDATE daemons SET lease_until = '" + until + "'");
    });
  };
  const auto find = [&] {
    return ledger_->call([&](ledger::Transaction& transaction) {
      return ledger::find_adrift(transaction, "there", base::Milliseconds(1'000), 10);
    });
  };
  set_lease("2999-01-01T00:00:00.000Z");
  EXPECT_TRUE(find().empty());
  EXPECT_FALSE(move(*remote_copy_, remote_copy_settings_, "there"));
  set_lease("2001-01-01T00:00:00.000Z");
  EXPECT_EQ(find(), std::vector{root_});
  EXPECT_TRUE(move(*remote_copy_, remote_copy_settings_, "there"));
  EXPECT_TRUE(find().empty()) << "it is there";
}

TEST_F(IsolationRemote, retry_on_another_host_is_cleaned_up) {
  prepare(at("a"));
  ASSERT_TRUE(move(*remote_copy_, remote_copy_settings_, "there"));
  remote_copy_->cleanup.close(root_);
  work_at(*remote_copy_, remote_copy_settings_, "b");
  EXPECT_TRUE(fs::exists(clone_ / ".worktrees" / root_.text()));
  remote_copy_->cleanup.close(root_);
  EXPECT_FALSE(fs::exists(clone_ / ".worktrees" / root_.text()));
}

TEST_F(IsolationRemote, cancelled_change_is_removed_from_the_remote) {
  work_at(*git_, settings_, "a");
  work_at(*git_, settings_, "b");
  git_->nodes.withdraw(settings_, at("b"), "cancelled");
  EXPECT_EQ(there(), row().tip);
  EXPECT_THAT(made_.git_in(bare_, {"ls-tree", "--name-only", branch()}), Not(HasSubstr("b.txt")));
}

}  // namespace
}  // namespace reeve::runtime
