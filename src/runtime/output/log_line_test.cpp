#include "runtime/output/log_line.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"
#include "json/encode.h"
#include "json/parse.h"

namespace reeve::runtime {
namespace {

using base::Value;

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

std::string encoded(std::string_view text) {
  const std::string quoted = json::encode(Value::string(text));
  return quoted.substr(1, quoted.size() - 2);
}

// LOG-1
TEST(LogLine, writes_one_json_line_per_output_line) {
  const OutputLineWriter writer("my \"tool\"", base::RunId(17), base::ExecutionId(3), 2);
  std::string out = "before\n";
  const std::string_view time = "2026-11-15T06:07:52.123Z";
  writer.append(out, time, model::Stream::out, {.position = 4711, .text = "say \"hi\"\t\x1b[0m"});
  EXPECT_EQ(
      out,
      "before\n"
      R"({"event":"tool_output","timestamp":"2026-11-15T06:07:52.123Z","tool":"my \"tool\"","tool_run_id":"TR-17",)"
      R"("execution_id":"EX-3","attempt":2,"stream":"stdout","offset":4711,"text":"say \"hi\"\t\u001b[0m"})"
      "\n");
  out.clear();
  OutputLineWriter("t", base::RunId(1), {}, 1)
      .append(out, time, model::Stream::err, {.position = UINT64_MAX, .text = "x", .is_partial = true});
  EXPECT_EQ(
      out,
      R"({"event":"tool_output","timestamp":"2026-11-15T06:07:52.123Z","tool":"t","tool_run_id":"TR-1",)"
      R"("execution_id":null,"attempt":1,"stream":"stderr","offset":18446744073709551615,"partial":true,"text":"x"})"
      "\n");
}

// RUN-16
TEST(LogLine, escapes_like_the_json_encoder) {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  for (std::size_t shift = 0; shift < 9; ++shift) {
    const std::string text = std::string(shift, 'a') + every_byte;
    EXPECT_EQ(escaped(text), encoded(text)) << shift;
  }
  for (const std::string_view text : {"", "a", "1234567", "12345678", "héllo wörld", "\xE2\x82", "\xC0\xAF",
                                      "\xED\xA0\x80", "\xF0\x9F\x99\x82 ok", "\xF4\x90\x80\x80", "\u202e turned",
                                      "\u200B\u00AD\U000E0041 hidden", "\u0085", "\x7f", "a\nb\r\n", "\x9b[31m"}) {
    EXPECT_EQ(escaped(text), encoded(text)) << text;
  }
}

TEST(LogLine, escapes_text_longer_than_a_block) {
  for (const std::string_view unit : {"\x01", "€", "\xE2\x82", "x", "\"", "\xF0\x9F\x99\x82"}) {
    for (std::size_t shift = 0; shift < 4; ++shift) {
      std::string text(shift, '.');
      while (text.size() < 20'000) text += unit;
      EXPECT_EQ(escaped(text), encoded(text));
    }
  }
}

RC_GTEST_PROP(LogLine, escapes_any_bytes_like_the_json_encoder, (const std::string& bytes)) {
  RC_ASSERT(escaped(bytes) == encoded(bytes));
  std::string line;
  OutputLineWriter(bytes, base::RunId(1), {}, 1).append(line, "t", model::Stream::out, {.position = 1, .text = bytes});
  RC_ASSERT(std::ranges::count(line, '\n') == 1);
  const auto parsed = json::parse(line);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed->find("text")->as_string() == base::replace_invalid_utf8(bytes));
}

}  // namespace
}  // namespace reeve::runtime
