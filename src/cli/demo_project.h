#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/value.h"
#include "client/daemon.h"

namespace reeve::cli {

// The project in which `reeve demo` plays: a folder of its own with a small program, two tools that are shell scripts,
// and a daemon that shares neither config nor state with anything of the person.
class DemoProject {
 public:
  // Throws `file.unwritable` when there is no room for it.
  DemoProject();
  // As `remove`, and whatever goes wrong is passed over.
  ~DemoProject();
  DemoProject(const DemoProject&) = delete;
  DemoProject& operator=(const DemoProject&) = delete;

  const std::filesystem::path& folder() const noexcept { return folder_; }
  std::filesystem::path state() const { return folder_ / ".reeve/state"; }
  client::DaemonPlace place() const;

  // The body of POST /api/runs: one of the tools, in this folder.
  base::Value make_wish(std::string_view tool, std::string_view prompt) const;
  // The body of POST /api/executions: the project's workflow.
  base::Value make_flow_wish() const;

  // What the agent wants to change, and how the project has it now; empty when there is no such file.
  static const std::vector<std::string>& changed_files();
  std::string read_present(const std::string& file) const;
  std::string read_staged(const std::string& file) const;

  // Ends what runs and stops the daemon; the folder stays from then on.
  void keep();
  // The same, and the folder goes too. Throws when something is left.
  void remove();

 private:
  void end_everything();

  std::filesystem::path folder_;
  bool is_over_ = false;
};

}  // namespace reeve::cli
