#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/approval_flow.h"

namespace reeve::testing {

// The elements of a JSON list, each as written.
std::vector<std::string> elements_of(std::string_view list);

// Workflows in the daemon, seen from outside. The config starts with the tool `shell`, whose prompt is a script, and a
// role of the same name; scripts leave marks in the effects file (`$EFFECTS`).
class ScriptedFlowTest : public ApprovalFlowTest {
 protected:
  ScriptedFlowTest();

  // Config sections in addition to the tool and the role `shell`: more of both, gates, supervision.
  struct Settings {
    std::string tools = {};
    std::string roles = {};
    std::string gates = {};
    std::string more = {};
  };
  void settle(const Settings& settings) const;

  // A task of the role `shell` with braces in the script escaped; `more` are keys of its task_config.
  static std::string shell(const std::string& node, const std::string& script, const std::string& more = {});
  static std::string node(const std::string& id, const std::string& type_and_config);
  // "a>b, b>c": edges in order; `more` are additional lines.
  static std::string edges(const std::string& arrows, const std::string& more = {});
  // A workflow whose entry is its first node.
  static std::string workflow(const std::string& nodes, const std::string& edges, const std::string& config = {});

  // Makes the project a git repository, its files committed.
  void make_repository() const;

  // Writes it next to the project's config; returns its path.
  std::string write_flow(const std::string& yaml, const std::string& name = "flow.yaml") const;
  // Runs it to its end or first question; returns the record.
  Members run_flow(const std::string& yaml, const Words& more = {}) const;
  // In the background; returns the execution's id.
  std::string start_flow(const std::string& yaml, const Words& more = {}, const Variables& variables = {}) const;
  // The result of a start that is refused.
  Outcome refuse_flow(const std::string& yaml, const Words& more = {}) const;

  Members execution(const std::string& id) const;
  Members end_of(const std::string& id) const;
  Members wait_for_execution(const std::string& id, const std::string& status) const;
  // A node of a record, and its outputs.
  static Members node_of(const Members& execution, const std::string& node);
  static Members outputs_of(const Members& execution, const std::string& node);
  static std::string status_of(const Members& execution, const std::string& node);
  Members wait_for_node(const std::string& id, const std::string& node, const std::string& status) const;
  // The runs, iterations or approvals of `flow show --json --history`.
  std::vector<Members> history(const std::string& id, const std::string& part) const;
  // Waits for a question of one of its runs; returns its id.
  std::string wait_for_question(const std::string& id) const;
  // The id of the pending question of that node.
  std::string question_at(const std::string& id, const std::string& node) const;

  // Shell: appends a line to the effects.
  static std::string mark(const std::string& word) { return "echo " + word + " >>$EFFECTS"; }
  int effect_count(const std::string& line) const;
  // The maximum number of "+" lines without their "-".
  int max_at_once() const;
  std::filesystem::path effects_file() const { return scratch().path() / "effects"; }
};

}  // namespace reeve::testing
