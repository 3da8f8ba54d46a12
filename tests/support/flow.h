#pragma once

#include <string>

#include "tests/support/approvals.h"

namespace reeve::testing {

// Workflows whose tasks are shell scripts: the only tool is a shell, the task's template is what it runs. `$1`, as a
// file of the project, lets a script wait for the test: see held_until().
class FlowTest : public ApprovalsTest {
 protected:
  FlowTest();

  // One node after the other, each a script; `human` as the script of a node that asks, with the question behind it.
  struct Step {
    std::string id;
    std::string script;
  };
  static std::string chain(const std::string& id, const std::vector<Step>& steps);
  // Into .reeve/workflows; its path from the project.
  std::string write_workflow(const std::string& name, const std::string& yaml) const;
  // A script that ends when the file is there.
  static std::string held_until(const std::string& file);
  void release(const std::string& file) const { scratch().write("project/" + file, ""); }
  // `flow run --detach`: its id.
  std::string begin(const std::string& file, const Words& more = {}) const;
  // Waits for its end: the exit code of `reeve wait`.
  int wait_for(const std::string& id) const { return reeve({"wait", id}).code; }
};

}  // namespace reeve::testing
