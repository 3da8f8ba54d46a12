#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "base/clock.h"
#include "base/value.h"

// The lines that Claude Code prints with `--output-format stream-json`, and Qwen Code in nearly the same shape. Pure
// and without state: one line in, one value out. Nothing throws for any bytes.
namespace reeve::agents {

// How the programs that print these lines differ.
struct ClaudeTraits {
  // For people.
  std::string_view name;
  // The permission mode in which the gate sees every call, and the members of `init` that name the mode and the
  // version.
  std::string_view mode;
  std::string_view mode_key;
  std::string_view version_key;
  // Prompts, questions and interrupts go over standard input. Otherwise it has only the first prompt.
  bool has_control = false;
  // A line is a whole message with its final usage. Otherwise it is one block, and stream events tell where it ends.
  bool prints_whole_messages = false;
  // `input_tokens` includes those that came from the cache.
  bool counts_cached_input = false;
  ReleaseWay release_way = ReleaseWay::end;
};

inline constexpr ClaudeTraits claude_traits{.name = "Claude Code",
                                            .mode = "default",
                                            .mode_key = "permissionMode",
                                            .version_key = "claude_code_version",
                                            .has_control = true,
                                            .release_way = ReleaseWay::defer};
inline constexpr ClaudeTraits qwen_traits{.name = "Qwen Code",
                                          .mode = "yolo",
                                          .mode_key = "permission_mode",
                                          .version_key = "qwen_code_version",
                                          .prints_whole_messages = true,
                                          .counts_cached_input = true};

// Of ids and names; longer ones are refused.
inline constexpr std::size_t max_claude_name = 256;

// Whether a session id can be passed on a command line: an agent could print an option instead.
bool is_session_id(std::string_view text) noexcept;

struct TokenCounts {
  // All input, cached or not.
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t cached = 0;
  friend bool operator==(const TokenCounts&, const TokenCounts&) = default;
};

// --- What a line says ---

// The first line of each prompt.
struct InitLine {
  // Empty if it cannot be used.
  std::string session;
  std::string mode;
  std::optional<std::string> version;
  std::optional<std::string> model;
};
struct ModeLine {
  std::string mode;
};
// The agent refused a call by its own rules.
struct DenialLine {
  std::string call;
};
struct RetryLine {
  int attempt = 0;
  std::string text;
};

struct ToolUse {
  std::string call;
  std::string tool;
  base::Value arguments;
};
struct SaidText {
  std::string text;
};
struct AssistantLine {
  std::string message;
  // The call whose subagent speaks.
  std::optional<std::string> parent;
  std::optional<TokenCounts> usage;
  std::vector<std::variant<SaidText, ToolUse>> blocks;
  // Calls without a usable id, name or arguments.
  std::size_t unusable_calls = 0;
};

struct ToolResult {
  // Empty if the result names no call.
  std::string call;
  bool has_failed = false;
  bool says_refused = false;
  std::string digest;
  std::int64_t bytes = 0;
};
struct ResultsLine {
  std::vector<ToolResult> results;
};

// A part of a message that streams.
struct StreamLine {
  enum class Part { begin, call, end };
  Part part = Part::begin;
  std::string message;
  bool is_of_subagent = false;
};

// A question whether a call may run.
struct AskLine {
  std::string request;
  std::string call;
  std::string tool;
  base::Value arguments;
};
// A question that cannot be understood, or one that Reeve never answers with yes.
struct OtherRequestLine {
  std::string request;
  std::string subtype;
  std::string problem;
};
struct CancelLine {
  std::string request;
};
// The answer to one of our own requests.
struct ResponseLine {
  std::string request;
  // Empty if it succeeded.
  std::string error;
  std::optional<std::string> mode;
  // Whether `onFailure` of hooks has an effect.
  std::optional<bool> knows_on_failure;
};

struct LimitLine {
  bool is_reached = false;
  std::string name;
  std::optional<double> used_percent;
  std::optional<base::WallTime> resets_at;
};

// The end of a turn.
struct TurnLine {
  bool has_failed = false;
  bool is_deferred = false;
  bool was_aborted = false;
  std::string text;
  // The HTTP status of the model service's last error.
  std::optional<std::int64_t> api_status;
  std::optional<TokenCounts> usage;
  std::optional<double> cost_usd;
  // The context windows of the models that were used.
  std::vector<std::pair<std::string, std::int64_t>> windows;
  std::vector<std::string> refused;
};

// A line that concerns nobody here.
struct UnknownLine {};
// Not a line of this protocol.
struct GarbageLine {};

using ClaudeLine =
    std::variant<GarbageLine, UnknownLine, InitLine, ModeLine, DenialLine, RetryLine, AssistantLine, ResultsLine,
                 StreamLine, AskLine, OtherRequestLine, CancelLine, ResponseLine, LimitLine, TurnLine>;

ClaudeLine parse_claude_line(const ClaudeTraits& traits, std::string_view line);

}  // namespace reeve::agents
