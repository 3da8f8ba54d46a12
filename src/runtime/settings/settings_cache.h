#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>

#include "runtime/settings/execution_settings.h"

namespace reeve::runtime {

// A cache of execution settings. Equal settings are stored once: most executions of a project start with the same
// config and environment. Limited in executions and in distinct settings; evicted entries are read again.
class SettingsCache {
 public:
  using Shared = std::shared_ptr<const ExecutionSettings>;
  struct Place {
    Shared settings;
    base::ExecutionId root{0};
  };

  // Returns an equal settings object that is still in use, or else this one.
  Shared share(ExecutionSettings settings);
  const Place& put(base::ExecutionId execution, Place place);
  // The result is valid until the next put() or erase().
  const Place* find(base::ExecutionId execution) const;
  void erase(base::ExecutionId execution) { places_.erase(execution); }

  static constexpr std::size_t max_places = 1'024;
  static constexpr std::size_t max_settings = 16;

 private:
  // Distinct settings that are in use somewhere.
  std::deque<std::weak_ptr<const ExecutionSettings>> settings_cache_;
  std::map<base::ExecutionId, Place> places_;
};

}  // namespace reeve::runtime
