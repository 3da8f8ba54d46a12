#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/value.h"

namespace reeve::agents {

// The sessions of an opencode server that belong to this run: the main one and those of its subagents.
class OpencodeSessions {
 public:
  void set_main(std::string id) { main_ = std::move(id); }
  const std::string& main() const noexcept { return main_; }

  // Of a value with a `sessionID`.
  bool is_main(const base::Value& value) const;
  bool is_ours(const base::Value& value) const;
  // The call that started the session of a subagent, once it is known.
  std::optional<std::string> parent_of(const base::Value& value) const;

  // The server has created a session.
  void on_created(const base::Value& info);
  // A part of type `tool`: one of `task` names the session of its subagent, which can be an earlier one.
  void on_part(const base::Value& part);

 private:
  std::string main_;
  std::map<std::string, std::optional<std::string>, std::less<>> children_;
};

}  // namespace reeve::agents
