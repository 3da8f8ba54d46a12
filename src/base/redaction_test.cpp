#include "base/redaction.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::base {
namespace {

SecretSet make_secrets(const std::vector<std::string>& secrets) {
  SecretSet set;
  for (const std::string& secret : secrets) set.add(secret);
  set.prepare();
  return set;
}

// LOG-4
TEST(Redaction, knows_secret_variables_by_name) {
  for (const char* name : {"API_KEY", "GITHUB_TOKEN", "HOOK_SECRET", "PASSWORD", "DB_PASSWORD_FILE", "github_token"}) {
    EXPECT_TRUE(names_secret(name)) << name;
  }
  for (const char* name : {"KEY", "KEYBOARD", "TOKENS", "PATH", "MY_KEYS", ""})
    EXPECT_FALSE(names_secret(name)) << name;
}

TEST(Redaction, masks_what_an_address_may_hide) {
  EXPECT_EQ(mask_address("postgresql://u:pw@h/d"), "postgresql://u:***@h/d");
  EXPECT_EQ(mask_address("postgresql://u@h/d?password=pw&sslmode=x"), "postgresql://u@h/d?password=***&sslmode=***");
  EXPECT_EQ(mask_address("https://u:p@w@h/x?token=a=b"), "https://u:***@h/x?token=***");
  EXPECT_EQ(mask_address("postgre:u:pw@h"), "postgre:***@h");
  EXPECT_EQ(mask_address("https://h:8080/x?flag"), "https://h:8080/x?flag");
  EXPECT_EQ(mask_address("sqlite"), "sqlite");
}

TEST(Redaction, hides_every_secret) {
  const SecretSet secrets = make_secrets({"hunter2", "s3cr3t"});
  EXPECT_EQ(redact(secrets, "user hunter2 and s3cr3t."), "user *** and ***.");
  EXPECT_EQ(redact(secrets, "nothing here"), "nothing here");
  EXPECT_EQ(redact(secrets, "hunter"), "hunter") << "a beginning is no secret once the stream is over";
  EXPECT_EQ(redact(secrets, ""), "");
}

// LOG-4
TEST(Redaction, hides_a_secret_split_over_writes) {
  const SecretSet secrets = make_secrets({"hunter2"});
  Redactor redactor(secrets);
  std::string shown = redactor.feed("x hun");
  EXPECT_EQ(shown, "x ") << "what may become a secret is held back";
  shown += redactor.feed("te");
  shown += redactor.feed("r2 y");
  shown += redactor.finish();
  EXPECT_EQ(shown, "x *** y");
}

TEST(Redaction, shows_what_turned_out_innocent) {
  const SecretSet secrets = make_secrets({"hunter2"});
  Redactor redactor(secrets);
  EXPECT_EQ(redactor.feed("hunter"), "");
  EXPECT_EQ(redactor.feed(" and prey"), "hunter and prey");
}

TEST(Redaction, overlapping_secrets_become_one_mark) {
  const SecretSet secrets = make_secrets({"abcd", "cdef", "abcdefgh"});
  EXPECT_EQ(redact(secrets, "-abcdef-"), "-***-");
  EXPECT_EQ(redact(secrets, "-abcdefgh-"), "-***-");
  EXPECT_EQ(redact(secrets, "-abcdefg-"), "-***g-");
}

TEST(Redaction, refuses_values_that_are_none) {
  SecretSet secrets;
  EXPECT_EQ(secrets.add("abc"), SecretSet::Added::too_short);
  EXPECT_EQ(secrets.add(""), SecretSet::Added::too_short);
  EXPECT_EQ(secrets.add(std::string(100'000, 'x')), SecretSet::Added::too_long);
  for (int i = 0; i < 1024; ++i) EXPECT_EQ(secrets.add("secret" + std::to_string(i)), SecretSet::Added::yes);
  EXPECT_EQ(secrets.add("one more"), SecretSet::Added::too_many);
}

// The plain way: mark every occurrence, then show each marked stretch as one ***.
std::string redact_plainly(const std::vector<std::string>& secrets, const std::string& text) {
  std::vector<bool> hidden(text.size(), false);
  for (const std::string& secret : secrets) {
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 1)) {
      std::fill_n(hidden.begin() + static_cast<std::ptrdiff_t>(at), secret.size(), true);
    }
  }
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!hidden[i]) {
      result += text[i];
    } else if (i == 0 || !hidden[i - 1]) {
      result += "***";
    }
  }
  return result;
}

RC_GTEST_PROP(Redaction, agrees_with_the_plain_way_however_the_stream_is_cut, ()) {
  // Two letters, so that secrets occur, overlap and nest.
  const auto letters = rc::gen::container<std::string>(rc::gen::element('a', 'b'));
  const auto secret = rc::gen::suchThat(letters, [](const std::string& s) { return s.size() >= 4 && s.size() < 9; });
  const auto secrets = *rc::gen::container<std::vector<std::string>>(secret);
  const auto text = *letters;
  const auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 6));
  const SecretSet set = make_secrets(secrets);
  Redactor redactor(set);
  std::string shown;
  std::size_t at = 0;
  for (const std::size_t length : cuts) {
    if (at >= text.size()) break;
    shown += redactor.feed(std::string_view(text).substr(at, length));
    at += length;
  }
  if (at < text.size()) shown += redactor.feed(std::string_view(text).substr(at));
  shown += redactor.finish();
  RC_ASSERT(shown == redact_plainly(secrets, text));
}

RC_GTEST_PROP(Redaction, a_glance_misses_no_secret, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c', 'd', 'e'));
  const auto secret = rc::gen::suchThat(letters, [](const std::string& s) { return s.size() >= 4; });
  const auto secrets = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(secret));
  const std::string before = *letters;
  const std::string after = *letters;
  const SecretSet set = make_secrets(secrets);
  for (const std::string& each : secrets) RC_ASSERT(set.may_occur_in(before + each + after));
  const std::string text = before + after;
  if (!set.may_occur_in(text)) RC_ASSERT(redact_plainly(secrets, text) == text);
}

TEST(Redaction, a_glance_is_enough_for_ordinary_text) {
  const SecretSet set = make_secrets({"sk-live-0123456789abcdef", "hunter2hunter2"});
  EXPECT_FALSE(set.may_occur_in("compiling src/net/socket.cpp: 3 warnings, all is well so far"));
  EXPECT_FALSE(set.may_occur_in(""));
  EXPECT_TRUE(set.may_occur_in("hunter2hunter2"));
  EXPECT_FALSE(SecretSet().may_occur_in("anything"));
}

}  // namespace
}  // namespace reeve::base
