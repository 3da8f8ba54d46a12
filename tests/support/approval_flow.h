#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/approvals.h"

namespace reeve::testing {

// Tools that ask, are answered and then do something that can be counted.
class ApprovalFlowTest : public ApprovalsTest {
 protected:
  // A pipe that a tool waits at.
  class Gate {
   public:
    explicit Gate(const std::filesystem::path& path);
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    std::string path() const { return path_.string(); }
    // Whoever reads there goes on.
    void open() const;

   private:
    std::filesystem::path path_;
    int end_ = -1;
  };

  // A shell script in the scratch folder: its path.
  std::string script(const std::string& name, const std::string& text) const;
  // In the background: the run's id.
  std::string start_command(const Words& command, const Words& options = {}) const;
  std::string start_tool(const std::string& tool, const Words& words = {}) const;
  std::string start_script(const std::string& text) const { return start_command({"sh", "-c", text}); }

  // Shell: prints a question with these members more.
  static std::string ask_line(const std::string& more = {});
  // Shell: one line in the file of effects, with the run and the attempt.
  std::string effect_command(const std::string& word) const;
  // Shell: asks and leaves; started on the answer it leaves its effect.
  std::string asks_then(const std::string& word, const std::string& more = {}) const;
  std::vector<std::string> effects() const;

  // What the run has asked last, and how often it has asked; on either store.
  std::string question_of(const std::string& run) const;
  int question_count(const std::string& run) const;

  // Whether the database refuses that statement.
  bool sql_error(const std::string& statement) const;

  // kill -9 of the one that has the state folder; its guard, or the next command, starts another.
  void kill_daemon() const;
  // kill -9: those that hold runs, and the pool's.
  void kill_keepers() const;

 private:
  std::vector<std::string> questions_of(const std::string& run) const;
};

}  // namespace reeve::testing
