#include <algorithm>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "git/repository.h"
#include "tests/support/git_repository.h"

namespace reeve::git {
namespace {

namespace fs = std::filesystem;
using testing::GitRepository;

class GitMerge : public ::testing::Test {
 protected:
  // A separate commit on `parent` with that file changed.
  std::string change(const std::string& parent, const std::string& name, const std::string& text) {
    made.git({"checkout", "-q", "--detach", parent});
    made.write(name, text);
    std::string commit = made.commit("change of " + name);
    made.git({"checkout", "-q", "main"});
    return commit;
  }
  std::string show(const std::string& commit, const std::string& name) {
    return made.git({"show", commit + ":" + name});
  }

  GitRepository made;
  Repository repository = *Repository::find(made.root(), made.beside("scratch"));
  std::string first = repository.get_head();
};

TEST_F(GitMerge, disjoint_changes_merge_into_one_commit) {
  const std::string ours = change(first, "file.txt", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n");
  const std::string theirs = change(first, "file.txt", "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n");
  const auto merged = repository.merge(ours, theirs, "merge");
  ASSERT_TRUE(merged.commit);
  EXPECT_TRUE(merged.conflicts.empty());
  EXPECT_EQ(show(*merged.commit, "file.txt"), "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN");
  EXPECT_EQ(made.git({"log", "-1", "--format=%P", *merged.commit}), ours + " " + theirs);
  EXPECT_EQ(repository.get_head(), first);
  EXPECT_EQ(repository.merge(first, theirs, "x").commit, theirs);
  EXPECT_EQ(repository.merge(ours, first, "x").commit, ours);
  EXPECT_TRUE(repository.is_ancestor(first, ours));
  EXPECT_FALSE(repository.is_ancestor(ours, theirs));
}

// ISO-1
TEST_F(GitMerge, conflict_is_reported_as_a_result) {
  const std::string ours = change(first, "file.txt", "ours\n");
  const std::string theirs = change(first, "file.txt", "theirs\n");
  const auto merged = repository.merge(ours, theirs, "merge");
  EXPECT_FALSE(merged.commit);
  EXPECT_EQ(merged.conflicts, std::vector<std::string>{"file.txt"});
  EXPECT_EQ(made.git({"status", "--porcelain"}), "");
}

TEST_F(GitMerge, obeys_the_attributes_that_need_no_program) {
  made.write(".gitattributes", "CHANGES merge=union\nfile.txt -merge\n*.lock binary\n");
  made.write("CHANGES", "old\n");
  const std::string base = made.commit("attributes");
  auto merged = repository.merge(change(base, "CHANGES", "a\nold\n"), change(base, "CHANGES", "b\nold\n"), "merge");
  ASSERT_TRUE(merged.commit);
  EXPECT_EQ(show(*merged.commit, "CHANGES"), "a\nb\nold");
  merged = repository.merge(change(base, "file.txt", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n"),
                            change(base, "file.txt", "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"), "merge");
  EXPECT_EQ(merged.conflicts, std::vector<std::string>{"file.txt"});
  const auto diff = repository.diff(base, change(base, "x.lock", "text\n"));
  EXPECT_NE(diff.text.find("Binary files"), std::string::npos) << diff.text;
}

TEST_F(GitMerge, reverts_a_change_in_the_middle) {
  const std::string second = change(first, "file.txt", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n");
  const std::string third = change(second, "file.txt", "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n");
  auto back = repository.revert(first, second, third, "take it back");
  ASSERT_TRUE(back.commit);
  EXPECT_EQ(show(*back.commit, "file.txt"), "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN");
  EXPECT_EQ(made.git({"log", "-1", "--format=%P %s", *back.commit}), third + " take it back");
  EXPECT_EQ(repository.revert(first, second, *back.commit, "again").commit, back.commit);
  const std::string other = change(second, "file.txt", "ANOTHER\ntwo\nthree\nfour\nfive\nsix\nseven\n");
  back = repository.revert(first, second, other, "x");
  EXPECT_FALSE(back.commit);
  EXPECT_EQ(back.conflicts, std::vector<std::string>{"file.txt"});
}

TEST_F(GitMerge, a_diff_names_every_file) {
  made.git({"checkout", "-q", "--detach"});
  made.git({"mv", "folder/inner.txt", "folder/moved.txt"});
  made.write("binary", std::string("\0\1\2", 3));
  made.write("odd\tname \xff", "line\n");
  made.write("umläut", "line\n");
  made.write("file.txt", "one\ntwo\n");
  const auto diff = repository.diff(first, made.commit("many"));
  std::vector<model::PatchFile> expected = {{"binary", 0, 0},
                                            {"file.txt", 0, 5},
                                            {"folder/inner.txt", 0, 1},
                                            {"folder/moved.txt", 1, 0},
                                            {"odd\tname \xef\xbf\xbd", 1, 0},
                                            {"umläut", 1, 0}};
  EXPECT_EQ(diff.files, expected);
  EXPECT_FALSE(diff.is_cut);
  EXPECT_NE(diff.text.find("Binary files /dev/null and b/binary differ"), std::string::npos);
  EXPECT_NE(diff.text.find("+++ b/umläut"), std::string::npos);
  EXPECT_FALSE(base::find_invalid_utf8(diff.text));
}

// APR-3: a file whose content is gone is told apart from one that was changed or only renamed.
TEST_F(GitMerge, a_diff_tells_which_files_it_deletes) {
  made.git({"checkout", "-q", "--detach"});
  made.write("kept.txt", "one\ntwo\nthree\nfour\n");
  made.write("odd\tname \xff", "other\n");
  made.write("similar.txt", "a\nb\nc\nd\ne\nf\ng\n");
  const std::string before = made.commit("files");
  made.git({"mv", "kept.txt", "moved.txt"});
  made.git({"rm", "-q", "odd\tname \xff", "folder/inner.txt"});
  made.git({"mv", "similar.txt", "changed.txt"});
  made.write("changed.txt", "a\nb\nc\nd\ne\nf\n");
  made.write("file.txt", "");
  const auto diff = repository.diff(before, made.commit("less"));
  std::vector<std::string> deleted;
  for (const model::PatchFile& file : diff.files) {
    if (file.is_deleted) deleted.push_back(file.path);
  }
  EXPECT_EQ(deleted, (std::vector<std::string>{"folder/inner.txt", "odd\tname \xef\xbf\xbd", "similar.txt"}));
  EXPECT_EQ(diff.files.size(), 7U);
}

TEST_F(GitMerge, a_diff_is_cut_at_a_line) {
  made.git({"checkout", "-q", "--detach"});
  std::string text;
  while (text.size() < 6 * base::limits::mib) text += "a line of some length \xff\n";
  made.write("large.txt", text);
  const auto diff = repository.diff(first, made.commit("large"));
  EXPECT_TRUE(diff.is_cut);
  EXPECT_LE(diff.text.size(), 4 * base::limits::mib);
  EXPECT_TRUE(diff.text.ends_with("\n"));
  EXPECT_EQ(diff.files.size(), 1);
}

}  // namespace
}  // namespace reeve::git
