#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/problem.h"
#include "base/value.h"
#include "runtime/daemon.h"
#include "server/contract/operations.h"
#include "server/http/http.h"

namespace reeve::server {

class TcpEndpoint;

// One request and its response. Shared by everything that works on it.
struct Exchange {
  runtime::Daemon& daemon;
  Request request;
  std::shared_ptr<Responder> responder;
  // What the names in the operation's path matched: {"TR-17"}.
  std::vector<std::string> parts;

  // The caller's name, from the credential (APR-12). Reads the user database, so call it only where the name is stored.
  std::string actor() const;
  std::optional<std::string> query(std::string_view name) const;
  // Throws `api.bad_request` if the value is not an integer in range.
  std::int64_t query_integer(std::string_view name, std::int64_t fallback, std::int64_t least, std::int64_t most) const;
  bool query_flag(std::string_view name) const;
  // The body as a JSON object; throws `api.bad_request`. Parsed once, so that validation and handler see the same
  // value.
  const base::Value& body() const;
  base::RunId run_id() const;
  base::ApprovalId approval_id() const;
  base::ExecutionId execution_id() const;
  base::CallId call_id() const;
  base::GrantId grant_id() const;
  // The Idempotency-Key of the request, if it has one.
  std::optional<runtime::Idempotency> key = {};

  // The first call sends the response; later ones do nothing.
  void send(int status, const base::Value& document);
  // For a document that is already JSON.
  void send_encoded(int status, std::string json);
  void send(Response response);
  void refuse(const base::Error& error);
  // Reports every problem in user input.
  void refuse(base::ErrorCode code, std::string_view title, const base::Problems& problems);
  // Repeats the stored response of an earlier request. If it was too long to be stored (no body), sends the current
  // state of the resource instead.
  void replay(Response response);
  // Runs `step`; an exception becomes an error response.
  void go_on(const std::function<void()>& step);
  bool is_answered = false;
  // See body().
  mutable std::optional<base::Value> read_body = {};
  // Fetches another resource on behalf of the same client; the exchange lives until the response arrives.
  std::function<void(std::string path, std::function<void(Response)> take)> look_up = {};
  // How long the request waits for the store; null for requests that wait indefinitely.
  std::shared_ptr<ledger::RequestTerms> terms = {};
  // The run whose own socket received the request; nothing on the daemon's sockets.
  std::optional<base::RunId> run_socket = {};
  // The TCP endpoint; null on run sockets.
  TcpEndpoint* tcp_endpoint = nullptr;
  // Set if the caller is a process inside a run (server/access/in_run_policy.h). Access is checked before the handler
  // runs; operations that report the attempt refuse it themselves.
  std::optional<InRunCaller> in_run_caller = {};
  // The project that the request names, if a caller who may not name paths may name this one: the project of its token,
  // or one with records (server/access/project_policy.h).
  std::optional<std::string> known_project = {};
};

// A string member of the body; nothing if absent or null. Throws `api.bad_request` if it is not a string or too long.
std::optional<std::string> find_text(const base::Value& body, std::string_view name, std::size_t longest);
// Limits for comments on decisions, and for names.
inline constexpr std::size_t longest_text = 4'096;
inline constexpr std::size_t longest_name = 255;

// Marks a response that was sent before.
inline constexpr std::string_view replayed_header = "Idempotency-Replayed";

}  // namespace reeve::server
