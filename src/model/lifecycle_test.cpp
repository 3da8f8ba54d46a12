#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "base/text.h"
#include "model/agent.h"
#include "model/approval.h"
#include "model/execution.h"
#include "model/patch.h"
#include "model/run.h"
#include "model/task.h"
#include "tests/support/files.h"

namespace reeve::model {
namespace {

// A table of docs/LIFECYCLES.md: row and column to cell.
using Matrix = std::map<std::pair<std::string, std::string>, std::string>;

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (const std::string_view cell : base::split(line, '|')) cells.emplace_back(base::trim(cell));
  // The parts before the first and after the last bar are empty.
  if (cells.size() >= 2) {
    cells.erase(cells.begin());
    cells.pop_back();
  }
  return cells;
}

Matrix read_matrix(const std::string& heading) {
  static const std::string document = testing::read_text(testing::source_folder() / "docs/LIFECYCLES.md");
  const std::size_t start = document.find("\n## " + heading + "\n");
  EXPECT_NE(start, std::string::npos) << heading;
  const std::size_t end = document.find("\n## ", start + 1);
  std::vector<std::string> columns;
  Matrix matrix;
  for (const std::string_view line : base::split(document.substr(start, end - start), '\n')) {
    if (!line.starts_with('|') || line.starts_with("|--")) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    for (std::size_t i = 1; i < cells.size(); ++i) matrix[{cells[0], columns[i]}] = cells[i];
  }
  return matrix;
}

// Compares every pair of states in the code with the documentation.
template <class Status>
void expect_documented(const std::string& heading) {
  const Matrix matrix = read_matrix(heading);
  const auto names = base::names_of<Status>();
  EXPECT_EQ(matrix.size(), names.size() * names.size());
  for (const auto& from : names) {
    for (const auto& to : names) {
      const auto cell = matrix.find({std::string(from.name), std::string(to.name)});
      ASSERT_NE(cell, matrix.end()) << heading << ": " << from.name << " → " << to.name << " is not in the table";
      EXPECT_EQ(can_move(from.value, to.value), cell->second == "yes")
          << heading << ": " << from.name << " → " << to.name;
    }
  }
}

TEST(Lifecycle, run_transitions_match_the_docs) { expect_documented<RunStatus>("Run"); }                    // RUN-2
TEST(Lifecycle, approval_transitions_match_the_docs) { expect_documented<ApprovalStatus>("Approval"); }     // APR-2
TEST(Lifecycle, grant_transitions_match_the_docs) { expect_documented<ApprovalUse>("Grant"); }              // APR-7
TEST(Lifecycle, execution_transitions_match_the_docs) { expect_documented<ExecutionStatus>("Execution"); }  // GRF-7
TEST(Lifecycle, node_transitions_match_the_docs) { expect_documented<NodeStatus>("Node"); }                 // GRF-4
TEST(Lifecycle, task_transitions_match_the_docs) { expect_documented<TaskStatus>("Task"); }                 // ORC-6
TEST(Lifecycle, patch_transitions_match_the_docs) { expect_documented<PatchState>("Patch"); }               // ISO-4

// AGT-1
TEST(Lifecycle, agent_transitions_match_the_docs) {
  const Matrix matrix = read_matrix("Agent");
  std::size_t transitions = 0;
  for (const auto& from : base::names_of<AgentState>()) {
    for (const auto& event : base::names_of<AgentEvent>()) {
      const auto cell = matrix.find({std::string(from.name), std::string(event.name)});
      ASSERT_NE(cell, matrix.end()) << from.name << " + " << event.name << " is not in the table";
      const auto to = transition(from.value, event.value);
      EXPECT_EQ(to ? std::string(base::spell(*to)) : "–", cell->second) << from.name << " + " << event.name;
      EXPECT_EQ(can_transition(from.value, event.value), to.has_value());
      transitions += to ? 1U : 0U;
    }
  }
  EXPECT_EQ(base::names_of<AgentState>().size(), 7);
  EXPECT_EQ(base::names_of<AgentEvent>().size(), 7);
  EXPECT_EQ(transitions, 11);
}

// RUN-2
TEST(Lifecycle, exactly_four_run_statuses_are_final) {
  std::vector<std::string> final;
  for (const auto& status : base::names_of<RunStatus>()) {
    if (is_final(status.value)) final.emplace_back(status.name);
  }
  EXPECT_EQ(final, (std::vector<std::string>{"completed", "failed", "failed_timeout", "cancelled"}));
}

TEST(Lifecycle, no_status_moves_to_itself) {
  for (const auto& status : base::names_of<RunStatus>()) EXPECT_FALSE(can_move(status.value, status.value));
  for (const auto& status : base::names_of<NodeStatus>()) EXPECT_FALSE(can_move(status.value, status.value));
}

// AGT-1: a death while paused is resume, then fail.
TEST(Lifecycle, paused_agent_must_resume_before_it_fails) {
  EXPECT_FALSE(can_transition(AgentState::paused, AgentEvent::fail));
  const auto active = transition(AgentState::paused, AgentEvent::resume);
  ASSERT_TRUE(active);
  EXPECT_EQ(transition(*active, AgentEvent::fail), AgentState::failed);
}

}  // namespace
}  // namespace reeve::model
