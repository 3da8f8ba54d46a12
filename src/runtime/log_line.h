#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/id.h"
#include "model/run.h"
#include "runtime/line_splitter.h"

namespace reeve::runtime {

// Writes the `tool_output` lines of one attempt of a run (LOG-1). What is the same in all of them is made once.
class OutputLineWriter {
 public:
  OutputLineWriter(std::string_view tool, base::RunId run, std::optional<base::ExecutionId> execution, int attempt);

  // Appends one line of JSON with its newline. `timestamp` is what base::format_time gives; `line.text` may be any
  // bytes: what is no UTF-8 becomes U+FFFD (RUN-16), and nothing in it ends the line.
  void append(std::string& out, std::string_view timestamp, model::Stream stream, const Line& line) const;

 private:
  // From behind the timestamp to before the offset, for each stream.
  std::array<std::string, 2> middles_;
};

// The inside of a JSON string, the same bytes that json::encode makes of it, fast.
void append_escaped(std::string& out, std::string_view text);

}  // namespace reeve::runtime
