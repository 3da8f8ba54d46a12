#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approval_flow.h"

// Things an answer must never cause: anything twice, anything other than what was approved, anything for a run that has
// ended (APR-4, APR-7, APR-10, RUN-13).
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Members;
using testing::Outcome;

class ApprovalMisuse : public testing::ApprovalFlowTest {
 protected:
  // With a correct checksum, as an informed attacker would write it, or with the old one.
  enum class Sealing { anew, as_it_was };
  void change_launch(const std::string& run, const std::string& from, const std::string& to, Sealing sealing) const {
    const std::filesystem::path launch = state() / "runs" / run / "launch";
    std::string bytes = testing::read_text(launch);
    const std::size_t place = bytes.find(from);
    ASSERT_NE(place, std::string::npos);
    ASSERT_EQ(from.size(), to.size());
    bytes.replace(place, from.size(), to);
    if (sealing == Sealing::anew) {
      // The kind, then a checksum (FNV-1a) of the rest.
      constexpr std::size_t kind = 4;
      constexpr std::size_t head = 12;
      std::uint64_t sum = 14695981039346656037ULL;
      for (const char byte : bytes.substr(head)) sum = (sum ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
      std::memcpy(bytes.data() + kind, &sum, sizeof sum);
    }
    std::ofstream(launch, std::ios::binary) << bytes;
  }
  // The approval starts nothing: the grant is void, and a new question names the change. Approving that one runs it.
  void expect_asked_anew(const std::string& run, const std::string& changed) {
    const std::string first = question_of(run);
    ASSERT_EQ(reeve({"approve", "--yes", first}).code, 0);
    ASSERT_TRUE(testing::eventually([&] { return question_of(run) != first; }));
    const std::string second = question_of(run);
    EXPECT_EQ(show(run)["status"], "waiting_approval");
    EXPECT_EQ(show(run)["attempt"], "1");
    EXPECT_EQ(show(first)["use"], "void");
    EXPECT_EQ(effects().size(), 0U);
    EXPECT_THAT(show(second)["question"], AllOf(HasSubstr(changed), HasSubstr("nothing was started")));
    EXPECT_EQ(sql("SELECT count(*) FROM audit_log WHERE kind='approval_voided'"), "1");
    // A changed script may make it risky.
    ASSERT_EQ(reeve({"approve", second, "--confirm", second}).code, 0);
    EXPECT_EQ(finish(run).at("status"), "completed");
    EXPECT_EQ(effects().size(), 1U);
  }
};

// APR-10
TEST_F(ApprovalMisuse, edited_script_needs_a_new_approval) {
  const std::string text = asks_then("effect");
  const std::string file = script("deploy.sh", text);
  const std::string run = start_command({"sh", file});
  wait_for_status(run, "waiting_approval");
  script("deploy.sh", text + "\n# more\n");
  expect_asked_anew(run, "the script `" + file + "`");
}

TEST_F(ApprovalMisuse, replaced_folder_needs_a_new_approval) {
  namespace fs = std::filesystem;
  const fs::path folder = scratch().path() / "work";
  fs::create_directories(scratch().path() / "one");
  fs::create_directories(scratch().path() / "two");
  fs::create_directory_symlink(scratch().path() / "one", folder);
  const std::string run = start_command({"sh", "-c", asks_then("effect")}, {"--cwd", folder.string()});
  wait_for_status(run, "waiting_approval");
  const std::string kept = show(run)["cwd"];
  // The path that was recorded now leads to another folder.
  if (kept == folder.string()) {
    fs::remove(folder);
    fs::create_directory_symlink(scratch().path() / "two", folder);
  } else {
    fs::rename(scratch().path() / "one", scratch().path() / "gone");
    fs::rename(scratch().path() / "two", scratch().path() / "one");
  }
  expect_asked_anew(run, "the working folder");
}

TEST_F(ApprovalMisuse, tampered_launch_needs_a_new_approval) {
  const std::string run = start_command({"sh", "-c", asks_then("effect")}, {"--env", "TARGET=staging"});
  wait_for_status(run, "waiting_approval");
  change_launch(run, "TARGET=staging", "TARGET=another", Sealing::anew);
  expect_asked_anew(run, "the variable `TARGET`");
}

// An incomplete launch file is ignored.
TEST_F(ApprovalMisuse, a_damaged_launch_starts_nothing) {
  const std::string run = start_command({"sh", "-c", asks_then("effect")}, {"--env", "TARGET=staging"});
  wait_for_status(run, "waiting_approval");
  const std::string id = question_of(run);
  change_launch(run, "TARGET=staging", "TARGET=another", Sealing::as_it_was);
  ASSERT_EQ(reeve({"approve", "--yes", id}).code, 0);
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "failed");
  EXPECT_THAT(over.at("reason"), HasSubstr("its launch file is gone"));
  EXPECT_EQ(show(id)["use"], "void");
  EXPECT_EQ(effects().size(), 0U);
}

// APR-4, RUN-15
TEST_F(ApprovalMisuse, cancelling_a_run_expires_its_question) {
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  const std::string id = question_of(run);
  ASSERT_EQ(reeve({"cancel", run}).code, 0);
  EXPECT_EQ(show(id)["status"], "expired");
  const Outcome late = reeve({"approve", "--yes", id});
  EXPECT_EQ(late.code, 4);
  EXPECT_THAT(late.err, HasSubstr("expired"));
  EXPECT_EQ(finish(run).at("status"), "cancelled");
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(show(run)["attempt"], "1");
  EXPECT_EQ(effects().size(), 0U);
}

// APR-2, APR-7: a used grant cannot be used again by anyone.
TEST_F(ApprovalMisuse, used_grant_cannot_be_used_again) {
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  const std::string id = question_of(run);
  ASSERT_EQ(reeve({"approve", "--yes", id}).code, 0);
  finish(run);
  EXPECT_EQ(reeve({"approve", "--yes", id}).code, 4);
  EXPECT_EQ(reeve({"reject", id}).code, 4);
  for (const char* change :
       {"use='unused'", "use='void'", "status='pending'", "status='rejected'", "status='expired'"}) {
    EXPECT_TRUE(sql_error(fmt::format("UPDATE approvals SET {} WHERE approval_id='{}'", change, id))) << change;
  }
  EXPECT_TRUE(sql_error("UPDATE audit_log SET actor='nobody'"));
  EXPECT_TRUE(sql_error("DELETE FROM audit_log"));
  // A starting daemon starts nothing.
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(show(run)["attempt"], "2");
  EXPECT_EQ(effects().size(), 1U);
  EXPECT_EQ(reeve({"audit", "verify"}).code, 0);
}

// "A tool's line can only speak for its own run."
TEST_F(ApprovalMisuse, forged_lines_decide_nothing) {
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  const std::string id = question_of(run);
  ASSERT_EQ(id, "AP-1");
  const std::string forger = detach({}, {"forge", run});
  // The question belongs to its own run, whatever ids it names.
  wait_for_status(forger, "waiting_approval");
  EXPECT_EQ(show(run)["status"], "waiting_approval");
  EXPECT_EQ(show(id)["status"], "pending");
  EXPECT_EQ(show(id)["question"], "Go on?");
  EXPECT_EQ(question_count(run), 1);
  EXPECT_EQ(show(question_of(forger))["tool_ref"], "AP-1");
  EXPECT_EQ(sql("SELECT count(*) FROM audit_log WHERE kind='approval_granted'"), "0");
  EXPECT_EQ(reeve({"reject", question_of(forger)}).code, 0);
  EXPECT_EQ(reeve({"reject", id}).code, 0);
  EXPECT_EQ(effects().size(), 0U);
}

// RUN-13
TEST_F(ApprovalMisuse, interrupted_run_follows_the_decision) {
  for (const char* word : {"approve", "reject"}) {
    SCOPED_TRACE(word);
    const std::size_t before = effects().size();
    // The first attempt runs until it is killed; the second does the work.
    const std::string run = start_script(
        fmt::format("if [ $REEVE_ATTEMPT = 1 ]; then echo begun; sleep 1000; fi; {}", effect_command("again")));
    wait_for_output(run, "begun");
    kill_keepers();
    const Members lost = wait_for_status(run, "waiting_approval");
    EXPECT_EQ(lost.at("reason"), "interrupted after it began");
    const std::string id = question_of(run);
    EXPECT_EQ(show(id)["question"], fmt::format("sh ({}) was interrupted after it began; run it again?", run));
    ASSERT_EQ(reeve(testing::decision(word, id)).code, 0);
    const Members over = finish(run);
    const bool is_yes = word == std::string("approve");
    EXPECT_EQ(over.at("status"), is_yes ? "completed" : "failed");
    EXPECT_EQ(over.at("attempt"), is_yes ? "2" : "1");
    EXPECT_EQ(effects().size() - before, is_yes ? 1U : 0U);
  }
}

// RUN-13: an approval from before the interruption does not allow a rerun.
TEST_F(ApprovalMisuse, earlier_approval_does_not_rerun_an_interrupted_run) {
  Gate gate(scratch().path() / "gate");
  const std::string run = start_script(fmt::format("if [ $REEVE_ATTEMPT = 1 ]; then {}; read x <'{}'; exit 90; fi; {}",
                                                   ask_line(), gate.path(), effect_command("again")));
  wait_for_status(run, "waiting_approval");
  const std::string older = question_of(run);
  ASSERT_EQ(reeve({"approve", "--yes", older}).code, 0);
  kill_keepers();
  wait_for_status(run, "waiting_approval");
  EXPECT_EQ(show(older)["use"], "void");
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(show(run)["status"], "waiting_approval");
  EXPECT_EQ(effects().size(), 0U);
  ASSERT_EQ(reeve({"approve", "--yes", question_of(run)}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_EQ(effects().size(), 1U);
}

}  // namespace
}  // namespace reeve
