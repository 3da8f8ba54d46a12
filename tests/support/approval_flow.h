#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/approvals.h"

namespace reeve::testing {

// Tools that ask, are answered and then do something that can be counted.
class ApprovalFlowTest : public ApprovalsTest {
 protected:
  // A FIFO that a tool waits on.
  class Gate {
   public:
    explicit Gate(const std::filesystem::path& path);
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    std::string path() const { return path_.string(); }
    // Lets the reader continue.
    void open() const;

   private:
    std::filesystem::path path_;
    int end_ = -1;
  };

  // Writes a shell script to the scratch folder; returns its path.
  std::string script(const std::string& name, const std::string& text) const;
  // In the background; returns the run's id.
  std::string start_command(const Words& command, const Words& options = {}) const;
  std::string start_tool(const std::string& tool, const Words& words = {}) const;
  std::string start_script(const std::string& text) const { return start_command({"sh", "-c", text}); }

  // Shell: prints a question with these additional members.
  static std::string ask_line(const std::string& more = {});
  // Shell: appends a line with the run and the attempt to the effects file.
  std::string effect_command(const std::string& word) const;
  // Shell: asks and exits; restarted with the answer it leaves its effect.
  std::string asks_then(const std::string& word, const std::string& more = {}) const;
  std::vector<std::string> effects() const;

  // The run's last question, and the number of its questions; on either store.
  std::string question_of(const std::string& run) const;
  int question_count(const std::string& run) const;

  // Whether the database refuses that statement.
  bool sql_error(const std::string& statement) const;

  // kill -9 for the daemon of the state folder; its guard, or the next command, starts another.
  void kill_daemon() const;
  // kill -9 for the keepers of runs and those of the pool.
  void kill_keepers() const;

 private:
  std::vector<std::string> questions_of(const std::string& run) const;
};

}  // namespace reeve::testing
