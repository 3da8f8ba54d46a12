#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agents/protocol/agent_protocol.h"
#include "agents/protocol/claude_lines.h"

namespace reeve::agents {

// Calls without a result, and lines that are not of the protocol: one more is a fault.
inline constexpr std::size_t max_claude_calls = 10'000;
inline constexpr std::size_t max_claude_garbage = 1'000;
// Questions without an answer, and the bytes of their arguments: further ones are denied.
inline constexpr std::size_t max_claude_questions = 1'000;
inline constexpr std::size_t max_claude_question_bytes = 64UZ * 1024 * 1024;

// Claude Code by its control protocol, and Qwen Code, which prints the same lines. The gate is the hook of the settings
// file that the command brings along; `can_use_tool` is the second one and is answered in the same way. Qwen Code reads
// nothing after its first prompt: interrupt() and say() do nothing, and its process has to be ended or resumed.
class ClaudeProtocol final : public AgentProtocol {
 public:
  ClaudeProtocol(const ClaudeTraits& traits, const AgentSetup& setup);

  AgentReaction begin() override;
  AgentReaction on_line(std::string_view line) override;
  AgentReaction answer(std::uint64_t ticket, const CallAnswer& answer) override;
  AgentReaction interrupt() override;
  AgentReaction say(std::string_view prompt) override;

  ReleaseWay release_way() const override { return traits_.release_way; }
  GateReach reach() const override { return GateReach::gated; }
  bool marks_refusals() const override { return traits_.has_control; }
  // Deferring one of several calls loses the others, and a call can be asked about before its message has ended.
  bool may_release(std::string_view call) const override;

 private:
  struct OpenQuestion {
    std::string request;
    std::string call;
    base::Value arguments;
    std::size_t bytes = 0;
  };
  // A call that was announced or refused, until its result.
  struct OpenCall {
    std::string message;
    std::optional<std::string> parent;
    bool was_refused = false;
  };
  // The newest message of the main conversation.
  struct NewestMessage {
    std::string id;
    // As lines, and as stream events.
    std::size_t calls = 0;
    std::size_t streamed_calls = 0;
    bool is_whole = false;
  };

  void apply(const GarbageLine& line, AgentReaction& reaction);
  void apply(const UnknownLine& /*line*/, AgentReaction& /*reaction*/) {}
  void apply(const InitLine& line, AgentReaction& reaction);
  void apply(const ModeLine& line, AgentReaction& reaction);
  void apply(const DenialLine& line, AgentReaction& reaction);
  void apply(const RetryLine& line, AgentReaction& reaction);
  void apply(const AssistantLine& line, AgentReaction& reaction);
  void apply(const ResultsLine& line, AgentReaction& reaction);
  void apply(const StreamLine& line, AgentReaction& reaction);
  void apply(const AskLine& line, AgentReaction& reaction);
  void apply(const OtherRequestLine& line, AgentReaction& reaction);
  void apply(const CancelLine& line, AgentReaction& reaction);
  void apply(const ResponseLine& line, AgentReaction& reaction);
  void apply(const LimitLine& line, AgentReaction& reaction);
  void apply(const TurnLine& line, AgentReaction& reaction);

  void announce(const AssistantLine& line, const ToolUse& use, AgentReaction& reaction);
  void note_message(const AssistantLine& line);
  void note_usage(const AssistantLine& line, AgentReaction& reaction);
  UsageTotals make_totals() const;
  void end_usage(const TurnLine& line, AgentReaction& reaction);
  void explain_failure(const TurnLine& line, AgentReaction& reaction);
  // Marks a call; one that was never announced is remembered until its result.
  void refuse(const std::string& call, AgentReaction& reaction);
  bool check_mode(std::string_view mode, AgentReaction& reaction);
  void fail(AgentReaction& reaction, std::string reason, bool is_ungated = false);

  ClaudeTraits traits_;
  std::string prompt_;
  bool is_silent_ = false;

  std::optional<SessionOpened> session_;
  NewestMessage message_;
  std::map<std::string, OpenCall, std::less<>> calls_;
  std::map<std::uint64_t, OpenQuestion> questions_;
  std::size_t question_bytes_ = 0;
  std::uint64_t last_ticket_ = 0;
  std::uint64_t last_interrupt_ = 0;

  TokenCounts tokens_;
  std::optional<double> cost_usd_;
  std::optional<std::int64_t> context_used_;
  std::optional<std::int64_t> context_size_;

  std::size_t garbage_ = 0;
  bool is_interrupted_ = false;
  // The limit was reported in this turn, with its time if there is one.
  bool has_limit_ = false;
  // After a fault nothing is believed and nothing is answered.
  bool is_broken_ = false;
};

std::unique_ptr<AgentProtocol> make_claude_protocol(const AgentSetup& setup);
std::unique_ptr<AgentProtocol> make_qwen_protocol(const AgentSetup& setup);

}  // namespace reeve::agents
