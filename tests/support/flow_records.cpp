#include "tests/support/flow_records.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include <gtest/gtest.h>

namespace reeve::testing {

namespace {

int number(const Members& members, const std::string& key, int otherwise) {
  const std::string text = member(members, key);
  return text.empty() ? otherwise : std::atoi(text.c_str());
}

StoredNode read_node(const Members& record) {
  return {.id = member(record, "node_id"),
          .type = member(record, "type"),
          .status = member(record, "status"),
          .error = member(record, "error"),
          .run = member(record, "tool_run_id"),
          .iteration = number(record, "iteration", 0),
          .attempt = number(record, "attempt", 0)};
}

StoredRun read_run(const Members& record) {
  const Members more = parse_object(member(record, "metadata")).value_or(Members());
  return {.id = member(record, "tool_run_id"),
          .node = member(record, "node_id"),
          .status = member(record, "status"),
          .reason = member(record, "reason"),
          .exit_code = member(record, "exit_code"),
          .attempt = number(record, "attempt", 0),
          .iteration = number(more, "iteration", 0),
          .node_attempt = number(more, "node_attempt", 1),
          .round = number(more, "round", 0),
          .gate = member(more, "gate")};
}

bool is_final(const StoredRun& run) {
  return run.status == "completed" || run.status == "failed" || run.status == "failed_timeout" ||
         run.status == "cancelled";
}

// One attempt of a run, according to the ledger.
struct Effect {
  int begun = 0;
  int ended = 0;
  int code = -1;
};
using Effects = std::map<std::pair<std::string, int>, Effect>;

Effects gather(const std::vector<LedgerLine>& ledger) {
  Effects effects;
  for (const LedgerLine& line : ledger) {
    Effect& effect = effects[{line.run, line.attempt}];
    if (line.is_end) {
      ++effect.ended;
      effect.code = line.code;
    } else {
      ++effect.begun;
    }
  }
  return effects;
}

void check_run(const StoredRun& run, Effects& effects) {
  for (int attempt = 1; attempt <= run.attempt; ++attempt) {
    const Effect effect = effects[{run.id, attempt}];
    EXPECT_LE(effect.begun, 1) << run.id << " attempt " << attempt << " began twice";
    EXPECT_LE(effect.ended, effect.begun) << run.id << " attempt " << attempt;
  }
  EXPECT_EQ((effects[{run.id, run.attempt + 1}].begun), 0) << run.id << " had an attempt that nobody knows of";
  const Effect last = effects[{run.id, run.attempt}];
  const bool has_ended = run.status == "completed" || (run.status == "failed" && !run.exit_code.empty());
  if (!has_ended) return;
  EXPECT_EQ(last.ended, 1) << run.id << " is " << run.status << ", and its effect is missing";
  EXPECT_EQ(std::to_string(last.code), run.exit_code.empty() ? "0" : run.exit_code) << run.id;
}

void check_node(const StoredExecution& execution, const StoredNode& node) {
  const std::string where = execution.id + " " + node.id + " iteration " + std::to_string(node.iteration);
  if (node.status != "completed" || (node.type != "task" && node.type != "gate")) return;
  std::vector<const StoredRun*> own;
  for (const StoredRun& run : execution.runs) {
    const bool is_its =
        run.node == node.id && run.iteration == node.iteration && (run.gate.empty() || node.type == "gate");
    if (is_its && run.node_attempt == node.attempt) own.push_back(&run);
    // GRF-14: earlier attempts were retried because they failed.
    if (is_its && run.node_attempt < node.attempt) EXPECT_NE(run.status, "completed") << where << " " << run.id;
  }
  // A built-in task has no run; its gates may have.
  const auto is_gate = [&](const StoredRun& run) { return run.id == node.run && !run.gate.empty(); };
  if (own.empty() && (node.run.empty() || std::ranges::any_of(execution.runs, is_gate))) return;
  ASSERT_FALSE(own.empty()) << where << " completed without a run";
  const StoredRun& last = **std::ranges::max_element(own, {}, [](const StoredRun* run) { return run->round; });
  EXPECT_EQ(last.id, node.run) << where;
  if (node.type == "task") EXPECT_EQ(last.status, "completed") << where << " " << last.id;
  for (int attempt = 1; attempt < node.attempt; ++attempt) {
    const auto is_it = [&](const StoredRun& run) {
      return run.node == node.id && run.iteration == node.iteration && run.node_attempt == attempt;
    };
    EXPECT_TRUE(std::ranges::any_of(execution.runs, is_it)) << where << ": nothing is known of attempt " << attempt;
  }
}

void check_execution(const StoredExecution& execution, Effects& effects) {
  std::map<std::tuple<std::string, int, int, int, std::string>, std::string> begun;
  for (const StoredRun& run : execution.runs) {
    const auto [before, is_new] =
        begun.try_emplace({run.node, run.iteration, run.node_attempt, run.round, run.gate}, run.id);
    EXPECT_TRUE(is_new) << execution.id << " " << run.node << " was begun as " << before->second << " and as "
                        << run.id;
    if (execution.is_over()) EXPECT_TRUE(is_final(run)) << execution.id << " is over, " << run.id << " " << run.status;
    check_run(run, effects);
  }
  std::set<std::pair<std::string, int>> seen;
  for (const StoredNode& node : execution.nodes) {
    EXPECT_TRUE(seen.emplace(node.id, node.iteration).second)
        << execution.id << " has iteration " << node.iteration << " of " << node.id << " twice";
    check_node(execution, node);
    const bool lives = node.status == "ready" || node.status == "running" || node.status == "waiting_approval";
    if (execution.is_over()) EXPECT_FALSE(lives) << execution.id << " is over, " << node.id << " " << node.status;
  }
}

}  // namespace

bool StoredExecution::has_live_run() const {
  return !std::ranges::all_of(runs, [](const StoredRun& run) { return is_final(run); });
}

std::string member(const Members& members, const std::string& key) {
  const auto found = members.find(key);
  return found == members.end() || found->second == "null" ? "" : found->second;
}

std::vector<Members> objects(const std::string& array) {
  std::vector<Members> all;
  const auto elements = parse_array(array);
  EXPECT_TRUE(elements) << array.substr(0, 300);
  for (const std::string& element : elements.value_or(std::vector<std::string>())) {
    all.push_back(parse_object(element).value_or(Members()));
  }
  return all;
}

std::vector<LedgerLine> read_ledger(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<LedgerLine> lines;
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    LedgerLine line;
    std::string kind;
    words >> kind >> line.word >> line.execution >> line.node >> line.run >> line.attempt >> line.code;
    line.is_end = kind == "end";
    EXPECT_TRUE(words && (line.is_end || kind == "begin")) << text;
    lines.push_back(line);
  }
  return lines;
}

StoredExecution read_execution(const std::string& record, const std::string& history) {
  const Members head = parse_object(record).value_or(Members());
  const Members past = parse_object(history).value_or(Members());
  StoredExecution execution{.id = member(head, "execution_id"),
                            .workflow = member(head, "workflow_name"),
                            .label = member(head, "label"),
                            .status = member(head, "status"),
                            .reason = member(head, "reason"),
                            .nodes = {},
                            .runs = {}};
  for (const Members& node : objects(member(past, "iterations"))) execution.nodes.push_back(read_node(node));
  for (const Members& node : objects(member(head, "nodes"))) execution.nodes.push_back(read_node(node));
  for (const Members& run : objects(member(past, "runs"))) execution.runs.push_back(read_run(run));
  return execution;
}

void expect_agreement(const std::vector<StoredExecution>& executions, const std::vector<LedgerLine>& ledger) {
  Effects effects = gather(ledger);
  std::map<std::string, std::pair<std::string, std::string>> known;
  for (const StoredExecution& execution : executions) {
    check_execution(execution, effects);
    for (const StoredRun& run : execution.runs) known[run.id] = {execution.id, run.node};
  }
  for (const LedgerLine& line : ledger) {
    const auto found = known.find(line.run);
    ASSERT_NE(found, known.end()) << line.run << " had an effect, and the store does not know it";
    EXPECT_EQ(found->second, std::pair(line.execution, line.node)) << line.run;
  }
}

}  // namespace reeve::testing
