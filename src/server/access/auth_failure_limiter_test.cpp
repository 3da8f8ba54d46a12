#include "server/access/auth_failure_limiter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace reeve::server {
namespace {

using namespace std::chrono_literals;

os::TcpAddress address(const std::string& text) { return os::parse_tcp_address(text).value(); }

const base::BootTime start{1h};

TEST(AuthFailureLimiter, tenth_failure_in_a_minute_blocks_the_address) {
  AuthFailureLimiter failures;
  const auto here = address("127.0.0.1:1");
  for (int i = 0; i < AuthFailureLimiter::most; ++i) {
    EXPECT_FALSE(failures.find_pause(here, start));
    failures.count(here, start + 1s * i);
  }
  // The source port differs each time.
  EXPECT_EQ(failures.find_pause(address("127.0.0.1:2"), start + 10s), 50s);
  EXPECT_FALSE(failures.find_pause(address("127.0.0.2:1"), start + 10s));
  EXPECT_FALSE(failures.find_pause(here, start + 60s));
  failures.count(here, start + 61s);
  EXPECT_FALSE(failures.find_pause(here, start + 61s));
}

TEST(AuthFailureLimiter, a_network_of_ipv6_counts_as_one) {
  AuthFailureLimiter failures;
  for (int i = 0; i < AuthFailureLimiter::most; ++i)
    failures.count(address(fmt::format("[2001:db8::{:x}]:1", i + 1)), start);
  EXPECT_TRUE(failures.find_pause(address("[2001:db8::ffff]:1"), start));
  EXPECT_FALSE(failures.find_pause(address("[2001:db8:0:1::1]:1"), start));
}

TEST(AuthFailureLimiter, the_table_is_bounded) {
  AuthFailureLimiter failures;
  for (int i = 0; i < 5'000; ++i) {
    failures.count(address(fmt::format("10.0.{}.{}:1", i / 256, i % 256)), start + 1ms * i);
    EXPECT_LE(failures.addresses(), AuthFailureLimiter::max_addresses);
  }
}

}  // namespace
}  // namespace reeve::server
