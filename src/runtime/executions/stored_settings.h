#pragma once

#include <expected>
#include <functional>

#include "runtime/loop/runtime_context.h"
#include "runtime/settings/settings_cache.h"

namespace reeve::runtime {

// What executions were started with: from memory, from the state folder or, if they were started elsewhere, from the
// store. Lives on the loop.
class StoredSettings {
 public:
  using Place = SettingsCache::Place;
  using Answer = std::function<void(std::expected<Place, base::Error>)>;

  explicit StoredSettings(RuntimeContext& context) : context_(context) {}
  StoredSettings(const StoredSettings&) = delete;
  StoredSettings& operator=(const StoredSettings&) = delete;

  // For an execution that has just been started here.
  Place put(base::ExecutionId root, ExecutionSettings settings);
  // Errors: `execution.no_config`, `execution.not_found`, those of the store.
  void read(base::ExecutionId execution, Answer then);
  // The same, answered at once if the settings are in memory.
  void find(base::ExecutionId execution, const Answer& then);
  void forget(base::ExecutionId root) { cache_.erase(root); }

 private:
  enum class Origin { here, elsewhere };
  void adapt(ExecutionSettings& settings, Origin origin) const;

  RuntimeContext& context_;
  SettingsCache cache_;
};

}  // namespace reeve::runtime
