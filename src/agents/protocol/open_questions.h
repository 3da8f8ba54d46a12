#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "base/value.h"

namespace reeve::agents {

inline constexpr std::size_t max_open_questions = 256;

// Requests of an agent that wait for a decision. `Detail` is what the answer needs.
template <class Detail>
class OpenQuestions {
 public:
  struct Question {
    // Of the request.
    base::Value id;
    std::string call;
    Detail detail;
  };

  bool is_full() const noexcept { return questions_.size() >= max_open_questions; }
  bool has_call(std::string_view call) const {
    return std::ranges::any_of(questions_, [&](const auto& entry) { return entry.second.call == call; });
  }
  bool is_only(std::string_view call) const { return questions_.size() == 1 && has_call(call); }

  // The ticket.
  std::uint64_t add(Question question) {
    questions_.emplace(++last_ticket_, std::move(question));
    return last_ticket_;
  }
  std::optional<Question> take(std::uint64_t ticket) {
    auto node = questions_.extract(ticket);
    return node.empty() ? std::nullopt : std::optional(std::move(node.mapped()));
  }
  // Withdraws the request with this id.
  std::optional<Question> withdraw(const base::Value& id, std::vector<AgentEvent>& events) {
    const auto found = std::ranges::find_if(questions_, [&](const auto& entry) { return entry.second.id == id; });
    if (found == questions_.end()) return std::nullopt;
    events.emplace_back(CallWithdrawn{.ticket = found->first, .call = found->second.call});
    return take(found->first);
  }
  // Withdraws all of them.
  std::vector<Question> withdraw_all(std::vector<AgentEvent>& events) {
    std::vector<Question> withdrawn;
    for (auto& [ticket, question] : questions_) {
      events.emplace_back(CallWithdrawn{.ticket = ticket, .call = question.call});
      withdrawn.push_back(std::move(question));
    }
    questions_.clear();
    return withdrawn;
  }

 private:
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, Question> questions_;
};

}  // namespace reeve::agents
