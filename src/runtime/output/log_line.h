#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/id.h"
#include "model/run.h"
#include "runtime/output/line_splitter.h"

namespace reeve::runtime {

// Writes the `tool_output` lines of one attempt (LOG-1). Their constant parts are rendered once.
class OutputLineWriter {
 public:
  OutputLineWriter(std::string_view tool, base::RunId run, std::optional<base::ExecutionId> execution, int attempt);

  // Appends one line of JSON with its newline. `timestamp` comes from base::format_time. `line.text` may contain any
  // bytes: invalid UTF-8 becomes U+FFFD (RUN-16), and nothing in it ends the line.
  void append(std::string& out, std::string_view timestamp, model::Stream stream, const Line& line) const;

 private:
  // The text between the timestamp and the offset, for each stream.
  std::array<std::string, 2> middles_;
};

// Appends the inside of a JSON string, byte for byte as json::encode would, but faster.
void append_escaped(std::string& out, std::string_view text);

}  // namespace reeve::runtime
