#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agents/protocol/claude_messages.h"
#include "agents/protocol/claude_protocol.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/fields.h"
#include "json/parse.h"
#include "tests/support/files.h"

namespace reeve::agents {
namespace {

namespace fs = std::filesystem;

// One line for people and for golden files.
struct Describe {
  static std::string or_none(const std::optional<std::string>& text) { return text.value_or("-"); }
  template <class T>
  static std::string number(const std::optional<T>& value) {
    return value ? fmt::format("{}", *value) : "-";
  }
  static std::string time(const std::optional<base::WallTime>& value) {
    return value ? base::format_time(*value) : "-";
  }

  std::string operator()(const SessionOpened& event) const {
    return fmt::format("session {} version {} model {}", event.session, or_none(event.version), or_none(event.model));
  }
  std::string operator()(const TextSaid& event) const { return "text " + base::visible(event.text); }
  std::string operator()(const CallAnnounced& event) const {
    return fmt::format("announced {} {} {} parent {}", event.call, event.tool, json::encode(event.arguments),
                       or_none(event.parent));
  }
  std::string operator()(const CallAsked& event) const {
    return fmt::format("asked {} {} {} {} parent {}", event.ticket, event.call, event.tool,
                       json::encode(event.arguments), or_none(event.parent));
  }
  std::string operator()(const CallWithdrawn& event) const {
    return fmt::format("withdrawn {} {}", event.ticket, event.call);
  }
  std::string operator()(const CallEnded& event) const {
    return fmt::format("ended {}{}{} {} bytes {}", event.call, event.has_failed ? " failed" : "",
                       event.was_refused ? " refused" : "", event.bytes, event.digest.substr(0, 15));
  }
  std::string operator()(const UsageTotals& event) const {
    return fmt::format("usage of {} in {} out {} cached {} cost {} of {} context {} of {}",
                       event.tokens_are_of_session ? "session" : "process", event.input_tokens, event.output_tokens,
                       event.cached_tokens, number(event.cost_usd), event.cost_is_of_session ? "session" : "process",
                       number(event.context_used), number(event.context_size));
  }
  std::string operator()(const LimitWindow& event) const {
    return fmt::format("window {} used {} until {}", event.name, number(event.used_percent), time(event.resets_at));
  }
  std::string operator()(const LimitReached& event) const {
    return fmt::format("limit {} until {}", base::visible(event.text), time(event.resets_at));
  }
  std::string operator()(const RetryNoted& event) const {
    return fmt::format("retry {} {}", event.attempt, event.text);
  }
  std::string operator()(const LoginMissing& event) const { return "login missing " + base::visible(event.text); }
  std::string operator()(const AnsweredElsewhere& event) const { return "answered elsewhere " + event.call; }
  std::string operator()(const TurnOver& event) const {
    static constexpr std::array<std::string_view, 4> ends = {"completed", "failed", "interrupted", "deferred"};
    std::string text =
        fmt::format("turn {} {}", ends.at(static_cast<std::size_t>(event.end)), base::visible(event.text));
    for (const std::string& call : event.refused) text += " refused " + call;
    return text;
  }
  std::string operator()(const ProtocolFault& event) const {
    return fmt::format("fault{} {}", event.is_ungated ? " ungated" : "", event.reason);
  }
};

struct Transcript {
  // What the agent printed, and what was written to it.
  std::vector<std::string> in;
  std::vector<std::string> out;
};

// A recorded conversation, or only the output of an agent.
Transcript read_transcript(const std::string& name) {
  Transcript transcript;
  const std::string text =
      testing::read_text(testing::source_folder() / "tests/golden/agents/transcripts" / (name + ".jsonl"));
  for (const std::string_view line : base::split(text, '\n')) {
    if (line.empty()) continue;
    const auto entry = json::parse(line);
    EXPECT_TRUE(entry.has_value()) << line;
    const std::string direction = json::text_of(*entry, "dir");
    if (direction.empty()) {
      // The input of a hook stands before the output.
      if (entry->find("hook_event_name") == nullptr) transcript.in.emplace_back(line);
    } else {
      (direction == "in" ? transcript.in : transcript.out).push_back(json::encode(*entry->find("msg")));
    }
  }
  return transcript;
}

struct Played {
  std::string events;
  std::vector<std::string> lines;
};

Played play(AgentProtocol& protocol, const Transcript& transcript, const CallAnswer& answer) {
  Played played;
  const auto add = [&](const AgentReaction& reaction) {
    played.lines.insert(played.lines.end(), reaction.lines.begin(), reaction.lines.end());
    for (const AgentEvent& event : reaction.events) played.events += std::visit(Describe(), event) + "\n";
    if (reaction.closes_input) played.events += "closes the input\n";
  };
  add(protocol.begin());
  for (const std::string& line : transcript.in) {
    const AgentReaction reaction = protocol.on_line(line);
    add(reaction);
    for (const AgentEvent& event : reaction.events) {
      if (const auto* asked = std::get_if<CallAsked>(&event)) add(protocol.answer(asked->ticket, answer));
    }
  }
  return played;
}

struct Recorded {
  std::string name;
  AgentKind kind;
  CallVerdict verdict = CallVerdict::allow;
};

void PrintTo(const Recorded& recorded, std::ostream* out) { *out << recorded.name; }

class ClaudeTranscript : public ::testing::TestWithParam<Recorded> {};

// AGT-4: what the installed programs printed becomes these events.
TEST_P(ClaudeTranscript, events_match_the_golden_file) {
  const Recorded& recorded = GetParam();
  const AgentSetup setup{.prompt = "write x"};
  const auto protocol = recorded.kind == AgentKind::qwen ? make_qwen_protocol(setup) : make_claude_protocol(setup);
  const Played played = play(*protocol, read_transcript(recorded.name), {recorded.verdict, "Denied by the reviewer."});
  testing::expect_golden(testing::source_folder() / "tests/golden/agents/transcripts" / (recorded.name + ".events.txt"),
                         played.events);
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, ClaudeTranscript,
    ::testing::Values(Recorded{"claude-stdio-control.allow", AgentKind::claude},
                      Recorded{"claude-stdio-control.deny", AgentKind::claude, CallVerdict::deny},
                      Recorded{"claude-stdio-control.interrupt", AgentKind::claude, CallVerdict::deny},
                      Recorded{"claude-stdio-control.hook-callback", AgentKind::claude},
                      Recorded{"claude-hook.allow", AgentKind::claude}, Recorded{"claude-hook.deny", AgentKind::claude},
                      Recorded{"claude-hook.ask", AgentKind::claude}, Recorded{"claude-hook.exit2", AgentKind::claude},
                      Recorded{"claude-hook.defer", AgentKind::claude},
                      Recorded{"claude-hook.defer-then-resume", AgentKind::claude},
                      Recorded{"claude-p.stream-json.api-error", AgentKind::claude},
                      Recorded{"qwen.stream-json.yolo", AgentKind::qwen}, Recorded{"qwen-hook.deny", AgentKind::qwen},
                      Recorded{"qwen-stdio-control.allow", AgentKind::qwen}),
    [](const auto& param) {
      std::string name = param.param.name;
      std::ranges::replace_if(name, [](char c) { return c == '.' || c == '-'; }, '_');
      return name;
    });

// Lines as they were written to the real program, with the id that Reeve gives to its first request.
std::vector<std::string> written(const std::string& name) {
  std::vector<std::string> lines = read_transcript(name).out;
  const std::string recorded = "req_1";
  for (std::string& line : lines) {
    const std::size_t at = line.find(recorded);
    if (at != std::string::npos) line.replace(at, recorded.size(), claude_initialize_id);
  }
  return lines;
}

TEST(ClaudeProtocol, writes_what_the_real_program_understood) {
  for (const auto& [name, verdict] : std::map<std::string, CallVerdict>{
           {"claude-stdio-control.allow", CallVerdict::allow}, {"claude-stdio-control.deny", CallVerdict::deny}}) {
    const auto protocol = make_claude_protocol({.prompt = "write x"});
    const Played played = play(*protocol, read_transcript(name), {verdict, "Denied by the reviewer."});
    EXPECT_EQ(played.lines, written(name)) << name;
  }
}

// A hook that Reeve did not ask for is never told yes.
TEST(ClaudeProtocol, hooks_of_the_protocol_are_denied) {
  const auto protocol = make_claude_protocol({.prompt = "write x"});
  const Played played =
      play(*protocol, read_transcript("claude-stdio-control.hook-callback"), {CallVerdict::allow, ""});
  ASSERT_EQ(played.lines.size(), 3U);
  EXPECT_EQ(played.lines[2],
            R"({"type":"control_response","response":{"subtype":"success","request_id":"<id-5>","response":)"
            R"({"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",)"
            R"("permissionDecisionReason":"Reeve has no hook of this name"}}}})");
}

}  // namespace
}  // namespace reeve::agents
