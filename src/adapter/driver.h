#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "adapter/agent_end.h"
#include "adapter/call_book.h"
#include "adapter/effect.h"
#include "adapter/retry_watch.h"
#include "adapter/session_totals.h"
#include "agents/protocol/agent_protocol.h"
#include "os/process.h"
#include "wire/tool_call.h"

namespace reeve::adapter {

// Exit codes that mean something to Reeve.
inline constexpr int failed_exit_code = 1;
// A usage limit (RUN-18).
inline constexpr int limited_exit_code = 75;
// Calls wait for a person, and the agent is gone (AGT-6).
inline constexpr int released_exit_code = 90;

struct DriverTerms {
  agents::AgentKind kind = agents::AgentKind::claude;
  // Nothing: the agent is never released.
  std::optional<base::Milliseconds> release_after = {};
  // The session that is resumed, and what Reeve has stored about it.
  std::optional<std::string> resumed_session = {};
  wire::SessionUsage stored_usage = {};
  // The session waits for the answer to a call.
  bool has_deferred_call = false;
  // The prompt of an agent that was resumed for a call and does not ask for it.
  std::string continuation = {};
};

// Decides what an adapter does: what the agent says, its gate asks and Reeve answers goes in, effects come out. One
// function decides about every call, on every channel. Pure: time comes with each input; `protocol` is its only
// collaborator and must outlive it.
class Driver {
 public:
  Driver(DriverTerms terms, agents::AgentProtocol& protocol);

  // The agent has started.
  Effects begin(base::BootTime now);
  // Of its standard output and error, without newlines.
  Effects on_line(base::BootTime now, std::string_view line);
  Effects on_error_line(base::BootTime now, std::string_view line);
  // Of its HTTP server.
  Effects on_event(base::BootTime now, std::string_view data);
  Effects on_response(base::BootTime now, std::uint64_t number, int status, std::string_view body);
  // Its messages cannot be followed any more.
  Effects on_broken(base::BootTime now, std::string_view why);
  // A hook asks on its connection, or has closed it.
  Effects on_hook(base::BootTime now, std::uint64_t connection, wire::CallRequest request);
  Effects on_hook_gone(base::BootTime now, std::uint64_t connection);
  // Reeve's first `wait` for a call, and its answer: also a `wait` if the call was left.
  Effects on_call_waits(base::BootTime now, std::uint64_t number, const wire::CallReply& reply);
  Effects on_call_reply(base::BootTime now, std::uint64_t number,
                        const std::expected<wire::CallReply, std::string>& reply);
  // Reeve knows the session now, so that another attempt can resume it.
  Effects on_session_stored(base::BootTime now);
  Effects on_signal(base::BootTime now, int number);
  // The agent has ended, and everything that it wrote was handed over.
  Effects on_agent_gone(base::BootTime now, const os::ExitStatus& status);
  Effects on_time(base::BootTime now);
  std::optional<base::BootTime> next_time() const;

  static constexpr std::size_t max_open_calls = 60;

 private:
  // Who waits for the answer to a call: a hook on its connection, or the agent's protocol with a ticket.
  struct Asker {
    enum class Kind { hook, ticket } kind = Kind::hook;
    std::uint64_t id = 0;
    friend bool operator==(const Asker&, const Asker&) = default;
  };
  enum class Stage { asking, waiting, leaving_to_release, leaving_to_deny };
  // A call that Reeve has not decided.
  struct OpenCall {
    wire::CallRequest request;
    std::vector<Asker> askers;
    Stage stage = Stage::asking;
    std::optional<base::CallId> reeve_call;
    std::string approval;
    base::BootTime waits_since{};
  };
  struct Ending {
    int code = 0;
    AgentEnd steps;
  };

  Effects take_effects();
  void add(Effect effect) { effects_.push_back(std::move(effect)); }
  void print(std::string line);
  void print_error(std::string line) { add(PrintError{std::move(line)}); }
  void apply(const agents::AgentReaction& reaction);
  void note_bytes();

  // driver_events.cpp
  void on(const agents::SessionOpened& event);
  void on(const agents::TextSaid& event);
  void on(const agents::CallAnnounced& event);
  void on(const agents::CallAsked& event);
  void on(const agents::CallWithdrawn& event);
  void on(const agents::CallEnded& event);
  void on(const agents::UsageTotals& event);
  void on(const agents::LimitWindow& event);
  void on(const agents::LimitReached& event);
  void on(const agents::RetryNoted& event);
  void on(const agents::LoginMissing& event);
  void on(const agents::AnsweredElsewhere& event);
  void on(const agents::TurnOver& event);
  void on(const agents::ProtocolFault& event);
  void complete(const agents::TurnOver& event);
  void report_result(const CallBook::Ended& ended, const agents::CallEnded& event);
  void post_outcome(std::string_view outcome, std::string_view reason,
                    const std::optional<base::WallTime>& resets_at = {});
  void post_session();

  // driver_calls.cpp
  void ask(const Asker& asker, wire::CallRequest request);
  void answer(const Asker& asker, agents::CallVerdict verdict, const std::string& reason,
              const std::optional<base::CallId>& call);
  void close(std::uint64_t number, CallState state, const std::string& reason);
  void remove_asker(const Asker& asker);
  void look_at_waiting();
  bool is_alone(const OpenCall& open) const;
  bool may_release(const OpenCall& open) const;
  bool must_deny(const OpenCall& open) const;
  void release(std::uint64_t number);
  void deny_held(std::uint64_t number);
  void print_call(const std::string& call, std::string_view tool, const base::Value& arguments);
  void print_about(const OpenCall& open, std::string_view text);

  // driver.cpp
  // The first reason to end counts; ungated is stronger than any.
  void end_agent(int code, base::Milliseconds patience);
  void fail(std::string_view reason);
  void end_ungated(std::string_view reason);
  bool is_silent_resume() const;
  void note_progress();

  DriverTerms terms_;
  agents::AgentProtocol& protocol_;
  base::BootTime now_{};
  Effects effects_;

  CallBook book_;
  std::map<std::uint64_t, OpenCall> open_;
  // The agent's id of the call that the last printed line is about.
  std::string shown_call_;
  bool has_told_holding_ = false;
  bool was_denied_ = false;
  // Denied because nobody answered, not because of an answer.
  std::set<std::string, std::less<>> denied_while_held_;

  wire::SessionReport session_;
  SessionTotals totals_;
  bool is_session_stored_ = false;
  bool must_post_session_ = false;
  base::BootTime session_posted_at_{};

  RetryWatch retries_;
  std::map<std::string, double, std::less<>> told_windows_;
  // When a resumed agent that stays silent gets a prompt to continue.
  std::optional<base::BootTime> continue_at_;
  base::BootTime printed_at_{};
  base::BootTime heartbeat_at_{};
  std::string last_error_line_;
  bool has_opened_events_ = false;
  bool is_turn_over_ = false;
  bool is_ungated_ = false;
  bool is_over_ = false;
  std::optional<Ending> ending_;
};

}  // namespace reeve::adapter
