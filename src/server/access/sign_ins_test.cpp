#include "server/access/sign_ins.h"

#include <gtest/gtest.h>

namespace reeve::server {
namespace {

using namespace std::chrono_literals;

const base::BootTime start{1h};

Caller anna() { return {"anna", {model::Scope::admin}}; }

TEST(SignIns, code_works_once_and_expires) {
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

TEST(SignIns, session_expires_when_idle_and_at_its_maximum_age) {
  SignIns sign_ins;
  const std::string idle = sign_ins.open(anna(), start).cookie;
  EXPECT_TRUE(sign_ins.find(idle, start + 11h));
  EXPECT_TRUE(sign_ins.find(idle, start + 22h));
  EXPECT_FALSE(sign_ins.find(idle, start + 34h));
  const std::string busy = sign_ins.open(anna(), start).cookie;
  base::BootTime now = start;
  while (sign_ins.find(busy, now)) {
    now += 6h;
    ASSERT_LT(now - start, SignIns::longest_time + 24h);
  }
  const std::string closed = sign_ins.open(anna(), now).cookie;
  sign_ins.close(closed);
  EXPECT_FALSE(sign_ins.find(closed, now));
}

TEST(SignIns, oldest_session_and_code_are_evicted) {
  SignIns sign_ins;
  std::vector<std::string> cookies;
  for (std::size_t i = 0; i <= SignIns::max_sessions; ++i)
    cookies.push_back(sign_ins.open(anna(), start + 1s * i).cookie);
  EXPECT_FALSE(sign_ins.find(cookies.front(), start + 1min));
  EXPECT_TRUE(sign_ins.find(cookies[1], start + 1min));
  EXPECT_TRUE(sign_ins.find(cookies.back(), start + 1min));
  std::vector<std::string> codes;
  for (std::size_t i = 0; i <= SignIns::max_codes; ++i) codes.push_back(sign_ins.make_code(anna(), start + 1s * i));
  EXPECT_FALSE(sign_ins.take_code(codes.front(), start + 1min));
  EXPECT_TRUE(sign_ins.take_code(codes.back(), start + 1min));
}

TEST(SignIns, is_used_while_a_code_or_session_is_valid) {
  SignIns sign_ins;
  EXPECT_FALSE(sign_ins.is_used(start));
  sign_ins.make_code(anna(), start);
  EXPECT_TRUE(sign_ins.is_used(start + 4min));
  EXPECT_FALSE(sign_ins.is_used(start + 5min));
  sign_ins.open(anna(), start);
  EXPECT_TRUE(sign_ins.is_used(start + 11h));
  EXPECT_FALSE(sign_ins.is_used(start + 12h));
}

// Sessions created with a token end with it.
TEST(SignIns, revoked_name_loses_its_codes_and_sessions) {
  SignIns sign_ins;
  const base::BootTime now{};
  const std::string code = sign_ins.make_code({"ci", {model::Scope::admin}}, now);
  const std::string cookie = sign_ins.open({"ci", {model::Scope::admin}}, now).cookie;
  const std::string other = sign_ins.open({"anna", {model::Scope::read}}, now).cookie;
  sign_ins.forget("ci");
  EXPECT_FALSE(sign_ins.take_code(code, now));
  EXPECT_FALSE(sign_ins.find(cookie, now));
  EXPECT_TRUE(sign_ins.find(other, now));
}

// Sessions created with the daemon's own token end with it, whatever their name; those created over the unix socket
// remain.
TEST(SignIns, revoked_token_loses_its_codes_and_sessions) {
  SignIns sign_ins;
  const base::BootTime now{};
  const std::string code = sign_ins.make_code({"anna", {model::Scope::admin}, "hash"}, now);
  const std::string cookie = sign_ins.open({"anna", {model::Scope::admin}, "hash"}, now).cookie;
  const std::string other = sign_ins.open(anna(), now).cookie;
  sign_ins.forget_token("hash");
  EXPECT_FALSE(sign_ins.take_code(code, now));
  EXPECT_FALSE(sign_ins.find(cookie, now));
  EXPECT_TRUE(sign_ins.find(other, now));
}

// Cookies are shared between ports, so each session has a second secret, which nothing else can replace.
TEST(SignIns, session_key_is_valid_only_for_its_session) {
  SignIns sign_ins;
  const auto one = sign_ins.open(anna(), start);
  const auto other = sign_ins.open(anna(), start);
  const std::string session = sign_ins.find(one.cookie, start)->session;
  EXPECT_TRUE(sign_ins.is_key(session, one.key));
  for (const std::string& key : {other.key, one.cookie, std::string("1"), std::string()}) {
    EXPECT_FALSE(sign_ins.is_key(session, key)) << key;
  }
}

TEST(SignIns, checking_a_session_does_not_extend_it) {
  SignIns sign_ins;
  const auto session = sign_ins.open(anna(), start);
  const std::string name = sign_ins.find(session.cookie, start)->session;
  EXPECT_TRUE(sign_ins.is_open(name, start + 11h));
  EXPECT_FALSE(sign_ins.is_open(name, start + 12h));
  EXPECT_FALSE(sign_ins.is_open("", start));
  sign_ins.close(session.cookie);
  EXPECT_FALSE(sign_ins.is_open(name, start));
}

}  // namespace
}  // namespace reeve::server
