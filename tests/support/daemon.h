#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/json_line.h"
#include "tests/support/program.h"
#include "tests/support/session.h"

namespace reeve::testing {

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

// The fake agents, next to the built program.
std::string zoo_binary();

struct FoundProcess {
  pid_t pid = 0;
  // Separated by blanks.
  std::string command;
};

// Live processes whose command or environment contains that text.
std::vector<FoundProcess> find_processes(const std::string& text);
bool is_alive(pid_t pid);

std::vector<std::string> lines_of(std::string_view text);
int count_of(std::string_view text, std::string_view part);

// One project with its own state folder, and `reeve` driven from outside. At the end the daemon is stopped, and any
// remaining process of this folder fails the test.
class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest();
  void TearDown() override;

  // From now on `reeve` and its daemon run as an unprivileged user: the one who runs the tests, or another one instead
  // of root. The scratch folder is handed over to that user.
  void become_ordinary();
  // The command prefix that runs a program as that user.
  const Words& as_ordinary() const noexcept { return prefix_; }

  // The environment of `reeve`: HOME, PATH, LANG and REEVE_STATE, then `more`.
  Launch launch(const Words& words, const Variables& more = {}) const;
  Outcome reeve(const Words& words, const Variables& more = {}) const;
  // In the background.
  std::unique_ptr<Session> start(const Words& words, Session::Ends ends = Session::Ends::pipes,
                                 const Variables& more = {}) const;
  // `reeve run [options] -- reeve_zoo words`
  Outcome run(const Words& options, const Words& zoo_words) const;
  static Words run_words(const Words& options, const Words& zoo_words);
  // The same with --detach; returns the run's id.
  std::string detach(const Words& options, const Words& zoo_words) const;

  // The record from `reeve show --json`.
  Members show(const std::string& id) const;
  // Waits for its end.
  Members finish(const std::string& id) const;
  // Waits for that status; fails the test if it never comes.
  Members wait_for_status(const std::string& id, const std::string& status) const;
  std::string logs(const std::string& id) const;
  // Waits until the run has printed that.
  void wait_for_output(const std::string& id, const std::string& text) const;
  // combined.log, with each line checked to be one JSON object with an event and a time.
  std::vector<Members> combined_log() const;
  // The statuses of the run according to the log.
  std::vector<std::string> statuses_of(const std::string& id) const;

  // The project's config, used from the next run on and trusted if it is valid.
  void configure(const std::string& yaml) const;
  const std::filesystem::path& project() const noexcept { return project_; }
  std::filesystem::path state() const { return project_ / ".reeve/state"; }
  std::filesystem::path socket() const { return state() / "reeve.sock"; }
  const ScratchFolder& scratch() const noexcept { return scratch_; }
  std::vector<FoundProcess> processes() const { return find_processes(scratch_.path().string()); }
  // Only tools: neither keepers nor the daemon and its guard.
  std::vector<FoundProcess> tools() const;
  // The keeper that is stopped at a crash point (`stop:NAME`); SIGCONT resumes it.
  pid_t wait_for_stopped_keeper() const;

 private:
  void print_logs() const;

  ScratchFolder scratch_;
  std::filesystem::path project_;
  Words prefix_;
};

}  // namespace reeve::testing
