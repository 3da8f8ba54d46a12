#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/value.h"
#include "model/approval.h"
#include "model/run.h"

// Parses event lines from a tool (SPEC §1, "Lines that tools may print"). Every event is a request, never a fact: ids
// in a line are ignored, except the tool's own id for its question.
namespace reeve::runtime {

namespace limits {
inline constexpr std::size_t line_bytes = std::size_t{1} << 20U;
inline constexpr std::size_t question_bytes = std::size_t{16} << 10U;
inline constexpr std::size_t option_count = 64;
inline constexpr std::size_t option_bytes = 1024;
inline constexpr std::size_t message_bytes = 4096;
// Names and ids supplied by a tool.
inline constexpr std::size_t reference_bytes = 1024;
// Limits of one usage report; reports are summed.
inline constexpr std::int64_t tokens = 1'000'000'000'000;
inline constexpr double cost_usd = 1e9;
}  // namespace limits

struct Heartbeat {
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

struct ErrorReport {
  std::string message;
  // A failure marker (RUN-6).
  bool fatal = false;
  friend bool operator==(const ErrorReport&, const ErrorReport&) = default;
};

struct Question {
  std::string question;
  // Empty if the tool names none.
  std::vector<model::ApprovalOption> options;
  std::optional<std::string> default_value;
  std::optional<std::chrono::seconds> expires_in;
  // The tool's own id of the question.
  std::optional<std::string> tool_ref;
  friend bool operator==(const Question&, const Question&) = default;
};

struct Report {
  enum class Kind { result, phase_complete, task_complete };
  Kind kind = Kind::result;
  std::optional<base::Value> data;
  friend bool operator==(const Report&, const Report&) = default;
};

struct ToolCall {
  std::string tool;
  // An object.
  base::Value arguments;
  std::optional<std::string> id;
  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

// The text inside <tool_use_error> (TOOL-6).
struct ToolUseError {
  std::string message;
  // The requested tool, if the message names it.
  std::optional<std::string> tool = {};
  // Id of the failed call, if the line is its result ({"tool_use_id"}).
  std::optional<std::string> call_id = {};
  friend bool operator==(const ToolUseError&, const ToolUseError&) = default;
};

using ToolEvent =
    std::variant<Heartbeat, ErrorReport, Question, model::Progress, model::Usage, Report, ToolCall, ToolUseError>;

// Parses single lines of stdout and stderr. Keeps only buffers between calls.
class LineReader {
 public:
  LineReader();
  ~LineReader();
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;

  // `line` is a whole line without its newline, any bytes. Returns nothing for plain output, which includes lines with
  // wrong types, a duplicate key or more than limits::line_bytes. Longer texts are truncated between characters.
  std::optional<ToolEvent> read(std::string_view line);
  // A call in a line of a tool that speaks Reeve's protocol, also one without a tool or with arguments that are not an
  // object: it is answered with what is wrong. Nothing for all other lines.
  std::optional<ToolCall> read_call(std::string_view line);

 private:
  struct Scanner;
  std::unique_ptr<Scanner> scanner_;
};

}  // namespace reeve::runtime
