#include "runtime/ground_shelf.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

ExecutionGround make(const std::string& commit) {
  ExecutionGround ground{.project = "/p", .base_commit = commit};
  ground.environment.emplace("PATH", "/bin");
  return ground;
}

// 10,000 executions that wait cost what one costs (DESIGN).
TEST(GroundShelf, keeps_what_is_alike_once) {
  GroundShelf shelf;
  std::set<const ExecutionGround*> kept;
  for (std::int64_t i = 1; i <= 10'000; ++i) {
    kept.insert(shelf.put(base::ExecutionId(i), {shelf.share(make("abc")), base::ExecutionId(i)}).ground.get());
  }
  EXPECT_EQ(kept.size(), 1U);
  EXPECT_EQ(shelf.find(base::ExecutionId(10'000))->ground->base_commit, "abc");
}

// The environment is part of it: nobody gets another's.
TEST(GroundShelf, tells_apart_what_differs_in_anything) {
  GroundShelf shelf;
  const auto first = shelf.share(make("abc"));
  EXPECT_NE(shelf.share(make("abd")), first);
  ExecutionGround other = make("abc");
  other.environment["PATH"] = "/usr/bin";
  EXPECT_NE(shelf.share(other), first);
  other = make("abc");
  other.tools["t"].env["KEY"] = "secret";
  EXPECT_NE(shelf.share(other), first);
  EXPECT_EQ(shelf.share(make("abc")), first);
}

TEST(GroundShelf, keeps_few_of_many_that_differ) {
  GroundShelf shelf;
  std::vector<std::weak_ptr<const ExecutionGround>> all;
  for (std::int64_t i = 1; i <= 1'000; ++i) {
    const auto ground = shelf.share(make(fmt::format("{}", i)));
    all.push_back(ground);
    shelf.put(base::ExecutionId(i), {ground, base::ExecutionId(i)});
  }
  const auto alive = std::ranges::count_if(all, [](const auto& one) { return !one.expired(); });
  EXPECT_LE(alive, static_cast<std::ptrdiff_t>(GroundShelf::most_grounds) + 1);
  EXPECT_NE(shelf.find(base::ExecutionId(1'000)), nullptr) << "the last is at hand";
}

TEST(GroundShelf, what_is_held_elsewhere_lives_on) {
  GroundShelf shelf;
  std::vector<GroundShelf::Shared> held;
  for (int i = 0; i < 100; ++i) held.push_back(shelf.share(make(fmt::format("{}", i))));
  EXPECT_EQ(held[0]->base_commit, "0");
  EXPECT_EQ(shelf.share(make("99")), held[99]);
}

}  // namespace
}  // namespace reeve::runtime
