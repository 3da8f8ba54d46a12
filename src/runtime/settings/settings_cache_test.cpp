#include "runtime/settings/settings_cache.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

ExecutionSettings make(const std::string& commit) {
  ExecutionSettings settings{.project = "/p", .base_commit = commit};
  settings.environment.emplace("PATH", "/bin");
  return settings;
}

// 10,000 waiting executions cost as much as one (DESIGN).
TEST(SettingsCache, equal_settings_are_stored_once) {
  SettingsCache shelf;
  std::set<const ExecutionSettings*> kept;
  for (std::int64_t i = 1; i <= 10'000; ++i) {
    kept.insert(shelf.put(base::ExecutionId(i), {shelf.share(make("abc")), base::ExecutionId(i)}).settings.get());
  }
  EXPECT_EQ(kept.size(), 1U);
  EXPECT_EQ(shelf.find(base::ExecutionId(10'000))->settings->base_commit, "abc");
}

// The environment is part of the settings, so none is shared by mistake.
TEST(SettingsCache, different_settings_are_kept_apart) {
  SettingsCache shelf;
  const auto first = shelf.share(make("abc"));
  EXPECT_NE(shelf.share(make("abd")), first);
  ExecutionSettings other = make("abc");
  other.environment["PATH"] = "/usr/bin";
  EXPECT_NE(shelf.share(other), first);
  other = make("abc");
  other.tools["t"].env["KEY"] = "secret";
  EXPECT_NE(shelf.share(other), first);
  EXPECT_EQ(shelf.share(make("abc")), first);
}

TEST(SettingsCache, cache_of_different_settings_is_bounded) {
  SettingsCache shelf;
  std::vector<std::weak_ptr<const ExecutionSettings>> all;
  for (std::int64_t i = 1; i <= 1'000; ++i) {
    const auto settings = shelf.share(make(fmt::format("{}", i)));
    all.push_back(settings);
    shelf.put(base::ExecutionId(i), {settings, base::ExecutionId(i)});
  }
  const auto alive = std::ranges::count_if(all, [](const auto& one) { return !one.expired(); });
  EXPECT_LE(alive, static_cast<std::ptrdiff_t>(SettingsCache::max_settings) + 1);
  EXPECT_NE(shelf.find(base::ExecutionId(1'000)), nullptr) << "the last one is cached";
}

TEST(SettingsCache, settings_in_use_stay_alive) {
  SettingsCache shelf;
  std::vector<SettingsCache::Shared> held;
  for (int i = 0; i < 100; ++i) held.push_back(shelf.share(make(fmt::format("{}", i))));
  EXPECT_EQ(held[0]->base_commit, "0");
  EXPECT_EQ(shelf.share(make("99")), held[99]);
}

}  // namespace
}  // namespace reeve::runtime
