#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/problem.h"
#include "base/value.h"
#include "runtime/daemon.h"
#include "server/http.h"

// What the daemon answers to, one file per resource.
namespace reeve::server {

class Front;

// One request on its way to its answer. Shared by what works on it.
struct Exchange {
  runtime::Daemon& daemon;
  Request request;
  std::shared_ptr<Responder> responder;
  // The parts of the path that the route leaves open: {"TR-17"}.
  std::vector<std::string> parts;

  // Who asks, from the credential (APR-12). Looked up in the system's files, so only for what keeps the name.
  std::string actor() const;
  std::optional<std::string> query(std::string_view name) const;
  // Throws `api.bad_request` for what is none.
  std::int64_t query_integer(std::string_view name, std::int64_t fallback, std::int64_t least, std::int64_t most) const;
  bool query_flag(std::string_view name) const;
  // The body as a JSON object; throws `api.bad_request`.
  base::Value body() const;
  base::RunId run_id() const;
  base::ApprovalId approval_id() const;
  base::ExecutionId execution_id() const;
  // What the client names the change by, if it does. `content`: what a repetition must not differ in.
  std::optional<runtime::Idempotency> idempotency(std::string_view content) const;

  // The first of them is the answer; what comes later is not sent.
  void send(int status, const base::Value& document);
  void refuse(const base::Error& error);
  // What a person wrote is wrong: all of it.
  void refuse(std::string_view code, std::string_view title, const base::Problems& problems);
  bool is_answered = false;
  // The door to TCP; none on the sockets of runs.
  Front* front = nullptr;
};
using SharedExchange = std::shared_ptr<Exchange>;

// A text of the body; nothing when it is not there or null. Throws `api.bad_request` for what is none, or longer.
std::optional<std::string> find_text(const base::Value& body, std::string_view name, std::size_t longest);
// Of what people write beside a decision, and of names.
inline constexpr std::size_t longest_text = 4'096;
inline constexpr std::size_t longest_name = 255;

struct Route {
  std::string_view method;
  // "/api/runs/*/output": a star for one part.
  std::string_view path;
  // May throw base::Error.
  void (*handle)(SharedExchange exchange);
};

std::vector<Route> run_routes();
std::vector<Route> approval_routes();
std::vector<Route> execution_routes();
std::vector<Route> patch_routes();
std::vector<Route> pipeline_routes();
std::vector<Route> audit_routes();
std::vector<Route> output_routes();
std::vector<Route> event_routes();
std::vector<Route> daemon_routes();
std::vector<Route> token_routes();
std::vector<Route> web_routes();
// All of them.
std::vector<Route> all_routes();

// Finds the route and answers what goes wrong.
class Api {
 public:
  explicit Api(runtime::Daemon& daemon, Front* front = nullptr);
  void handle(Request request, std::shared_ptr<Responder> responder);

 private:
  runtime::Daemon& daemon_;
  Front* front_;
  std::vector<Route> routes_;
};

}  // namespace reeve::server
