#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/approval_flow.h"

namespace reeve::testing {

// Agents that ask on their run's socket before they act, and people who answer.
class ToolCallsTest : public ApprovalFlowTest {
 protected:
  // The tool `agent` runs a shell script. `probe` is allowed, `forbidden` denied, `ask_me` asks a person.
  ToolCallsTest();
  static std::string agent_config(const std::string& profile = ", resume: live", const std::string& rules = {},
                                  const std::string& more = {});

  // A detached run of the script with these functions; returns its id.
  //   call ID TOOL ARGUMENTS …   asks, waits and prints the answer
  //   act ID TOOL ARGUMENTS …    the same; allowed, it leaves a line in the file of effects
  //   get TARGET, post TARGET BODY   any request on the run's socket
  //   wait_file NAME             waits until that file is in the project's folder
  std::string begin(const std::string& script, const std::string& tool = "agent") const;
  // In the foreground; returns what it printed.
  std::string say(const std::string& script, const std::string& tool = "agent") const;
  std::string functions() const;
  // As much of a git repository in the project's folder as git needs.
  void make_repository() const;
  // Creates a file in the project's folder.
  void let(const std::string& name) const { scratch().write("project/" + name, ""); }

  // The calls of a run, in the order in which they were made.
  std::vector<Members> calls_of(const std::string& run) const;
  // Nothing if there is no such run, perhaps not yet.
  std::optional<std::vector<Members>> find_calls_of(const std::string& run) const;
  // The newest call with the agent's id.
  Members call_of(const std::string& run, const std::string& native_id) const;
  // Waits until that many calls of the run wait for a person; returns them.
  std::vector<Members> wait_for_waiting(const std::string& run, std::size_t count) const;
  // The approval of the only waiting call.
  std::string wait_for_question(const std::string& run) const;

  // A daemon that dies at this crash point.
  std::unique_ptr<Session> serve_until(const std::string& point) const;
  static void expect_killed(Session& daemon, const std::string& point);

  // Shell: a line with this word in the file of effects.
  std::string effect(const std::string& word) const;
  // One word of a shell command.
  static std::string quoted(const std::string& text);

  Outcome approve(const std::string& id, const Words& more = {}) const;
  Outcome reject(const std::string& id, const Words& more = {}) const;

  // The ids of the calls that were executed, sorted.
  std::vector<std::string> executed() const;
  // The names of the events about a run so far.
  int count_events(const std::string& run, const std::string& event) const;
  void expect_audit_intact() const;

  // Waits for the end of a run that must succeed.
  void expect_completed(const std::string& run) const;
};

}  // namespace reeve::testing
