#pragma once

#include <expected>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/types.h>

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

  // The document of a response with a 2xx status.
  std::expected<base::Value, std::string> get(const std::string& target);
  std::expected<base::Value, std::string> post(const std::string& target, const base::Value& body);

  // Asks about a call, and waits until it is allowed or denied. A call given up while it waits is withdrawn.
  std::expected<wire::CallReply, std::string> decide(const wire::CallRequest& request);
  // The same for a call that the tool host runs: an allowed one has its result.
  std::expected<wire::CallReply, std::string> run_hosted(const wire::CallRequest& request);
  // The record of an approval, once it is decided.
  std::expected<base::Value, std::string> wait_approval(const std::string& name);

 private:
  std::expected<base::Value, std::string> ask(const Request& request);
  // Throws ConnectionLost, and GivenUp at the end of the terms.
  Response ask_once(const Request& request);
  std::expected<wire::CallReply, std::string> post_call(const wire::CallRequest& request);
  std::expected<wire::CallReply, std::string> wait_call(const wire::CallReply& asked);
  void withdraw(base::CallId call) const;
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
