#include "tests/support/approval_flow.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sqlite3.h>

namespace reeve::testing {

ApprovalFlowTest::Gate::Gate(const std::filesystem::path& path) : path_(path) {
  std::filesystem::remove(path_);
  EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  // Opened for reading and writing: opening does not block, and written data stays until it is read.
  end_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_GE(end_, 0);
}

ApprovalFlowTest::Gate::~Gate() { ::close(end_); }

void ApprovalFlowTest::Gate::open() const { EXPECT_EQ(::write(end_, "x\n", 2), 2); }

std::string ApprovalFlowTest::script(const std::string& name, const std::string& text) const {
  return scratch().write(name, text + "\n").string();
}

std::string ApprovalFlowTest::start_command(const Words& command, const Words& options) const {
  Words words = {"run", "--detach"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  const Outcome started = reeve(words);
  EXPECT_EQ(started.code, 0) << started.err;
  return started.out.substr(0, started.out.find('\n'));
}

std::string ApprovalFlowTest::start_tool(const std::string& tool, const Words& words) const {
  return start_command(words, {"--tool", tool});
}

std::string ApprovalFlowTest::ask_line(const std::string& more) {
  return fmt::format(R"(echo '{{"event":"approval_needed","question":"Go on?"{}}}')", more);
}

std::string ApprovalFlowTest::effect_command(const std::string& word) const {
  return fmt::format("'{}' effect '{}' {} >/dev/null", zoo_binary(), (scratch().path() / "effects").string(), word);
}

std::string ApprovalFlowTest::asks_then(const std::string& word, const std::string& more) const {
  return fmt::format(R"(if [ -n "$REEVE_APPROVAL_ID" ]; then {}; exit 0; fi; {}; exit 90)", effect_command(word),
                     ask_line(more));
}

std::vector<std::string> ApprovalFlowTest::effects() const {
  std::ifstream file(scratch().path() / "effects");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> ApprovalFlowTest::questions_of(const std::string& run) const {
  std::vector<std::string> ids;
  const Outcome listed = reeve({"approvals", "--all", "--limit", "1000"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  for (const std::string& line : lines_of(listed.out)) {
    if (line.contains(" " + run + "\t")) ids.push_back(line.substr(0, line.find('\t')));
  }
  return ids;
}

std::string ApprovalFlowTest::question_of(const std::string& run) const {
  const std::vector<std::string> ids = questions_of(run);
  EXPECT_FALSE(ids.empty()) << run << " has asked nothing";
  return ids.empty() ? "AP-0" : ids.front();
}

int ApprovalFlowTest::question_count(const std::string& run) const {
  return static_cast<int>(questions_of(run).size());
}

bool ApprovalFlowTest::sql_error(const std::string& statement) const {
  sqlite3* database = nullptr;
  const std::string path = state() / "reeve.db";
  EXPECT_EQ(::sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
  ::sqlite3_busy_timeout(database, 10'000);
  const int code = ::sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr);
  ::sqlite3_close(database);
  return (code & 0xff) == SQLITE_CONSTRAINT;
}

void ApprovalFlowTest::kill_daemon() const {
  std::ifstream file(state() / "reeve.lock");
  pid_t pid = 0;
  file >> pid;
  ASSERT_GT(pid, 0);
  ::kill(pid, SIGKILL);
}

void ApprovalFlowTest::kill_keepers() const {
  for (const FoundProcess& process : processes()) {
    if (process.command.contains("reeve-keeper hold")) ::kill(process.pid, SIGKILL);
  }
}

}  // namespace reeve::testing
