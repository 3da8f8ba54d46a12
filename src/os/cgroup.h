#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "os/fd.h"

// A cgroup (v2) for one process tree: the kernel kills everything inside at once, and forking does not escape it.
// Available only where the caller may create cgroups.
namespace reeve::os {

class Cgroup {
 public:
  // The folder in which this process may create cgroups: its own cgroup in the v2 hierarchy, wherever that is mounted.
  // Nullopt if there is none, it is not writable, or the kernel cannot kill cgroups (before 5.14).
  static std::optional<std::string> find_parent();

  // Creates a cgroup below `parent`; nullopt on failure.
  static std::optional<Cgroup> make(const std::string& parent, const std::string& name);
  // An existing cgroup.
  static Cgroup at(const std::string& parent, const std::string& name) { return Cgroup(parent + "/" + name); }

  // Opens its folder, for SpawnPlan::group.
  Fd open() const noexcept;

  // Sends SIGKILL to all processes inside. False on failure.
  bool kill() noexcept;
  bool is_empty() const;
  // Waits until the cgroup is empty; returns whether it is.
  bool wait_empty(std::chrono::milliseconds timeout) const;
  // Only an empty cgroup can be removed.
  bool remove() noexcept;
  const std::string& path() const noexcept { return path_; }

 private:
  explicit Cgroup(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace reeve::os
