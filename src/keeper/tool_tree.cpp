#include "keeper/tool_tree.h"

#include <csignal>
#include <unistd.h>

#include "os/pseudo_file.h"

namespace reeve::keeper {

namespace {

constexpr std::chrono::milliseconds freeze_timeout{2'000};

std::string describe(const os::ProcessId& id) {
  std::string name = os::read_pseudo_file(os::proc_path(id.pid, "comm").c_str(), 64);
  while (name.ends_with('\n')) name.pop_back();
  return std::to_string(id.pid) + " " + name;
}

}  // namespace

ToolTree::ToolTree(const std::string& cgroup_parent, const std::string& name) {
  if (!cgroup_parent.empty()) group_ = os::Cgroup::make(cgroup_parent, name);
}

ToolTree::~ToolTree() {
  if (group_) group_->remove();
}

std::expected<os::Process, os::SpawnFailure> ToolTree::spawn(os::SpawnPlan plan) {
  const os::Fd folder = group_ ? group_->open() : os::Fd();
  if (folder) {
    plan.group = folder.get();
    auto process = os::spawn(plan);
    if (process || process.error().stage != os::SpawnFailure::Stage::group) return process;
    plan.group = -1;
  }
  // A cgroup in which no process can be started is useless.
  if (group_) group_->remove();
  group_.reset();
  return os::spawn(plan);
}

void ToolTree::terminate() {
  os::signal_descendants(::getpid(), SIGTERM);
  os::signal_descendants(::getpid(), SIGCONT);
  stopped_.clear();
}

std::size_t ToolTree::freeze() { return os::stop_descendants(::getpid(), freeze_timeout, stopped_); }

void ToolTree::thaw() {
  os::continue_stopped(stopped_);
  stopped_.clear();
}

bool ToolTree::is_empty() const { return !os::has_children() || os::find_descendants(::getpid()).empty(); }

ToolTree::End ToolTree::kill(std::chrono::milliseconds timeout, pid_t keep) {
  End end;
  os::collect_children(keep);
  if (!os::has_children() && (!group_ || group_->is_empty())) return end;
  for (const os::ProcessId& id : os::find_descendants(::getpid())) {
    if (id.pid != keep) end.names.push_back(describe(id));
  }
  if (group_) group_->kill();
  const os::TreeEnd walked = os::kill_descendants(timeout, keep);
  end.is_gone = walked.is_gone;
  if (group_ && !group_->wait_empty(timeout)) end.is_gone = false;
  return end;
}

}  // namespace reeve::keeper
