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

// The fake agents, beside the built program.
std::string zoo_binary();

struct FoundProcess {
  pid_t pid = 0;
  // With blanks between its words.
  std::string command;
};

// Living processes whose command or environment names that text.
std::vector<FoundProcess> find_processes(const std::string& text);
bool is_alive(pid_t pid);

std::vector<std::string> lines_of(std::string_view text);
int count_of(std::string_view text, std::string_view part);

// One project with a state folder of its own, and `reeve` driven in it from outside. At the end the daemon is stopped,
// and a process of this folder that is left fails the test.
class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest();
  void TearDown() override;

  // From now on `reeve` and its daemon run as a user without rights over the processes of others: the one who runs the
  // tests, or another in root's place. All that is in the scratch folder becomes that user's.
  void become_ordinary();
  // What comes before a command, so that it runs as that user.
  const Words& as_ordinary() const noexcept { return prefix_; }

  // What `reeve` gets: HOME, PATH, LANG and REEVE_STATE, then `more`.
  Launch launch(const Words& words, const Variables& more = {}) const;
  Outcome reeve(const Words& words, const Variables& more = {}) const;
  // In the background.
  std::unique_ptr<Session> start(const Words& words, Session::Ends ends = Session::Ends::pipes,
                                 const Variables& more = {}) const;
  // `reeve run [options] -- reeve_zoo words`
  Outcome run(const Words& options, const Words& zoo_words) const;
  static Words run_words(const Words& options, const Words& zoo_words);
  // The same with --detach: the run's id.
  std::string detach(const Words& options, const Words& zoo_words) const;

  // The record as `reeve show --json` has it.
  Members show(const std::string& id) const;
  // Waits for its end.
  Members finish(const std::string& id) const;
  // Waits until it has that status; fails the test when it never does.
  Members wait_for_status(const std::string& id, const std::string& status) const;
  std::string logs(const std::string& id) const;
  // Waits until the run has printed that.
  void wait_for_output(const std::string& id, const std::string& text) const;
  // combined.log, each line checked to be one JSON object with an event and a time.
  std::vector<Members> combined_log() const;
  // The statuses that the run went through, as the log tells them.
  std::vector<std::string> statuses_of(const std::string& id) const;

  // The project's config, in force from the next run on and trusted, as far as it is valid.
  void configure(const std::string& yaml) const;
  const std::filesystem::path& project() const noexcept { return project_; }
  std::filesystem::path state() const { return project_ / ".reeve/state"; }
  std::filesystem::path socket() const { return state() / "reeve.sock"; }
  const ScratchFolder& scratch() const noexcept { return scratch_; }
  std::vector<FoundProcess> processes() const { return find_processes(scratch_.path().string()); }
  // Of the tools alone: neither keepers nor the daemon and its guard.
  std::vector<FoundProcess> tools() const;
  // The keeper that stands still at a crash point (`stop:NAME`); SIGCONT lets it go on.
  pid_t wait_for_stopped_keeper() const;

 private:
  void print_logs() const;

  ScratchFolder scratch_;
  std::filesystem::path project_;
  Words prefix_;
};

}  // namespace reeve::testing
