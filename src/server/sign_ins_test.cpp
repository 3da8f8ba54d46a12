#include "server/sign_ins.h"

#include <gtest/gtest.h>

namespace reeve::server {
namespace {

using namespace std::chrono_literals;

const base::BootTime start{1h};

Caller anna() { return {"anna", {model::Scope::admin}}; }

TEST(SignIns, a_code_is_used_once_and_in_time) {
  SignIns sign_ins;
  const std::string code = sign_ins.make_code(anna(), start);
  EXPECT_EQ(code.size(), 64);
  EXPECT_FALSE(sign_ins.take_code("", start));
  EXPECT_FALSE(sign_ins.take_code(code + "0", start));
  EXPECT_EQ(sign_ins.take_code(code, start + 4min)->name, "anna");
  EXPECT_FALSE(sign_ins.take_code(code, start + 4min));
  const std::string late = sign_ins.make_code(anna(), start);
  EXPECT_FALSE(sign_ins.take_code(late, start + SignIns::code_time));
}

TEST(SignIns, a_session_ends_when_it_is_not_used_and_in_any_case) {
  SignIns sign_ins;
  const std::string idle = sign_ins.open(anna(), start);
  EXPECT_TRUE(sign_ins.find(idle, start + 11h));
  EXPECT_TRUE(sign_ins.find(idle, start + 22h));
  EXPECT_FALSE(sign_ins.find(idle, start + 34h));
  const std::string busy = sign_ins.open(anna(), start);
  base::BootTime now = start;
  while (sign_ins.find(busy, now)) {
    now += 6h;
    ASSERT_LT(now - start, SignIns::longest_time + 24h);
  }
  const std::string closed = sign_ins.open(anna(), now);
  sign_ins.close(closed);
  EXPECT_FALSE(sign_ins.find(closed, now));
}

TEST(SignIns, of_too_many_the_oldest_goes) {
  SignIns sign_ins;
  std::vector<std::string> cookies;
  for (std::size_t i = 0; i <= SignIns::most_sessions; ++i) cookies.push_back(sign_ins.open(anna(), start + 1s * i));
  EXPECT_FALSE(sign_ins.find(cookies.front(), start + 1min));
  EXPECT_TRUE(sign_ins.find(cookies[1], start + 1min));
  EXPECT_TRUE(sign_ins.find(cookies.back(), start + 1min));
  std::vector<std::string> codes;
  for (std::size_t i = 0; i <= SignIns::most_codes; ++i) codes.push_back(sign_ins.make_code(anna(), start + 1s * i));
  EXPECT_FALSE(sign_ins.take_code(codes.front(), start + 1min));
  EXPECT_TRUE(sign_ins.take_code(codes.back(), start + 1min));
}

TEST(SignIns, is_used_while_anybody_is_in_or_may_come) {
  SignIns sign_ins;
  EXPECT_FALSE(sign_ins.is_used(start));
  sign_ins.make_code(anna(), start);
  EXPECT_TRUE(sign_ins.is_used(start + 4min));
  EXPECT_FALSE(sign_ins.is_used(start + 5min));
  sign_ins.open(anna(), start);
  EXPECT_TRUE(sign_ins.is_used(start + 11h));
  EXPECT_FALSE(sign_ins.is_used(start + 12h));
}

// Who was let in by a token goes with it.
TEST(SignIns, a_name_that_is_revoked_is_out) {
  SignIns sign_ins;
  const base::BootTime now{};
  const std::string code = sign_ins.make_code({"ci", {model::Scope::admin}}, now);
  const std::string cookie = sign_ins.open({"ci", {model::Scope::admin}}, now);
  const std::string other = sign_ins.open({"anna", {model::Scope::read}}, now);
  sign_ins.forget("ci");
  EXPECT_FALSE(sign_ins.take_code(code, now));
  EXPECT_FALSE(sign_ins.find(cookie, now));
  EXPECT_TRUE(sign_ins.find(other, now));
}

}  // namespace
}  // namespace reeve::server
