#include <filesystem>
#include <future>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/tool_calls.h"
#include "os/beneath.h"
#include "os/file.h"
#include "os/process_stat.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_files.h"
#include "runtime/runs/supervisor.h"
#include "tests/support/files.h"
#include "tests/support/store/stores.h"

namespace reeve::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// RUN-13: a run whose keeper was killed after it began, as the next daemon finds it.
class LostRuns : public ::testing::Test {
 protected:
  LostRuns() {
    context_.descriptors.max_runs = 10;
    for (const auto& folder : {folder_.runs(), folder_.keepers()}) std::filesystem::create_directories(folder);
    run_ = ledger_.call([](ledger::Transaction& transaction) {
      const base::RunId id = ledger::create_run(transaction, {.tool_name = "aider", .argv = {"aider"}});
      ledger::begin_attempt(
          transaction, id,
          {.keeper = {.host = "here", .boot_id = os::boot_id(), .pid = 1, .started = 1}, .nonce = "0a"});
      return id;
    });
    RunPlan plan{.tool = "aider", .argv = {"aider"}, .cwd = "/"};
    plan.profile.on_interrupted = model::OnInterrupted::ask;
    draft_run(folder_.runs().string(), "0a", plan);
    EXPECT_TRUE(name_run(folder_.runs().string(), "0a", run_));
    os::replace_file(std::filesystem::path(attempt_folder(context_, run_, 1)) / keeper::marker_name,
                     keeper::encode_marker({.nonce = "0a", .pid = 0, .started = 0, .cgroup = ""}));
  }
  std::string status() {
    return ledger_.call([this](ledger::Transaction& transaction) {
      const model::Run run = store::find_run(transaction.session(), run_).value().run;
      return fmt::format("{} {}", base::spell(run.status), run.attempt);
    });
  }
  std::string events() { return testing::read_column(*store_.open_bare(), "SELECT data FROM events"); }

  testing::ScratchFolder scratch_;
  testing::TestStore store_{store::Place::Kind::file};
  project::StateFolder folder_{scratch_.path() / "state"};
  base::SystemClock clock_;
  Loop loop_;
  ledger::Ledger ledger_{store_.open_writer(), {}};
  LogThread log_{{.path = (scratch_.path() / "combined.log").string(),
                  .batch_read = [](const OutputBatch&) {},
                  .log_warning = [](const std::string&) {}}};
  KeeperPool keepers_{loop_, {.program = "/nonexistent/keeper", .endpoints = folder_.keepers().string(), .size = 0}};
  // Stops the loop when a run changes; nothing is set aside for a lost attempt.
  Inbox inbox_{loop_, [this](const Event& event) {
                 if (const auto* lost = std::get_if<AttemptLost>(&event)) lost->answer(std::nullopt);
                 if (std::holds_alternative<RunChanged>(event)) loop_.stop();
               }};
  RuntimeContext context_{.loop = loop_,
                          .inbox = inbox_,
                          .ledger = ledger_,
                          .clock = clock_,
                          .log = log_,
                          .keepers = keepers_,
                          .folder = folder_,
                          .host = "here",
                          .boot_id = os::boot_id()};
  base::RunId run_{0};
};

TEST_F(LostRuns, run_is_not_restarted_while_its_processes_may_live) {
  std::promise<void> turned;
  auto has_turned = turned.get_future().share();
  std::atomic<int> kills = 0;
  std::string seen;
  std::string told;
  {
    Supervisor supervisor(context_, [&](const LostAttempt& lost) -> std::vector<std::string> {
      EXPECT_EQ(lost.attempt_folder, attempt_folder(context_, run_, 1));
      // The loop keeps running meanwhile.
      EXPECT_EQ(has_turned.wait_for(30s), std::future_status::ready);
      if (++kills == 1) return {"17 stubborn"};
      return {};
    });
    supervisor.recover([&] {
      // A process that cannot be killed: nothing waits for it, and it is reported.
      ask_store(
          ledger_, loop_, [](ledger::Transaction&) {},
          [&](const std::expected<void, base::Error>&) {
            seen = status();
            told = events();
          });
    });
    loop_.post([&] { loop_.post([&] { turned.set_value(); }); });
    loop_.run();
  }
  EXPECT_EQ(seen, "running 1") << "it was started beside what may still live";
  EXPECT_THAT(told, HasSubstr("17 stubborn"));
  EXPECT_EQ(kills, 2) << "it was tried again";
  EXPECT_EQ(status(), "waiting_approval 1");
}

TEST_F(LostRuns, pending_retry_ends_with_its_supervisor) {
  std::atomic<int> kills = 0;
  {
    Supervisor supervisor(context_, [&](const LostAttempt&) -> std::vector<std::string> {
      ++kills;
      return {"17 stubborn"};
    });
    supervisor.recover([&] { loop_.stop(); });
    loop_.run();
  }
  // Due after the retry.
  loop_.after(first_kill_pause, [&] { loop_.stop(); });
  loop_.run();
  EXPECT_EQ(kills, 1);
}

// No process survives a reboot.
TEST_F(LostRuns, run_of_another_boot_has_no_processes_to_end) {
  context_.boot_id = "another";
  Supervisor supervisor(context_, [](const LostAttempt&) -> std::vector<std::string> {
    ADD_FAILURE() << "there is nothing to kill";
    return {};
  });
  supervisor.recover([] {});
  loop_.run();
  EXPECT_EQ(status(), "waiting_approval 1");
}

// APR-8: a run that was released for its calls, on a host that cannot start it again.
class ReleasedRun : public LostRuns {
 protected:
  // With `policy`, the call is answered, or waits for a person.
  void release(model::Policy policy) {
    ledger_.call([&](ledger::Transaction& transaction) {
      ledger::CallAttempt call{.claim = {.attempt = 1}};
      call.subject.tool = "git_push";
      call.subject.arguments = base::Value::object();
      call.digest = "sha256:1";
      call.record.native_id = "c1";
      call.record.native_tool = "push";
      call.record.arguments = base::Value::object();
      call.question.question = "May it?";
      call.may_defer = true;
      model::Policies policies;
      policies.tools["git_push"] = {{.policy = policy, .when = {}}};
      ledger::store_call(transaction, run_, policies, call);
      ledger::leave_calls(transaction, store::find_run(transaction.session(), run_).value().run, 1, true);
      ledger::move_run(transaction, run_, {.to = model::RunStatus::waiting_approval, .ends_attempt = true});
    });
    std::filesystem::remove(std::filesystem::path(run_folder(context_, run_)) / keeper::launch_name);
  }
  // What becomes of it when it is resumed, perhaps repeatedly.
  std::string resume() {
    Supervisor supervisor(context_);
    supervisor.resume(run_);
    supervisor.resume(run_);
    ask_store(
        ledger_, loop_, [](ledger::Transaction&) {}, [this](const std::expected<void, base::Error>&) { loop_.stop(); });
    loop_.run();
    return status();
  }
};

TEST_F(ReleasedRun, fails_if_its_launch_file_is_gone) {
  release(model::Policy::auto_approve);
  EXPECT_EQ(resume(), "failed 1");
  EXPECT_THAT(events(), HasSubstr("its launch file is gone"));
}

TEST_F(ReleasedRun, stays_while_a_call_of_it_waits) {
  release(model::Policy::require_approval);
  EXPECT_EQ(resume(), "waiting_approval 1");
}

}  // namespace
}  // namespace reeve::runtime
