#include "runtime/settings/settings_cache.h"

#include <utility>

namespace reeve::runtime {

SettingsCache::Shared SettingsCache::share(ExecutionSettings settings) {
  const auto forget_dead = [&] { std::erase_if(settings_cache_, [](const auto& one) { return one.expired(); }); };
  forget_dead();
  for (const auto& one : settings_cache_) {
    const Shared alike = one.lock();
    if (alike && *alike == settings) return alike;
  }
  if (settings_cache_.size() >= max_settings) {
    places_.clear();
    forget_dead();
  }
  // The rest are held by running work, so the oldest is no longer shared.
  if (settings_cache_.size() >= max_settings) settings_cache_.pop_front();
  auto made = std::make_shared<const ExecutionSettings>(std::move(settings));
  settings_cache_.push_back(made);
  return made;
}

const SettingsCache::Place& SettingsCache::put(base::ExecutionId execution, Place place) {
  if (places_.size() >= max_places) places_.clear();
  return places_.insert_or_assign(execution, std::move(place)).first->second;
}

const SettingsCache::Place* SettingsCache::find(base::ExecutionId execution) const {
  const auto found = places_.find(execution);
  return found != places_.end() ? &found->second : nullptr;
}

}  // namespace reeve::runtime
