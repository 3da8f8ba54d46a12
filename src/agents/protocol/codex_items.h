#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agents/protocol/agent_protocol.h"
#include "base/value.h"

// The items of a turn as Codex's app server reports them, and its questions about them. Pure.
namespace reeve::agents {

inline constexpr std::string_view codex_command_item = "commandExecution";
inline constexpr std::string_view codex_change_item = "fileChange";
// Text typed into a running command.
inline constexpr std::string_view codex_typing = "writeStdin";

struct CodexCall {
  std::string call;
  std::string tool;
  base::Value arguments;
};

// A call for the table of names (TOOL-7); nothing for messages and other items that touch nothing. An item of a type
// that is not known is a call.
std::optional<CodexCall> find_codex_call(const base::Value& item);
// From a completed item.
CallEnded describe_codex_end(const base::Value& item);

// A request for permission.
struct CodexQuestion {
  CodexCall call;
  std::optional<std::string> cwd;
};
// Nothing if it asks for more than this call, or does not say what for; it is then declined. `known` are the arguments
// of the item as it was announced, which say what a change of files changes.
std::optional<CodexQuestion> read_command_question(const base::Value& params, const base::Value& known);
std::optional<CodexQuestion> read_change_question(const base::Value& params, const base::Value& known);

inline constexpr std::string_view codex_command_request = "item/commandExecution/requestApproval";
inline constexpr std::string_view codex_change_request = "item/fileChange/requestApproval";
// The answer that denies or gives nothing, in the shape of the request; nothing for methods without one.
std::optional<base::Value> find_codex_refusal(std::string_view method);
base::Value make_codex_decision(bool is_allowed);

}  // namespace reeve::agents
