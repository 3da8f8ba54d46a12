#include "project/backup_archive.h"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/files.h"
#include "tests/support/session.h"

namespace reeve::project {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::string_view about = R"({"format":1,"reeve":"test"})";
constexpr std::size_t block = 512;

class BackupArchive : public ::testing::Test {
 protected:
  fs::path path() const { return scratch_.path() / "state.backup"; }
  std::string write() const {
    BackupWriter writer(path(), [] {});
    writer.add_text(backup_about, about);
    const fs::path database = scratch_.write("source.db", std::string(1'000, 'd'));
    writer.add_file(backup_database, os::Fd(::open(database.c_str(), O_RDONLY | O_CLOEXEC)));
    writer.add_text("runs/TR-1/1/out-0000000000000000", "hello\n");
    writer.add_text("logs/combined.log.1", "");
    return writer.finish();
  }
  static VerifiedBackup verify(const fs::path& path) { return verify_backup(open_backup(path)); }
  static std::string code_of(const std::function<void()>& act) {
    try {
      act();
      return "";
    } catch (const base::Error& error) {
      return std::string(error.code());
    }
  }
  // The code after a change to the bytes of the archive.
  std::string code_after(const std::function<void(std::string&)>& change) const {
    fs::remove(path());
    write();
    std::string bytes = testing::read_text(path());
    change(bytes);
    fs::remove(path());
    scratch_.write("state.backup", bytes);
    return code_of([&] { verify(path()); });
  }
  // Another name for the third member, with a valid checksum.
  static void rename_member(std::string& bytes, const std::string& name, char type = '0') {
    const std::size_t at = bytes.find("runs/TR-1/1/out-");
    bytes.replace(at, 100, name + std::string(100 - name.size(), '\0'));
    bytes[at + 156] = type;
    bytes.replace(at + 148, 8, "        ");
    unsigned sum = 0;
    for (std::size_t i = 0; i < block; ++i) sum += static_cast<unsigned char>(bytes[at + i]);
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "%06o", sum);
    bytes.replace(at + 148, 7, std::string(text.data(), 7));
  }

  const testing::ScratchFolder scratch_;
};

TEST_F(BackupArchive, is_read_as_it_was_written) {
  const std::string digest = write();
  const VerifiedBackup backup = verify(path());
  EXPECT_EQ(backup.digest, digest);
  EXPECT_EQ(backup.about, about);
  EXPECT_THAT(backup.members, ElementsAre(Pair(backup_about, ::testing::_), Pair("reeve.db", ::testing::_),
                                          Pair("runs/TR-1/1/out-0000000000000000", ::testing::_),
                                          Pair("logs/combined.log.1", ::testing::_)));
  struct stat status{};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const fs::path root = scratch_.path() / "root";
  fs::create_directory(root);
  extract_backup(open_backup(path()), backup, root, "other.db");
  EXPECT_EQ(testing::read_text(root / "other.db"), std::string(1'000, 'd'));
  EXPECT_EQ(testing::read_text(root / "runs/TR-1/1/out-0000000000000000"), "hello\n");
  EXPECT_EQ(testing::read_text(root / "logs/combined.log.1"), "");
  EXPECT_FALSE(fs::exists(root / std::string(backup_sums)));
}

TEST_F(BackupArchive, tar_can_list_it) {
  write();
  const testing::Outcome outcome =
      testing::run_program({.argv = {"tar", "-tf", path().string()}, .environment = {{"PATH", "/usr/bin:/bin"}}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("reeve.db\n"));
  EXPECT_THAT(outcome.out, HasSubstr("SHA256SUMS\n"));
}

TEST_F(BackupArchive, never_replaces_a_file) {
  scratch_.write("state.backup", "mine");
  EXPECT_EQ(code_of([&] { write(); }), "backup.exists");
  EXPECT_EQ(testing::read_text(path()), "mine");
  fs::remove(path());
  fs::create_symlink(scratch_.path() / "target", path());
  EXPECT_EQ(code_of([&] { write(); }), "backup.exists");
  EXPECT_EQ(code_of([&] { BackupWriter(scratch_.path() / "none/x", [] {}); }), "backup.unwritable");
}

TEST_F(BackupArchive, unfinished_one_leaves_nothing) {
  {
    BackupWriter writer(path(), [] {});
    writer.add_text(backup_about, about);
  }
  EXPECT_TRUE(fs::is_empty(scratch_.path()));
}

TEST_F(BackupArchive, every_change_is_detected) {
  EXPECT_EQ(code_after([](std::string&) {}), "");
  const auto flip = [](std::size_t at) {
    return [at](std::string& bytes) { bytes[at] = static_cast<char>(bytes[at] ^ 1); };
  };
  // The content of the database, and of a list of digests.
  EXPECT_EQ(code_after(flip(3 * block + 7)), "restore.damaged");
  EXPECT_EQ(code_after([](std::string& bytes) { bytes[bytes.rfind("  reeve.db") - 1] ^= 1; }), "restore.damaged");
  // A header.
  EXPECT_EQ(code_after(flip(2 * block + 3)), "restore.damaged");
  for (const std::size_t left : {block, 3 * block, 6 * block}) {
    EXPECT_EQ(code_after([left](std::string& bytes) { bytes.resize(left); }), "restore.damaged") << left;
  }
  EXPECT_EQ(code_after([](std::string& bytes) { bytes = "SQLite format 3"; }), "restore.not_a_backup");
  EXPECT_EQ(code_after([](std::string& bytes) { bytes.replace(bytes.find("\"format\":1"), 10, "\"format\":2"); }),
            "restore.not_a_backup");
}

// A hostile archive cannot write anywhere else, and contains nothing that acts.
TEST_F(BackupArchive, other_names_and_types_are_refused) {
  for (const char* name :
       {"../escaped", "/etc/passwd", "runs/../../x", "runs/TR-1/1/../../../x", "runs/TR-1/launch",
        "runs/TR-1/1/own/../exec", "runs/TR-01/1/exec", "runs/tr-1/1/exec", "http.token", "reeve.db-wal", "id",
        "logs/daemon.log", "runs/TR-1/1/", "", ".", "executions/EX-1/settings"}) {
    EXPECT_FALSE(is_backup_name(name)) << name;
    EXPECT_EQ(code_after([&](std::string& bytes) { rename_member(bytes, name); }), "restore.damaged") << name;
  }
  for (const char type : {'1', '2', '3', '5', '6', 'L', 'x', '\0'}) {
    EXPECT_EQ(code_after([&](std::string& bytes) { rename_member(bytes, "runs/TR-1/1/exec", type); }),
              "restore.damaged")
        << type;
  }
  EXPECT_EQ(code_after([](std::string& bytes) { rename_member(bytes, "reeve.db"); }), "restore.damaged");
}

// A folder that a link replaces while the archive is extracted.
TEST_F(BackupArchive, links_in_the_target_are_not_followed) {
  write();
  const VerifiedBackup backup = verify(path());
  const fs::path root = scratch_.path() / "root";
  const fs::path elsewhere = scratch_.path() / "elsewhere";
  fs::create_directory(root);
  fs::create_directory(elsewhere);
  fs::create_symlink(elsewhere, root / "runs");
  EXPECT_EQ(code_of([&] { extract_backup(open_backup(path()), backup, root, "reeve.db"); }), "file.unwritable");
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(BackupArchive, pipe_is_refused_without_waiting) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(code_of([&] { open_backup(path()); }), "restore.not_a_backup");
  EXPECT_EQ(code_of([&] { open_backup(scratch_.path() / "none"); }), "file.not_found");
}

}  // namespace
}  // namespace reeve::project
