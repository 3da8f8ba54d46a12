#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/value.h"
#include "client/daemon.h"

namespace reeve::cli {

// The scratch project of `reeve demo`: a temporary folder with a small program, tools that are shell scripts, and a
// daemon that shares neither config nor state with the user.
class DemoProject {
 public:
  // Throws `file.unwritable` if the folder cannot be created.
  DemoProject();
  // As `remove`, but ignores errors.
  ~DemoProject();
  DemoProject(const DemoProject&) = delete;
  DemoProject& operator=(const DemoProject&) = delete;

  const std::filesystem::path& folder() const noexcept { return folder_; }
  std::filesystem::path state() const { return folder_ / ".reeve/state"; }
  client::DaemonPlace place() const;

  // The body of POST /api/runs: one of the tools, in this folder.
  base::Value make_run_request(std::string_view tool, std::string_view prompt) const;
  // The body of POST /api/executions: the project's workflow.
  base::Value make_flow_request() const;

  // The files that the agent wants to change, staged and present; empty if there is no such file.
  static const std::vector<std::string>& changed_files();
  std::string read_present(const std::string& file) const;
  std::string read_staged(const std::string& file) const;

  // Ends all runs and stops the daemon; the folder is kept.
  void keep();
  // The same, and removes the folder. Throws if something cannot be removed.
  void remove();

 private:
  void end_everything();

  std::filesystem::path folder_;
  bool is_over_ = false;
};

}  // namespace reeve::cli
