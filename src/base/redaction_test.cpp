#include "base/redaction.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/base64.h"

namespace reeve::base {
namespace {

SecretSet make_secrets(const std::vector<std::string>& secrets) {
  SecretSet set;
  for (const std::string& secret : secrets) set.add(secret);
  set.prepare();
  return set;
}

// LOG-4
TEST(Redaction, recognises_secret_variables_by_name) {
  for (const char* name : {"API_KEY", "GITHUB_TOKEN", "HOOK_SECRET", "PASSWORD", "DB_PASSWORD_FILE", "github_token"}) {
    EXPECT_TRUE(names_secret(name)) << name;
  }
  for (const char* name : {"KEY", "KEYBOARD", "TOKENS", "PATH", "MY_KEYS", ""})
    EXPECT_FALSE(names_secret(name)) << name;
}

TEST(Redaction, masks_credentials_in_addresses) {
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
  EXPECT_EQ(redact(secrets, "hunter"), "hunter") << "a prefix is not a secret once the stream has ended";
  EXPECT_EQ(redact(secrets, ""), "");
}

// LOG-4
TEST(Redaction, hides_a_secret_split_over_writes) {
  const SecretSet secrets = make_secrets({"hunter2"});
  Redactor redactor(secrets);
  std::string shown = redactor.feed("x hun");
  EXPECT_EQ(shown, "x ") << "a possible secret is held back";
  shown += redactor.feed("te");
  shown += redactor.feed("r2 y");
  shown += redactor.finish();
  EXPECT_EQ(shown, "x *** y");
}

TEST(Redaction, shows_text_that_is_not_a_secret) {
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

TEST(Redaction, rejects_short_long_and_excess_values) {
  SecretSet secrets;
  EXPECT_EQ(secrets.add("abc"), SecretSet::Added::too_short);
  EXPECT_EQ(secrets.add(""), SecretSet::Added::too_short);
  EXPECT_EQ(secrets.add(std::string(100'000, 'x')), SecretSet::Added::too_long);
  for (int i = 0; i < 1024; ++i) EXPECT_EQ(secrets.add("secret" + std::to_string(i)), SecretSet::Added::yes);
  EXPECT_EQ(secrets.add("one more"), SecretSet::Added::too_many);
}

// LOG-4
TEST(Redaction, hides_a_secret_that_json_escapes) {
  const SecretSet secrets = make_secrets({"pa\"s\\s/w\n\u00e9\xF0\x9F\x98\x80!"});
  for (const char* escaped : {
           R"(pa\"s\\s/w\n\u00e9\ud83d\ude00!)",
           R"(pa\u0022s\u005Cs\/w\u000a\u00E9\uD83D\uDE00\u0021)",
           R"(\u0070\u0061\"s\\s/w\n\u00e9\ud83d\ude00!)",
           R"(pa\\\"s\\\\s/w\\n\\u00e9\\ud83d\\ude00!)",
           R"(pa\\u0022s\\\\s\\/w\\n\\u00E9\\ud83d\\ude00!)",
       }) {
    EXPECT_EQ(redact(secrets, std::string(R"({"m":"a\tb )") + escaped + R"( \"end\""})"), R"({"m":"a\tb *** \"end\""})")
        << escaped;
    EXPECT_TRUE(secrets.may_occur_in(escaped));
  }
  const std::string innocent = R"(C:\users\new \u12 \ud83d \ud83d\n \\\ \x pa\"s\\s \)";
  EXPECT_EQ(redact(secrets, innocent), innocent);
}

// LOG-4
TEST(Redaction, hides_a_url_encoded_secret) {
  const SecretSet secrets = make_secrets({"p&ss/w rd+?"});
  for (const char* encoded :
       {"p%26ss%2Fw%20rd%2B%3F", "p%26ss%2fw+rd%2b%3f", "p&ss/w+rd%2B?", "%70%26%73%73/w%20rd+?"}) {
    EXPECT_EQ(redact(secrets, std::string("https://h/?a=100%25&t=") + encoded + "&b=1"),
              "https://h/?a=100%25&t=***&b=1")
        << encoded;
    EXPECT_TRUE(secrets.may_occur_in(encoded)) << encoded;
  }
  EXPECT_FALSE(secrets.may_occur_in("45% of it, 100%"));
}

// LOG-4: at any offset within the encoded text.
TEST(Redaction, hides_a_secret_in_base64) {
  const std::string value = "~sk-live>0123?456\xFE\xFF";
  const SecretSet secrets = make_secrets({value});
  for (const char* before : {"", "u", "us", "user:"}) {
    for (const char* after : {"", "\n", "@h", " and more"}) {
      std::string text = encode_base64(before + value + after);
      for (const char* alphabet : {"+/", "-_"}) {
        std::ranges::replace(text, '+', alphabet[0]);
        std::ranges::replace(text, '/', alphabet[1]);
        const std::string shown = redact(secrets, "Basic " + text);
        // At either end a character may be shared with the neighbouring text.
        const std::size_t max_left = encode_base64(before).size() + encode_base64(after).size() + 8;
        EXPECT_THAT(shown, ::testing::HasSubstr("***")) << text;
        EXPECT_LE(shown.size(), std::string("Basic ***").size() + max_left) << shown;
        EXPECT_TRUE(secrets.may_occur_in(text)) << text;
      }
    }
  }
  // In JSON, which may escape the slash.
  EXPECT_EQ(redact(make_secrets({"?\?\?>>>?\?\?"}), R"("Pz8\/Pj4+Pz8\/")"), R"("***")");
}

// LOG-4: `base64` and `openssl base64` wrap their output.
TEST(Redaction, hides_a_long_secret_in_lines_of_base64) {
  std::string value;
  for (int i = 0; value.size() < 130; ++i) value += "k" + std::to_string(i * 7919);
  const SecretSet secrets = make_secrets({value});
  for (const std::size_t width : {76UL, 64UL}) {
    std::string text = encode_base64(value + "\n");
    for (std::size_t at = 0; at < text.size(); at += width) {
      EXPECT_THAT(redact(secrets, text.substr(at, width)), ::testing::StartsWith("***")) << at;
    }
  }
}

TEST(Redaction, part_of_a_secret_has_no_encoded_forms) {
  SecretSet secrets;
  secrets.add_part("hunter2hunter2");
  secrets.prepare();
  EXPECT_EQ(redact(secrets, "hunter2hunter2 aHVudGVyMmh1bnRlcjI="), "*** aHVudGVyMmh1bnRlcjI=");
}

// Encodes each character in one of the ways that JSON, or JSON within JSON, allows.
std::string escape_somehow(const std::string& secret, bool is_nested, const std::vector<int>& ways) {
  const auto escape = [&](const std::string& text, std::size_t offset) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const int way = ways[(i + offset) % ways.size()] % 3;
      const bool must = text[i] == '"' || text[i] == '\\' || text[i] == '\n';
      std::array<char, 8> unit{};
      std::snprintf(unit.data(), unit.size(), way == 1 ? "\\u%04x" : "\\u%04X", static_cast<unsigned char>(text[i]));
      if (way > 0) {
        out += unit.data();
      } else if (must) {
        out += text[i] == '\n' ? std::string("\\n") : std::string("\\") + text[i];
      } else {
        out += text[i];
      }
    }
    return out;
  };
  const std::string once = escape(secret, 0);
  return is_nested ? escape(once, 3) : once;
}

RC_GTEST_PROP(Redaction, hides_a_json_escaped_secret_at_any_split, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::element('a', 'b', '"', '\\', '\n', '/', 'u', '0'));
  const auto secret = *rc::gen::suchThat(letters, [](const std::string& s) { return s.size() >= 4 && s.size() < 12; });
  const auto ways = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3)));
  const bool is_nested = *rc::gen::arbitrary<bool>();
  const auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 6));
  const SecretSet set = make_secrets({secret});
  const std::string text = "<x>" + escape_somehow(secret, is_nested, ways) + "<y>";
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
  RC_ASSERT(shown == "<x>***<y>");
}

// Reference implementation: mark every occurrence, then show each marked range as one ***.
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

RC_GTEST_PROP(Redaction, matches_the_naive_redaction_at_any_split, ()) {
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

RC_GTEST_PROP(Redaction, quick_check_misses_no_secret, ()) {
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

TEST(Redaction, quick_check_clears_ordinary_text) {
  const SecretSet set = make_secrets({"sk-live-0123456789abcdef", "hunter2hunter2"});
  EXPECT_FALSE(set.may_occur_in("compiling src/net/socket.cpp: 3 warnings, all is well so far"));
  EXPECT_FALSE(set.may_occur_in(""));
  EXPECT_TRUE(set.may_occur_in("hunter2hunter2"));
  EXPECT_FALSE(SecretSet().may_occur_in("anything"));
}

}  // namespace
}  // namespace reeve::base
