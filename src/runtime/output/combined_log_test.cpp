#include "runtime/output/combined_log.h"

#include <csignal>
#include <functional>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;
using testing::read_text;

class CombinedLogTest : public ::testing::Test {
 protected:
  CombinedLog open(std::uint64_t rotate_size = 1 << 20U, std::int64_t keep = 3) const {
    return CombinedLog(path(), {{rotate_size}, keep});
  }
  fs::path path() const { return scratch_.path() / "combined.log"; }
  fs::path rotated(int number) const { return path().string() + "." + std::to_string(number); }
  std::string text() const { return read_text(path()); }
  const testing::ScratchFolder& scratch() const { return scratch_; }

 private:
  testing::ScratchFolder scratch_;
};

// Writes beyond this size fail, as on a full disk, but the process continues.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, SIG_DFL);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

std::string code_of(const std::function<void()>& call) {
  try {
    call();
    return "";
  } catch (const base::Error& error) {
    return error.code();
  }
}

TEST_F(CombinedLogTest, appends_whole_lines_with_mode_0600) {
  CombinedLog log = open();
  log.append("one\n");
  log.append("");
  log.append("two\nthree\n");
  EXPECT_EQ(text(), "one\ntwo\nthree\n");
  struct stat status{};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  open().append("four\n");
  EXPECT_EQ(text(), "one\ntwo\nthree\nfour\n");
}

// LOG-1
TEST_F(CombinedLogTest, torn_last_line_is_removed) {
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {"one\ntw", "one\n"},
           {"torn", ""},
           {"", ""},
           {"one\n", "one\n"},
           {"one\n" + std::string(200'000, 'x'), "one\n"},
           {std::string(200'000, 'x'), ""},
           {std::string(65'535, 'x') + "\n" + std::string(65'536, 'y'), std::string(65'535, 'x') + "\n"}}) {
    scratch().write("combined.log", before);
    CombinedLog log = open();
    EXPECT_EQ(text(), after);
    log.append("next\n");
    EXPECT_EQ(text(), after + "next\n");
  }
}

// LOG-2
TEST_F(CombinedLogTest, rotates_at_the_size_limit) {
  CombinedLog log = open(100, 3);
  std::string all;
  for (int i = 0; i < 40; ++i) {
    const std::string line = fmt::format("line {:04}\n", i);
    log.append(line);
    all += line;
    EXPECT_LE(fs::file_size(path()), 100U);
  }
  EXPECT_EQ(read_text(rotated(3)) + read_text(rotated(2)) + read_text(rotated(1)) + text(), all);
  for (int i = 0; i < 100; ++i) log.append("more text\n");
  EXPECT_FALSE(fs::exists(rotated(4)));
  const std::string larger(200, 'x');
  log.append(larger + "\n");
  EXPECT_EQ(text(), larger + "\n");
}

// LOG-2: a batch of lines does not let the file grow beyond its limit.
TEST_F(CombinedLogTest, rotates_between_the_lines_of_a_batch) {
  CombinedLog log = open(100, 50);
  std::string all;
  for (int batch = 0; batch < 4; ++batch) {
    std::string lines;
    for (int i = 0; i < 33; ++i) lines += fmt::format("line {:04}\n", 100 * batch + i);
    if (batch == 2) lines += std::string(200, 'x') + "\nshort\n";
    log.append(lines);
    all += lines;
  }
  std::string kept = text();
  EXPECT_LE(fs::file_size(path()), 100U);
  for (int number = 1; fs::exists(rotated(number)); ++number) {
    const std::string file = read_text(rotated(number));
    EXPECT_TRUE(file.size() <= 100 || file == std::string(200, 'x') + "\n") << file.size();
    EXPECT_GE(file.size(), 90U) << "no more files than needed";
    kept = file + kept;
  }
  EXPECT_EQ(kept, all);
  EXPECT_EQ(log.read_tail(1'000'000), all);
}

// LOG-2: a retry after an error continues where it stopped.
TEST_F(CombinedLogTest, batch_that_fails_halfway_resumes_with_the_rest) {
  CombinedLog log = open(1'000, 3);
  const std::string small = std::string(600, 'a') + "\n";
  const std::string large = std::string(5'000, 'b') + "\n";
  const std::string batch = small + large + small;
  std::string_view rest = batch;
  {
    const FileSizeLimit limit(4'096);
    EXPECT_EQ(code_of([&] { log.append(rest); }), "log.unwritable");
    EXPECT_EQ(rest, large + small);
  }
  log.append(rest);
  EXPECT_EQ(read_text(rotated(2)) + read_text(rotated(1)) + text(), batch);
}

TEST_F(CombinedLogTest, interrupted_rotation_loses_no_file) {
  scratch().write("combined.log", "now\n");
  scratch().write("combined.log.2", "older\n");
  scratch().write("combined.log.3", "oldest\n");
  open(5, 3).append("new\n");
  EXPECT_EQ(text(), "new\n");
  EXPECT_EQ(read_text(rotated(1)), "now\n");
  EXPECT_EQ(read_text(rotated(2)), "older\n");
  EXPECT_EQ(read_text(rotated(3)), "oldest\n");
}

TEST_F(CombinedLogTest, keeps_no_rotated_files_when_configured) {
  CombinedLog log = open(5, 0);
  log.append("one\n");
  log.append("two\n");
  EXPECT_EQ(text(), "two\n");
  EXPECT_FALSE(fs::exists(rotated(1)));
}

// LOG-2
TEST_F(CombinedLogTest, reopens_when_the_file_is_replaced) {
  CombinedLog log = open();
  log.append("one\n");
  fs::rename(path(), scratch().path() / "elsewhere");
  log.append("two\n");
  EXPECT_EQ(text(), "two\n");
  EXPECT_EQ(read_text(scratch().path() / "elsewhere"), "one\n");
  fs::remove(path());
  log.append("three\n");
  EXPECT_EQ(text(), "three\n");
  fs::remove(path());
  scratch().write("combined.log", "theirs\nto");
  log.append("four\n");
  EXPECT_EQ(text(), "theirs\nfour\n");
  fs::resize_file(path(), 0);
  log.append("five\n");
  EXPECT_EQ(text(), "five\n");
}

TEST_F(CombinedLogTest, failed_write_can_be_retried) {
  CombinedLog log = open();
  log.append("one\n");
  const std::string lines = "two\n" + std::string(5'000, 'x') + "\nthree\n";
  {
    const FileSizeLimit limit(4'096);
    EXPECT_EQ(code_of([&] { log.append(lines); }), "log.unwritable");
    EXPECT_EQ(text(), "one\n");
    EXPECT_EQ(code_of([&] { log.append(lines); }), "log.unwritable");
  }
  log.append(lines);
  EXPECT_EQ(text(), "one\n" + lines);
}

TEST_F(CombinedLogTest, unwritable_path_reports_an_error) {
  EXPECT_EQ(code_of([&] { CombinedLog(scratch().path(), {}); }), "log.unwritable");
  EXPECT_EQ(code_of([&] { CombinedLog(scratch().path() / "no/folder/log", {}); }), "log.unwritable");
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(code_of([&] { open(); }), "log.unwritable");
}

TEST_F(CombinedLogTest, recovers_when_its_folder_returns) {
  const fs::path folder = scratch().path() / "logs";
  fs::create_directory(folder);
  CombinedLog log(folder / "combined.log", {});
  log.append("one\n");
  fs::remove_all(folder);
  EXPECT_EQ(code_of([&] { log.append("two\n"); }), "log.unwritable");
  fs::create_directory(folder);
  log.append("two\n");
  EXPECT_EQ(read_text(folder / "combined.log"), "two\n");
}

TEST_F(CombinedLogTest, reads_the_last_whole_lines) {
  CombinedLog log = open(20, 3);
  EXPECT_EQ(log.read_tail(100), "");
  for (const std::string line : {"aaaaaaa\n", "bbbbbbb\n", "ccccccc\n", "ddddddd\n", "eeeeeee\n"}) log.append(line);
  // Two lines a file: aaa bbb, ccc ddd, eee.
  EXPECT_EQ(log.read_tail(8), "eeeeeee\n");
  EXPECT_EQ(log.read_tail(7), "");
  EXPECT_EQ(log.read_tail(0), "");
  EXPECT_EQ(log.read_tail(15), "eeeeeee\n");
  EXPECT_EQ(log.read_tail(16), "ddddddd\neeeeeee\n");
  EXPECT_EQ(log.read_tail(23), "ddddddd\neeeeeee\n");
  EXPECT_EQ(log.read_tail(24), "ccccccc\nddddddd\neeeeeee\n");
  EXPECT_EQ(log.read_tail(31), "ccccccc\nddddddd\neeeeeee\n");
  EXPECT_EQ(log.read_tail(32), "bbbbbbb\nccccccc\nddddddd\neeeeeee\n");
  EXPECT_EQ(log.read_tail(1000), "aaaaaaa\nbbbbbbb\nccccccc\nddddddd\neeeeeee\n");
}

// LOG-1
TEST_F(CombinedLogTest, a_killed_writer_leaves_whole_lines) {
  for (int round = 0; round < 5; ++round) {
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      CombinedLog log = open(8 << 20U, 2);
      std::string lines;
      while (lines.size() < 1'000'000) lines += "{" + std::string(100, 'x') + "}\n";
      while (true) log.append(lines);
    }
    while (!fs::exists(rotated(2))) ::sched_yield();
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    CombinedLog log = open(8 << 20U, 2);
    log.append("{}\n");
    const std::string last = text();
    for (const std::string_view line : base::split(std::string_view(last).substr(0, last.size() - 1), '\n')) {
      ASSERT_TRUE(line == "{}" || (line.size() == 102 && line.starts_with('{') && line.ends_with('}')));
    }
    fs::remove(rotated(2));
  }
}

}  // namespace
}  // namespace reeve::runtime
