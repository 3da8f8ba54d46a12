#pragma once

#include <expected>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>

#include "base/clock.h"
#include "base/value.h"
#include "client/http.h"
#include "wire/tool_call.h"

// The socket of one run (REEVE_SOCKET), as a process of the run uses it; or that of the daemon, for a question from
// outside.
namespace reeve::client {

// When an unanswered request is given up.
struct AskTerms {
  base::BootTime deadline;
  std::stop_token stop = {};
  // The user whose daemon answers; unset: that of this process. Nobody else's answer counts.
  std::optional<uid_t> owner = {};
};

// Every request is one that the daemon may get twice: it is repeated, with growing pauses, while the daemon restarts.
// An answer that is missing, late, malformed or not recognised is an error (TOOL-9), whose text says what happened.
class RunSocket {
 public:
  RunSocket(std::filesystem::path socket, AskTerms terms);
  // For the requests from now on. The connection is kept: the daemon looks at its other end only once.
  void set_terms(AskTerms terms) { terms_ = std::move(terms); }

  // The document of a response with a 2xx status.
  std::expected<base::Value, std::string> get(const std::string& target);
  // The same for a document that may be missing: nothing if the daemon does not have it (404), or does not offer it
  // here (403).
  std::expected<std::optional<base::Value>, std::string> find(const std::string& target);
  std::expected<base::Value, std::string> post(const std::string& target, const base::Value& body);

  // How long the next request for the decision may last, given the reply that says `wait`; nothing ends the waiting.
  using OnWait = std::function<std::optional<base::Milliseconds>(const wire::CallReply&)>;
  // Asks about a call, and waits until it is allowed or denied. A call given up while it waits is withdrawn, unless it
  // may be deferred: then an agent that is resumed asks again. If `on_wait` ends the waiting, the reply is that `wait`,
  // and no answer has been handed out.
  std::expected<wire::CallReply, std::string> decide(const wire::CallRequest& request, const OnWait& on_wait = {});
  // The agent continues without the call, whether the daemon learns of it within a second or not.
  void withdraw(base::CallId call) const;
  // The same for a call that the tool host runs: an allowed one has its result.
  std::expected<wire::CallReply, std::string> run_hosted(const wire::CallRequest& request);
  // The record of an approval, once it is decided.
  std::expected<base::Value, std::string> wait_approval(const std::string& name);

 private:
  std::expected<base::Value, std::string> ask(const Request& request);
  // A response of any status but 503.
  std::expected<Response, std::string> ask_until_answered(const Request& request);
  // Throws ConnectionLost, and GivenUp at the end of the terms.
  Response ask_once(const Request& request);
  std::expected<wire::CallReply, std::string> post_call(const wire::CallRequest& request);
  std::expected<wire::CallReply, std::string> wait_call(const wire::CallReply& asked, base::Milliseconds timeout);
  // Empty while the terms allow to continue.
  std::string find_end() const;
  // Longer each time until a response arrives.
  void pause();

  std::filesystem::path socket_;
  AskTerms terms_;
  base::Milliseconds pause_;
  std::optional<Connection> connection_;
};

}  // namespace reeve::client
