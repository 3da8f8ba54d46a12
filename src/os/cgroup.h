#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "os/fd.h"

// A control group (v2) of its own for a tree of processes: the kernel ends all that is inside at once, and nothing gets
// out by forking. Only where the caller may make one.
namespace reeve::os {

class Cgroup {
 public:
  // Where this process may make groups: its own group of the v2 hierarchy, wherever that is mounted. Nothing when there
  // is none, it is not writable, or the kernel cannot kill groups (before 5.14).
  static std::optional<std::string> find_parent();

  // A new one beneath `parent`; nothing when it cannot be made.
  static std::optional<Cgroup> make(const std::string& parent, const std::string& name);
  // One that was made before, by whoever.
  static Cgroup at(const std::string& parent, const std::string& name) { return Cgroup(parent + "/" + name); }

  // Its folder, for SpawnPlan::group.
  Fd open() const noexcept;

  // Signals everything inside. False when it could not.
  bool kill() noexcept;
  bool is_empty() const;
  // Waits for the last to be gone; whether it is.
  bool wait_empty(std::chrono::milliseconds patience) const;
  // Only an empty one can be removed.
  bool remove() noexcept;
  const std::string& path() const noexcept { return path_; }

 private:
  explicit Cgroup(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace reeve::os
