#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agents/protocol/agent_protocol.h"

namespace reeve::testing {

// An agent's protocol that says what a test wants, and keeps what it is told.
class FakeAgent : public agents::AgentProtocol {
 public:
  agents::AgentReaction begin() override { return {}; }
  agents::AgentReaction on_line(std::string_view) override { return std::exchange(next, {}); }
  agents::AgentReaction answer(std::uint64_t ticket, const agents::CallAnswer& answer) override {
    answers.emplace_back(ticket, answer.verdict);
    return {};
  }
  agents::AgentReaction interrupt() override {
    ++interrupts;
    return {};
  }
  agents::AgentReaction say(std::string_view prompt) override {
    said.emplace_back(prompt);
    return {};
  }
  agents::ReleaseWay release_way() const override { return way; }
  agents::GateReach reach() const override { return how_far; }
  bool may_release(std::string_view) const override { return may_be_released; }
  agents::AgentReaction on_exit(int) override { return std::exchange(next, {}); }

  void forget() {
    next = {};
    answers.clear();
    said.clear();
    interrupts = 0;
  }

  // To the next line, or the exit.
  agents::AgentReaction next;
  agents::ReleaseWay way = agents::ReleaseWay::defer;
  agents::GateReach how_far = agents::GateReach::gated;
  bool may_be_released = true;
  std::vector<std::pair<std::uint64_t, agents::CallVerdict>> answers;
  std::vector<std::string> said;
  int interrupts = 0;
};

}  // namespace reeve::testing
