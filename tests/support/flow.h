#pragma once

#include <string>

#include "tests/support/approvals.h"

namespace reeve::testing {

// Workflows whose tasks are shell scripts: the only tool is a shell, and the task's template is the script. A script
// can wait for the test through a file of the project: see held_until().
class FlowTest : public ApprovalsTest {
 protected:
  FlowTest();

  // A sequence of nodes, each a script; `human QUESTION` as the script makes a human node.
  struct Step {
    std::string id;
    std::string script;
  };
  static std::string chain(const std::string& id, const std::vector<Step>& steps);
  // Writes to .reeve/workflows; returns the path relative to the project.
  std::string write_workflow(const std::string& name, const std::string& yaml) const;
  // A script that ends once the file exists.
  static std::string held_until(const std::string& file);
  void release(const std::string& file) const { scratch().write("project/" + file, ""); }
  // `flow run --detach`; returns the id.
  std::string begin(const std::string& file, const Words& more = {}) const;
  // Waits for the end; returns the exit code of `reeve wait`.
  int wait_for(const std::string& id) const { return reeve({"wait", id}).code; }
};

}  // namespace reeve::testing
