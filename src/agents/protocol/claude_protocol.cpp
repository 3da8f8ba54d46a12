#include "agents/protocol/claude_protocol.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "agents/protocol/claude_messages.h"
#include "base/text.h"
#include "json/encode.h"

namespace reeve::agents {

namespace {

// Of numbers that an agent makes up.
std::int64_t add_counts(std::int64_t left, std::int64_t right) {
  constexpr std::int64_t max_sum = 100'000'000'000'000'000;
  return std::min(left + right, max_sum);
}

bool is_login_missing(const TurnLine& line) {
  constexpr std::int64_t unauthorized = 401;
  return line.api_status == unauthorized || line.text.starts_with("Not logged in") ||
         line.text.contains("Please run /login") || line.text.contains("No auth type is selected");
}

}  // namespace

ClaudeProtocol::ClaudeProtocol(const ClaudeTraits& traits, const AgentSetup& setup)
    : traits_(traits), prompt_(setup.prompt), is_silent_(setup.resumes && setup.has_deferred_call) {}

AgentReaction ClaudeProtocol::begin() {
  AgentReaction reaction;
  if (!traits_.has_control) return reaction;
  reaction.lines.push_back(make_claude_initialize());
  // A deferred call asks again by itself; a prompt would come before its result.
  if (!is_silent_ && !prompt_.empty()) reaction.lines.push_back(make_claude_prompt(prompt_));
  return reaction;
}

AgentReaction ClaudeProtocol::on_line(std::string_view line) {
  AgentReaction reaction;
  if (is_broken_) return reaction;
  if (line.size() > max_agent_line) {
    fail(reaction, fmt::format("{} printed a line of more than {} MiB", traits_.name, max_agent_line >> 20U));
    return reaction;
  }
  const ClaudeLine parsed = parse_claude_line(traits_, line);
  std::visit([&](const auto& read) { apply(read, reaction); }, parsed);
  return reaction;
}

AgentReaction ClaudeProtocol::answer(std::uint64_t ticket, const CallAnswer& answer) {
  AgentReaction reaction;
  const auto found = questions_.find(ticket);
  if (found == questions_.end() || is_broken_) return reaction;
  OpenQuestion question = std::move(found->second);
  questions_.erase(found);
  question_bytes_ -= question.bytes;
  if (answer.verdict == CallVerdict::allow) {
    reaction.lines.push_back(make_claude_allow(question.request, std::move(question.arguments)));
    return reaction;
  }
  // Only the hook can defer.
  reaction.lines.push_back(make_claude_deny(question.request, answer.reason));
  refuse(question.call, reaction);
  return reaction;
}

AgentReaction ClaudeProtocol::interrupt() {
  AgentReaction reaction;
  if (!traits_.has_control || is_broken_) return reaction;
  is_interrupted_ = true;
  reaction.lines.push_back(make_claude_interrupt(++last_interrupt_));
  return reaction;
}

AgentReaction ClaudeProtocol::say(std::string_view prompt) {
  AgentReaction reaction;
  if (traits_.has_control && !is_broken_) reaction.lines.push_back(make_claude_prompt(prompt));
  return reaction;
}

bool ClaudeProtocol::may_release(std::string_view call) const {
  const auto found = calls_.find(call);
  if (is_broken_ || found == calls_.end() || calls_.size() != 1) return false;
  const OpenCall& open = found->second;
  if (open.parent || open.message.empty() || open.message != message_.id) return false;
  return message_.is_whole && message_.calls == 1 && message_.streamed_calls <= 1;
}

// --- Lines that say how the agent runs ---

bool ClaudeProtocol::check_mode(std::string_view mode, AgentReaction& reaction) {
  if (mode == traits_.mode) return true;
  const std::string found = mode.empty() ? "an unknown permission mode" : "permission mode " + base::quoted(mode);
  fail(reaction,
       fmt::format(
           "{} runs in {} instead of `{}`, so that its gate cannot be relied on; remove the mode from its settings",
           traits_.name, found, traits_.mode),
       true);
  return false;
}

void ClaudeProtocol::apply(const GarbageLine& /*line*/, AgentReaction& reaction) {
  if (++garbage_ <= max_claude_garbage) return;
  fail(reaction, fmt::format("{} printed more than {} lines that are not stream-json; is it the right program?",
                             traits_.name, max_claude_garbage));
}

void ClaudeProtocol::apply(const InitLine& line, AgentReaction& reaction) {
  if (!check_mode(line.mode, reaction) || line.session.empty()) return;
  const bool is_known = session_ && session_->session == line.session && session_->version == line.version &&
                        session_->model == line.model;
  if (is_known) return;
  // A resumed session may continue under another id.
  session_ = SessionOpened{line.session, line.version, line.model};
  reaction.events.emplace_back(*session_);
}

void ClaudeProtocol::apply(const ModeLine& line, AgentReaction& reaction) {
  // The agent may restrict itself.
  if (line.mode != "plan") check_mode(line.mode, reaction);
}

void ClaudeProtocol::apply(const ResponseLine& line, AgentReaction& reaction) {
  if (line.request != claude_initialize_id) return;
  if (!line.error.empty()) {
    fail(reaction, fmt::format("{} refused the control protocol: {}", traits_.name, base::visible(line.error)));
    return;
  }
  if (line.mode && !check_mode(*line.mode, reaction)) return;
  if (!line.knows_on_failure.value_or(true)) {
    fail(reaction, fmt::format("{} runs calls whose hook fails: it does not support `onFailure`", traits_.name), true);
  }
}

void ClaudeProtocol::apply(const RetryLine& line, AgentReaction& reaction) {
  reaction.events.emplace_back(RetryNoted{line.attempt, line.text});
}

void ClaudeProtocol::apply(const LimitLine& line, AgentReaction& reaction) {
  if (!line.is_reached) {
    reaction.events.emplace_back(LimitWindow{line.name, line.used_percent, line.resets_at});
    return;
  }
  has_limit_ = true;
  const std::string name = line.name.empty() ? "" : " " + base::quoted(line.name);
  reaction.events.emplace_back(LimitReached{fmt::format("the usage limit{} is reached", name), line.resets_at});
}

// --- Messages and calls ---

void ClaudeProtocol::apply(const AssistantLine& line, AgentReaction& reaction) {
  note_usage(line, reaction);
  note_message(line);
  for (const auto& block : line.blocks) {
    if (is_broken_) return;
    if (const auto* said = std::get_if<SaidText>(&block)) {
      reaction.events.emplace_back(TextSaid{said->text});
    } else {
      announce(line, std::get<ToolUse>(block), reaction);
    }
  }
}

void ClaudeProtocol::note_message(const AssistantLine& line) {
  if (line.parent) return;
  if (line.message != message_.id) message_ = {.id = line.message};
  const auto calls =
      std::ranges::count_if(line.blocks, [](const auto& block) { return std::holds_alternative<ToolUse>(block); });
  message_.calls += static_cast<std::size_t>(calls) + line.unusable_calls;
  if (traits_.prints_whole_messages) message_.is_whole = true;
}

void ClaudeProtocol::announce(const AssistantLine& line, const ToolUse& use, AgentReaction& reaction) {
  OpenCall call{.message = line.message, .parent = line.parent, .was_refused = false};
  const auto found = calls_.find(use.call);
  if (found != calls_.end()) {
    call.was_refused = found->second.was_refused;
  } else if (calls_.size() >= max_claude_calls) {
    fail(reaction, fmt::format("{} has more than {} calls without a result", traits_.name, max_claude_calls));
    return;
  }
  calls_.insert_or_assign(use.call, std::move(call));
  reaction.events.emplace_back(CallAnnounced{use.call, use.tool, use.arguments, line.parent});
}

void ClaudeProtocol::refuse(const std::string& call, AgentReaction& reaction) {
  if (calls_.size() >= max_claude_calls && !calls_.contains(call)) {
    fail(reaction, fmt::format("{} has more than {} calls without a result", traits_.name, max_claude_calls));
    return;
  }
  calls_[call].was_refused = true;
}

void ClaudeProtocol::apply(const DenialLine& line, AgentReaction& reaction) {
  if (!line.call.empty()) refuse(line.call, reaction);
}

void ClaudeProtocol::apply(const ResultsLine& line, AgentReaction& reaction) {
  for (const ToolResult& result : line.results) {
    const auto found = calls_.find(result.call);
    const bool is_marked = found != calls_.end() && found->second.was_refused;
    // A call that was refused has no other result than an error.
    const bool was_refused = result.has_failed && (result.says_refused || is_marked);
    if (found != calls_.end()) calls_.erase(found);
    reaction.events.emplace_back(CallEnded{result.call, result.has_failed, was_refused, result.digest, result.bytes});
  }
}

void ClaudeProtocol::apply(const StreamLine& line, AgentReaction& /*reaction*/) {
  // A call of a subagent is never released, so only the main conversation counts.
  if (line.is_of_subagent || traits_.prints_whole_messages) return;
  switch (line.part) {
    case StreamLine::Part::begin:
      message_ = {.id = line.message};
      break;
    case StreamLine::Part::call:
      ++message_.streamed_calls;
      break;
    case StreamLine::Part::end:
      message_.is_whole = true;
      break;
  }
}

// --- Questions ---

void ClaudeProtocol::apply(const AskLine& line, AgentReaction& reaction) {
  if (!traits_.has_control) {
    fail(reaction, fmt::format("{} asks for a permission, although its hook decides", traits_.name));
    return;
  }
  const bool is_open =
      std::ranges::any_of(questions_, [&](const auto& entry) { return entry.second.request == line.request; });
  if (is_open) {
    // One answer would decide about two calls.
    fail(reaction, fmt::format("{} asks twice with the same id {}", traits_.name, base::quoted(line.request)));
    return;
  }
  const std::size_t bytes = json::encode(line.arguments).size();
  if (questions_.size() >= max_claude_questions || question_bytes_ + bytes > max_claude_question_bytes) {
    reaction.lines.push_back(make_claude_deny(line.request, "too many calls wait for an answer; ask again later"));
    refuse(line.call, reaction);
    return;
  }
  const auto found = calls_.find(line.call);
  const std::uint64_t ticket = ++last_ticket_;
  question_bytes_ += bytes;
  questions_[ticket] = {line.request, line.call, line.arguments, bytes};
  reaction.events.emplace_back(CallAsked{.ticket = ticket,
                                         .call = line.call,
                                         .tool = line.tool,
                                         .arguments = line.arguments,
                                         .cwd = std::nullopt,
                                         .parent = found != calls_.end() ? found->second.parent : std::nullopt});
}

void ClaudeProtocol::apply(const OtherRequestLine& line, AgentReaction& reaction) {
  if (!traits_.has_control) return;
  if (line.subtype == "can_use_tool") {
    reaction.lines.push_back(make_claude_deny(line.request, line.problem));
  } else if (line.subtype == "hook_callback") {
    reaction.lines.push_back(make_claude_hook_denial(line.request));
  } else {
    reaction.lines.push_back(make_claude_refusal(line.request, line.subtype));
  }
}

void ClaudeProtocol::apply(const CancelLine& line, AgentReaction& reaction) {
  const auto found =
      std::ranges::find_if(questions_, [&](const auto& entry) { return entry.second.request == line.request; });
  if (found == questions_.end()) return;
  reaction.events.emplace_back(CallWithdrawn{found->first, found->second.call});
  question_bytes_ -= found->second.bytes;
  questions_.erase(found);
}

// --- The end of a turn ---

void ClaudeProtocol::apply(const TurnLine& line, AgentReaction& reaction) {
  end_usage(line, reaction);
  if (line.has_failed) explain_failure(line, reaction);
  for (const auto& [ticket, question] : questions_) {
    reaction.events.emplace_back(CallWithdrawn{ticket, question.call});
  }
  questions_.clear();
  question_bytes_ = 0;
  // Calls that a batch lost never get a result.
  calls_.clear();
  TurnOver over{.end = TurnEnd::completed, .text = line.text, .refused = line.refused};
  if (line.has_failed) over.end = TurnEnd::failed;
  if (line.was_aborted || (line.has_failed && is_interrupted_)) over.end = TurnEnd::interrupted;
  if (line.is_deferred && !line.has_failed) over.end = TurnEnd::deferred;
  reaction.events.emplace_back(std::move(over));
  reaction.closes_input = true;
  is_interrupted_ = false;
  has_limit_ = false;
}

void ClaudeProtocol::explain_failure(const TurnLine& line, AgentReaction& reaction) {
  constexpr std::int64_t too_many_requests = 429;
  if (is_login_missing(line)) {
    reaction.events.emplace_back(LoginMissing{line.text});
  } else if (line.api_status == too_many_requests && !has_limit_) {
    reaction.events.emplace_back(LimitReached{line.text, std::nullopt});
  }
}

void ClaudeProtocol::note_usage(const AssistantLine& line, AgentReaction& reaction) {
  if (!line.usage || *line.usage == TokenCounts{}) return;
  if (!line.parent) context_used_ = line.usage->input + line.usage->output;
  if (!traits_.prints_whole_messages) return;
  // The process may be ended before its last line, which has the totals.
  tokens_.input = add_counts(tokens_.input, line.usage->input);
  tokens_.output = add_counts(tokens_.output, line.usage->output);
  tokens_.cached = add_counts(tokens_.cached, line.usage->cached);
  reaction.events.emplace_back(make_totals());
}

void ClaudeProtocol::end_usage(const TurnLine& line, AgentReaction& reaction) {
  if (!line.usage && !line.cost_usd) return;
  if (line.usage) {
    tokens_ = {.input = std::max(tokens_.input, line.usage->input),
               .output = std::max(tokens_.output, line.usage->output),
               .cached = std::max(tokens_.cached, line.usage->cached)};
  }
  if (line.cost_usd) cost_usd_ = line.cost_usd;
  std::int64_t largest = 0;
  for (const auto& [model, window] : line.windows) {
    largest = std::max(largest, window);
    if (session_ && session_->model == model) context_size_ = window;
  }
  if (!context_size_ && largest > 0) context_size_ = largest;
  reaction.events.emplace_back(make_totals());
}

UsageTotals ClaudeProtocol::make_totals() const {
  return {.input_tokens = tokens_.input,
          .output_tokens = tokens_.output,
          .cached_tokens = tokens_.cached,
          .tokens_are_of_session = false,
          .cost_usd = cost_usd_,
          .cost_is_of_session = cost_usd_.has_value(),
          .context_used = context_used_,
          .context_size = context_size_};
}

void ClaudeProtocol::fail(AgentReaction& reaction, std::string reason, bool is_ungated) {
  is_broken_ = true;
  reaction.events.emplace_back(ProtocolFault{std::move(reason), is_ungated});
}

std::unique_ptr<AgentProtocol> make_claude_protocol(const AgentSetup& setup) {
  return std::make_unique<ClaudeProtocol>(claude_traits, setup);
}

std::unique_ptr<AgentProtocol> make_qwen_protocol(const AgentSetup& setup) {
  return std::make_unique<ClaudeProtocol>(qwen_traits, setup);
}

}  // namespace reeve::agents
