#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/json_line.h"

// Executions as the API returns them, and the ledger of effects that only the tools write.
namespace reeve::testing {

// A line of `reeve_zoo step`.
struct LedgerLine {
  bool is_end = false;
  std::string word;
  std::string execution;
  std::string node;
  std::string run;
  int attempt = 0;
  // For an end line.
  int code = 0;
};
std::vector<LedgerLine> read_ledger(const std::filesystem::path& path);

struct StoredRun {
  std::string id;
  std::string node;
  std::string status;
  std::string reason;
  std::string exit_code;
  int attempt = 0;
  // Of its node, and the round of its gates.
  int iteration = 0;
  int node_attempt = 1;
  int round = 0;
  // Empty for the task's own run.
  std::string gate;
};

struct StoredNode {
  std::string id;
  std::string type;
  std::string status;
  std::string error;
  std::string run;
  int iteration = 0;
  int attempt = 0;
};

struct StoredExecution {
  std::string id;
  std::string workflow;
  std::string label;
  std::string status;
  std::string reason;
  // Archived iterations of loops before the current nodes.
  std::vector<StoredNode> nodes;
  std::vector<StoredRun> runs;

  bool is_over() const { return status == "completed" || status == "failed" || status == "cancelled"; }
  bool has_live_run() const;
};
// From the record and the history of the API.
StoredExecution read_execution(const std::string& record, const std::string& history);

// The text of a member; empty if it is null or missing.
std::string member(const Members& members, const std::string& key);
// The objects of an array.
std::vector<Members> objects(const std::string& array);

// GRF-13, GRF-14: each attempt of a node began once, and each attempt of a run had its effect once; completed steps
// really happened, and nothing happened that the store does not know. Fails the test otherwise.
void expect_agreement(const std::vector<StoredExecution>& executions, const std::vector<LedgerLine>& ledger);

}  // namespace reeve::testing
