#include <array>
#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "store/file_check.h"
#include "tests/support/store/stores.h"

// Plain SQL of other programs, concurrent with the daemon's commits and checkpoints.
namespace reeve::store {
namespace {

using testing::read_column;
using testing::TestStore;

constexpr int rounds = 1'500;
// About twelve pages a commit, so that both sides checkpoint about every hundred commits.
constexpr const char* payload = "hex(randomblob(24000))";

// Another program: a separate process, SQLite's C API, default settings. Reports the number of successful commits.
[[noreturn]] void run_foreign_writer(const std::string& path, int say) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sqlite3* database = nullptr;
  int told = ::sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK ? 0 : -1;
  ::sqlite3_busy_timeout(database, 30'000);
  for (int i = 0; told >= 0 && i < rounds; ++i) {
    const std::string update = fmt::format("UPDATE theirs SET n = n + 1, text = {} WHERE id = {}", payload, i % 10);
    if (::sqlite3_exec(database, update.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) ++told;
  }
  const ssize_t written = ::write(say, &told, sizeof told);
  ::sqlite3_close(database);
  ::_exit(written == sizeof told ? 0 : 1);
}

// STO: no reported commit is lost, on either side, while both write and checkpoint.
TEST(ForeignCommits, sql_of_another_program_and_checkpoints_lose_no_commit) {
  const TestStore store(Place::Kind::file);
  const std::string path = store.place().where;
  store.open_writer()->run_script(
      "CREATE TABLE theirs (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, text TEXT) STRICT;"
      "CREATE TABLE ours (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, text TEXT) STRICT;"
      "WITH RECURSIVE ids(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM ids WHERE id < 9)"
      " INSERT INTO theirs SELECT id, 0, '' FROM ids;"
      "INSERT INTO ours SELECT id, 0, '' FROM theirs;");
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t writer = ::fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) run_foreign_writer(path, pipe[1]);
  ::close(pipe[1]);
  int ours = 0;
  {
    const auto session = store.open_writer();
    for (int i = 0; i < rounds; ++i) {
      session->begin();
      session->run_script(fmt::format("UPDATE ours SET n = n + 1, text = {} WHERE id = {}", payload, i % 10));
      session->commit();
      ++ours;
    }
  }
  int theirs = 0;
  ASSERT_EQ(::read(pipe[0], &theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
  ::close(pipe[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(theirs, rounds);
  EXPECT_EQ(read_column(*store.open_reader(), "SELECT CAST(sum(n) AS TEXT) FROM theirs"), fmt::format("{}\n", theirs));
  EXPECT_EQ(read_column(*store.open_reader(), "SELECT CAST(sum(n) AS TEXT) FROM ours"), fmt::format("{}\n", ours));
  const FileCheck check = check_file(path, std::chrono::seconds(30));
  EXPECT_EQ(check.health, FileHealth::sound) << check.detail;
}

}  // namespace
}  // namespace reeve::store
