#include "agents/protocol/opencode_sessions.h"

#include "agents/protocol/agent_message.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

// Those of further subagents are foreign: what they ask for is refused.
constexpr std::size_t max_children = 1000;

}  // namespace

bool OpencodeSessions::is_main(const Value& value) const {
  return !main_.empty() && json::text_of(value, "sessionID") == main_;
}

bool OpencodeSessions::is_ours(const Value& value) const {
  return is_main(value) || children_.contains(json::text_of(value, "sessionID"));
}

std::optional<std::string> OpencodeSessions::parent_of(const Value& value) const {
  const auto found = children_.find(json::text_of(value, "sessionID"));
  return found != children_.end() ? found->second : std::nullopt;
}

void OpencodeSessions::on_created(const Value& info) {
  const auto id = name_of(info, "id");
  const auto parent = name_of(info, "parentID");
  if (!id || !parent || *id == main_ || children_.size() >= max_children) return;
  if (*parent == main_ || children_.contains(*parent)) children_.try_emplace(*id);
}

void OpencodeSessions::on_part(const Value& part) {
  if (json::text_of(part, "tool") != "task" || !is_ours(part)) return;
  const auto child = name_of(member_of(member_of(part, "state"), "metadata"), "sessionId");
  if (!child || *child == main_) return;
  if (children_.contains(*child) || children_.size() < max_children) children_[*child] = name_of(part, "callID");
}

}  // namespace reeve::agents
