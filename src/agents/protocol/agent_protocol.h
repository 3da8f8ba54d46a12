#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/value.h"
#include "model/describe.h"
#include "model/run.h"

// The protocols of real agents as state machines (AGT-4): what the agent writes becomes events, decisions become what
// the agent reads. Pure: the adapter (src/adapter) owns the process and its pipes. Nothing throws for any bytes.
namespace reeve::agents {

using model::AgentKind;

// How far the gate reaches (AGT-5): every call, only those that the agent asks about, or none.
enum class GateReach { gated, asks, unguarded };
REEVE_DESCRIBE_ENUM(GateReach, gated, asks, unguarded)

// How an agent ends while a person thinks, so that its session can be resumed with the answer (AGT-6): by an answer
// that defers the call, by interrupting its turn, or by ending its process.
enum class ReleaseWay { defer, interrupt, end };

// One line, message or event of an agent; a longer one is a fault.
inline constexpr std::size_t max_agent_line = 16UZ * 1024 * 1024;
// Of a text in an event, and of the final answer.
inline constexpr std::size_t max_event_text = 64UZ * 1024;

// --- How the agent is started ---

struct AgentSetup {
  // The agent's own command: a program, and words that come before all others.
  std::vector<std::string> command;
  // The working folder; absolute.
  std::string folder;
  // A folder of this attempt in which the adapter writes `AgentCommand::files`; absolute, read-only for the agent.
  std::string private_folder;
  // The absolute path of `reeve`, for hooks and for its MCP server.
  std::string reeve_program;
  std::string prompt;
  // Chosen by Reeve for a new session where the agent accepts one; otherwise empty until SessionOpened.
  std::string session;
  bool resumes = false;
  // The resumed session has a call whose answer it must ask for again: it gets no new prompt, if it can do without.
  bool has_deferred_call = false;
  std::optional<std::string> model;
  std::optional<double> budget_usd;
  // The agent runs in Reeve's sandbox, so its own must be off.
  bool is_confined = false;
  // How long a hook may wait for its answer.
  int hook_seconds = 86'400;
  // Random letters and digits of this attempt: the password of the agent's own HTTP server, and part of names that the
  // files of a project must not know.
  std::string secret;
};

struct AgentFile {
  std::string name;
  std::string text;
};

struct AgentCommand {
  std::vector<std::string> argv;
  // Added to the environment, or replaced in it; and removed from it.
  std::map<std::string, std::string> environment;
  std::vector<std::string> removed_variables;
  // Added only where the environment lacks them, so that a file of the project cannot.
  std::map<std::string, std::string> default_variables;
  std::vector<AgentFile> files;
  // The prompt is written to standard input, which is then closed. Otherwise the protocol writes there.
  std::optional<std::string> input;
};

// --- What the agent says ---

// Sent again when something of it changes.
struct SessionOpened {
  std::string session;
  std::optional<std::string> version;
  std::optional<std::string> model;
};
// A whole message or paragraph.
struct TextSaid {
  std::string text;
};
// The agent announces a call. The gate may have been asked about it before or will be.
struct CallAnnounced {
  // The agent's own id.
  std::string call;
  std::string tool;
  base::Value arguments;
  std::optional<std::string> parent;
};
// The agent waits for AgentProtocol::answer() with this ticket.
struct CallAsked {
  std::uint64_t ticket = 0;
  std::string call;
  std::string tool;
  base::Value arguments;
  std::optional<std::string> cwd;
  std::optional<std::string> parent;
};
// The agent no longer waits for it.
struct CallWithdrawn {
  std::uint64_t ticket = 0;
  std::string call;
};
// The agent has a result, or was told no. A result of a call that the gate did not allow ends the run (AGT-5).
struct CallEnded {
  std::string call;
  bool has_failed = false;
  // The agent did not run it.
  bool was_refused = false;
  // Of the result, before anything was cut.
  std::string digest;
  std::int64_t bytes = 0;
};
// Totals so far. `of_session`: since the session began, also in earlier processes; otherwise since this process began.
struct UsageTotals {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t cached_tokens = 0;
  bool tokens_are_of_session = false;
  std::optional<double> cost_usd;
  bool cost_is_of_session = false;
  // Of the model's context window.
  std::optional<std::int64_t> context_used;
  std::optional<std::int64_t> context_size;
};
// The share of a usage limit that is used up.
struct LimitWindow {
  std::string name;
  std::optional<double> used_percent;
  std::optional<base::WallTime> resets_at;
};
// No further model call is possible (RUN-18). Without a time the agent gave none in a structured field.
struct LimitReached {
  std::string text;
  std::optional<base::WallTime> resets_at;
};
// The agent repeats a failed request to its model by itself.
struct RetryNoted {
  int attempt = 0;
  std::string text;
};
struct LoginMissing {
  std::string text;
};
// Somebody other than the adapter answered a request for permission.
struct AnsweredElsewhere {
  std::string call;
};
enum class TurnEnd { completed, failed, interrupted, deferred };
struct TurnOver {
  TurnEnd end = TurnEnd::completed;
  // The final answer, or what went wrong.
  std::string text;
  // Calls that the agent says were refused.
  std::vector<std::string> refused;
};
// The agent cannot be trusted to be gated, or cannot be understood: the adapter ends it.
struct ProtocolFault {
  std::string reason;
  bool is_ungated = false;
};

using AgentEvent =
    std::variant<SessionOpened, TextSaid, CallAnnounced, CallAsked, CallWithdrawn, CallEnded, UsageTotals, LimitWindow,
                 LimitReached, RetryNoted, LoginMissing, AnsweredElsewhere, TurnOver, ProtocolFault>;

// A request to the agent's own HTTP server. Responses come back with its number.
struct AgentRequest {
  std::uint64_t number = 0;
  std::string method;
  std::string target;
  // JSON; empty for none.
  std::string body;
};

struct AgentReaction {
  std::vector<AgentEvent> events;
  // For the agent's standard input, without newlines.
  std::vector<std::string> lines;
  // For the agent's HTTP server.
  std::vector<AgentRequest> requests;
  // After the lines: the agent is to end by itself.
  bool closes_input = false;
};

enum class CallVerdict { allow, deny, defer };
struct CallAnswer {
  CallVerdict verdict = CallVerdict::deny;
  // For the model, if the protocol can carry it.
  std::string reason;
};

class AgentProtocol {
 public:
  AgentProtocol() = default;
  AgentProtocol(const AgentProtocol&) = delete;
  AgentProtocol& operator=(const AgentProtocol&) = delete;
  virtual ~AgentProtocol() = default;

  // After the process has started.
  virtual AgentReaction begin() = 0;
  // One line of its standard output without the newline; of an agent with an HTTP server, see on_event().
  virtual AgentReaction on_line(std::string_view line) = 0;
  // To a CallAsked; each ticket is answered once, others are ignored.
  virtual AgentReaction answer(std::uint64_t ticket, const CallAnswer& answer) = 0;
  // Ends the turn and keeps the session.
  virtual AgentReaction interrupt() = 0;
  // The next prompt of the session, after TurnOver or on a resume that stays silent.
  virtual AgentReaction say(std::string_view prompt) = 0;

  virtual ReleaseWay release_way() const = 0;
  virtual GateReach reach() const = 0;
  // Whether this call can be released: it is the only one of its message, and the message is whole.
  virtual bool may_release(std::string_view call) const = 0;

  // The base address of the agent's HTTP server, once the agent has printed it; empty for other agents.
  virtual std::string server_address() const { return {}; }
  // An event of its event stream: the text behind `data:`.
  virtual AgentReaction on_event(std::string_view /*data*/) { return {}; }
  virtual AgentReaction on_response(std::uint64_t /*number*/, int /*status*/, std::string_view /*body*/) { return {}; }
  // The process has ended by itself, and all that it wrote has been read.
  virtual AgentReaction on_exit(int /*exit_code*/) { return {}; }
  // One line of its standard error.
  virtual AgentReaction on_error_line(std::string_view /*line*/) { return {}; }
  // Whether CallEnded says that a call was refused. Otherwise the failed result of a refused call is the
  // reason that the agent was given.
  virtual bool marks_refusals() const { return true; }
};

// --- All agents ---

AgentCommand make_agent_command(AgentKind kind, const AgentSetup& setup);
std::unique_ptr<AgentProtocol> make_agent_protocol(AgentKind kind, const AgentSetup& setup);

}  // namespace reeve::agents
