#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "os/fd.h"

namespace reeve::adapter {

// What the agent wrote, line by line, for people who look for a fault: `agent-stream.jsonl` beside the run's output.
class StreamFile {
 public:
  // Throws `os.failed` if the folder cannot be opened. Without the file nothing is kept.
  explicit StreamFile(const std::string& folder);

  // True once: when this line and all further ones are dropped, because the file is full.
  bool add(std::string_view line);

  static constexpr const char* name = "agent-stream.jsonl";
  static constexpr std::size_t max_bytes = 64UZ * 1024 * 1024;

 private:
  os::Fd file_;
  std::size_t written_ = 0;
};

}  // namespace reeve::adapter
