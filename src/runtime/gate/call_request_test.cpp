#include "runtime/gate/call_request.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"

namespace reeve::runtime {
namespace {

wire::SessionReport with_usage(const wire::SessionUsage& usage) {
  return {.session_id = "s-1", .agent = "claude", .usage = usage};
}

std::string refusal_of(const wire::SessionReport& report) {
  try {
    check_session(report);
  } catch (const base::Error& error) {
    return error.code();
  }
  return "";
}

// AGT-4: what an agent reports is bounded.
TEST(CallRequest, session_usage_is_never_negative_and_always_finite) {
  EXPECT_EQ(refusal_of(with_usage({.input_tokens = 5, .cost_usd = 0.5})), "");
  EXPECT_EQ(refusal_of(with_usage({.input_tokens = -1})), "call.bad_request");
  EXPECT_EQ(refusal_of(with_usage({.output_tokens = -1})), "call.bad_request");
  EXPECT_EQ(refusal_of(with_usage({.cached_tokens = -1})), "call.bad_request");
  EXPECT_EQ(refusal_of(with_usage({.context_used = -1})), "call.bad_request");
  EXPECT_EQ(refusal_of(with_usage({.context_size = -1})), "call.bad_request");
  for (const double cost : {-0.01, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(refusal_of(with_usage({.cost_usd = cost})), "call.bad_request");
  }
}

TEST(CallRequest, implausible_session_usage_is_cut) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const wire::SessionUsage bounded = bound_usage({.input_tokens = most,
                                                  .output_tokens = most,
                                                  .cached_tokens = 7,
                                                  .cost_usd = 1e300,
                                                  .context_used = most,
                                                  .context_size = 9});
  EXPECT_EQ(bounded.input_tokens, 1'000'000'000'000);
  EXPECT_EQ(bounded.output_tokens, 1'000'000'000'000);
  EXPECT_EQ(bounded.cached_tokens, 7);
  EXPECT_EQ(bounded.cost_usd, 1e9);
  EXPECT_EQ(bounded.context_used, 1'000'000'000'000);
  EXPECT_EQ(bounded.context_size, 9);
}

}  // namespace
}  // namespace reeve::runtime
