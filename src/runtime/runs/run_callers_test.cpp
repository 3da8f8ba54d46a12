#include "runtime/runs/run_callers.h"

#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

PersonRequest request(const std::string& by, std::vector<std::string>* answered = nullptr) {
  return {.by = by, .done = [by, answered](const auto&) {
            if (answered != nullptr) answered->push_back(by);
          }};
}

TEST(RunCallers, requests_take_effect_one_after_the_other) {
  RunCallers callers;
  std::vector<std::string> answered;
  EXPECT_EQ(callers.begin_next(), nullptr);
  for (const char* by : {"ana", "bob"}) {
    PersonRequest asked = request(by, &answered);
    EXPECT_TRUE(callers.add(asked));
  }
  ASSERT_NE(callers.begin_next(), nullptr);
  EXPECT_EQ(callers.current().by, "ana");
  EXPECT_EQ(callers.begin_next(), nullptr) << "the first is under way";
  callers.end_current()(model::Run());
  ASSERT_NE(callers.begin_next(), nullptr);
  EXPECT_EQ(callers.current().by, "bob");
  callers.end_current()(model::Run());
  EXPECT_EQ(answered, (std::vector<std::string>{"ana", "bob"}));
  EXPECT_EQ(callers.begin_next(), nullptr);
}

TEST(RunCallers, number_of_requests_is_bounded) {
  RunCallers callers;
  for (std::size_t i = 0; i < RunCallers::max_requests; ++i) {
    PersonRequest asked = request("ana");
    EXPECT_TRUE(callers.add(asked));
  }
  std::vector<std::string> answered;
  PersonRequest one_more = request("bob", &answered);
  EXPECT_FALSE(callers.add(one_more));
  one_more.done(model::Run());
  EXPECT_EQ(answered, std::vector<std::string>{"bob"}) << "it can still be refused";
}

TEST(RunCallers, callers_that_end_the_run_wait_together) {
  RunCallers callers;
  callers.wait_for_end([](const auto&) {});
  callers.wait_for_end([](const auto&) {});
  EXPECT_EQ(callers.take_end_waiters().size(), 2U);
  EXPECT_TRUE(callers.take_end_waiters().empty());
}

}  // namespace
}  // namespace reeve::runtime
