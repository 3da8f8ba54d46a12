#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approvals.h"

// `reeve patch` and /api/patches with a real repository (ISO-4).
namespace reeve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::read_text;
using ::testing::StartsWith;
using testing::Words;

class Patches : public testing::ApprovalsTest {
 protected:
  Patches() {
    git({"init", "-q", "-b", "main"});
    write("file.txt", "first\n");
    write(".gitignore", ".reeve/state\n");
    git({"add", "-A"});
    git({"commit", "-qm", "first"});
    const std::string base = git({"rev-parse", "HEAD"});
    EXPECT_EQ(reeve({"runs"}).code, 0);
    add_execution(base);
    add_patch("one", base, "one.txt", "1\n");
    add_patch("two", base, "file.txt", "second\n");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(project() / name) << text; }
  std::string git(const Words& words) const {
    Words argv = {"git", "-C", project().string(), "-c", "user.name=Ana", "-c", "user.email=ana@example.org"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Outcome outcome = testing::run_program({.argv = argv, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out.substr(0, outcome.out.find_last_not_of('\n') + 1);
  }
  // As an execution that has ended leaves them.
  void add_execution(const std::string& base) const {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    sql("INSERT INTO workflows VALUES ('h', 'w', 'w', '1', '{}', '2026-01-01T00:00:00.000Z')");
    sql("INSERT INTO executions (workflow_hash, status, started_at, completed_at) VALUES ('h', 'completed', "
        "'2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')");
    sql(fmt::format(
        "INSERT INTO branches (root, host, project, base_commit, tip, is_open) VALUES (1, '{}', '{}', '{}', "
        "'{}', 0)",
        host.data(), project().string(), base, base));
  }
  void add_patch(const std::string& node, const std::string& base, const std::string& file,
                 const std::string& text) const {
    git({"checkout", "-q", "--detach", base});
    write(file, text);
    git({"add", "-A"});
    git({"commit", "-qm", node});
    const std::string commit = git({"rev-parse", "HEAD"});
    const std::string diff = git({"diff", base, commit}) + "\n";
    git({"checkout", "-q", "main"});
    sql(fmt::format(
        "INSERT INTO patch_ledger (execution, root, node_id, attempt, base_commit, commit_hash, files, diff, "
        "state, history, created_at) VALUES (1, 1, '{}', 1, '{}', '{}', "
        "'[{{\"path\":\"{}\",\"added\":1,\"removed\":0}}]', '{}', 'quarantined', "
        "'[{{\"state\":\"created\",\"at\":\"2026-01-01T00:00:00.000Z\",\"reason\":null}}]', "
        "'2026-01-01T00:00:00.000Z')",
        node, base, commit, file, diff));
  }
};

TEST_F(Patches, are_listed_and_shown) {
  const Outcome list = reeve({"patch", "list"});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out, StartsWith("PA-2\tquarantined\tEX-1\ttwo\t1\t1\t0\t2026-01-01T00:00:00.000Z\t"));
  EXPECT_THAT(reeve({"patch", "list", "EX-1", "--status", "committed"}).out, "");
  EXPECT_THAT(reeve({"patch", "list", "--json"}).out, Not(HasSubstr("\"diff\""))) << "a listing is without diffs";
  EXPECT_THAT(reeve({"patch", "show", "pa-1", "--json"}).out, HasSubstr("+1"));
  EXPECT_THAT(reeve({"show", "PA-1"}).out, HasSubstr("node_id\tone\n"));
  const Outcome diff = reeve({"patch", "show", "@last", "--diff"});
  EXPECT_THAT(diff.out, HasSubstr("-first\n+second\n"));
}

TEST_F(Patches, bad_input_is_a_clear_error) {
  EXPECT_EQ(reeve({"patch", "show", "PA-99"}).code, 3);
  EXPECT_THAT(reeve({"patch", "apply", "PA-12"}).err, HasSubstr("did you mean `PA-"));
  EXPECT_THAT(reeve({"patch", "drop", "pa1"}).err, HasSubstr("did you mean `PA-1`?"));
  EXPECT_EQ(reeve({"patch", "list", "TR-1"}).code, 2);
  EXPECT_EQ(reeve({"patch", "list", "--status", "nonsense"}).code, 2);
  EXPECT_THAT(reeve({"patch", "aply", "PA-1"}).err, HasSubstr("patch apply"));
  EXPECT_THAT(request("GET", "/api/patches?state=nonsense"), HasSubstr("api.bad_request"));
  EXPECT_THAT(request("GET", "/api/patches/x"), HasSubstr("patch.not_found"));
}

// ISO-3: only in a clean checkout; otherwise nothing changes.
TEST_F(Patches, are_applied_rolled_back_and_dropped) {
  write("file.txt", "dirty\n");
  const Outcome dirty = reeve({"patch", "apply", "PA-1"});
  EXPECT_EQ(dirty.code, 4);
  EXPECT_THAT(dirty.err, HasSubstr("git.dirty"));
  EXPECT_FALSE(std::filesystem::exists(project() / "one.txt"));
  EXPECT_EQ(read_text(project() / "file.txt"), "dirty\n");
  git({"checkout", "-q", "."});
  const Outcome applied = reeve({"patch", "apply", "PA-1", "PA-2"});
  EXPECT_EQ(applied.out, "PA-1\tcommitted\nPA-2\tcommitted\n") << applied.err;
  EXPECT_EQ(read_text(project() / "one.txt"), "1\n");
  EXPECT_EQ(git({"status", "--porcelain"}), "");
  EXPECT_EQ(reeve({"patch", "rollback", "PA-1"}).out, "PA-1\trolled_back\n");
  EXPECT_FALSE(std::filesystem::exists(project() / "one.txt"));
  const Outcome drop = reeve({"patch", "drop", "PA-2"});
  EXPECT_EQ(drop.code, 4);
  EXPECT_THAT(drop.err, HasSubstr("reeve patch rollback"));
  EXPECT_THAT(testing::read_text(state() / "logs/combined.log"), HasSubstr("patch_state_change"));
}

// ISO-3: an approval applies the branch, whichever daemon receives it.
TEST_F(Patches, approving_the_question_applies_the_branch) {
  const std::string tip = sql("SELECT commit_hash FROM patch_ledger WHERE number = 1").substr(0, 40);
  sql(fmt::format("UPDATE branches SET tip = '{}'", tip));
  sql(fmt::format("UPDATE patch_ledger SET state = 'validated', branch_commit = '{}' WHERE number = 1", tip));
  sql(fmt::format(
      "INSERT INTO approvals (kind, execution, question, options_json, status, digest, created_at, delivery, "
      "arguments) VALUES ('question', 1, 'Apply?', '[{{\"value\":\"apply\",\"label\":\"Apply "
      "it\"}},{{\"value\":\"leave\",\"label\":\"\",\"approves\":false}}]', 'pending', 'git:{}', "
      "'2026-01-01T00:00:00.000Z', 'apply', '{{\"branch\":\"reeve/EX-1\"}}')",
      tip));
  EXPECT_THAT(reeve({"approvals"}).out, HasSubstr("AP-1\tpending\tEX-1\tApply?"));
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_TRUE(testing::eventually(
      [&] { return sql("SELECT state FROM patch_ledger WHERE number = 1").starts_with("committed"); }));
  EXPECT_EQ(read_text(project() / "one.txt"), "1\n");
  EXPECT_THAT(sql("SELECT use FROM approvals"), HasSubstr("used"));
}

// APR-11.
TEST_F(Patches, tool_cannot_apply_its_own_changes) {
  const Outcome inside =
      reeve({"run", "--", testing::reeve_binary(), "patch", "apply", "PA-1", "--state", state().string()});
  EXPECT_EQ(inside.code, 5) << inside.err;
  EXPECT_THAT(sql("SELECT state FROM patch_ledger WHERE number = 1"), HasSubstr("quarantined"));
}

}  // namespace
}  // namespace reeve
