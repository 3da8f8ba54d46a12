#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "json/parse.h"
#include "runtime/output/line_splitter.h"
#include "runtime/output/log_line.h"
#include "runtime/output/tool_line.h"
#include "runtime/output/tool_line_failure.h"

// Any bytes as the output of a tool: however they are split, each becomes part of exactly one log line, which is JSON
// and yields the same text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reeve;
  const std::string_view output(reinterpret_cast<const char*>(data), size);
  const runtime::OutputLineWriter writer("tool", base::RunId(1), {}, 1);
  static runtime::LineReader reader;
  std::uint64_t next = 0;
  // Small, so that long lines are common.
  constexpr std::size_t max_bytes = 256;
  runtime::LineSplitter splitter(
      [&](const runtime::Line& line) {
        REEVE_ASSERT(line.position == next && line.text.size() <= max_bytes);
        REEVE_ASSERT(output.substr(line.position, line.text.size()) == line.text);
        next = line.end;
        reader.read(line.text);
        runtime::looks_like_error(line.text);
        std::string logged;
        writer.append(logged, "t", model::Stream::out, line);
        REEVE_ASSERT(std::ranges::count(logged, '\n') == 1);
        const auto parsed = json::parse(logged);
        REEVE_ASSERT(parsed.has_value());
        REEVE_ASSERT(*parsed->find("text")->as_string() == base::replace_invalid_utf8(line.text));
      },
      max_bytes);
  for (std::size_t at = 0, length = 1; at < size; at += length, length = length * 3 % 101) {
    splitter.feed(at, output.substr(at, length));
    REEVE_ASSERT(splitter.consumed() == next);
  }
  splitter.finish();
  REEVE_ASSERT(next == size);
  return 0;
}
