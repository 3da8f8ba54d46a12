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
  // The body as a JSON object; throws `api.bad_request`. Read once: what it was held to is what is worked with.
  const base::Value& body() const;
  base::RunId run_id() const;
  base::ApprovalId approval_id() const;
  base::ExecutionId execution_id() const;
  // What the client names the change by, if it does.
  std::optional<runtime::Idempotency> key = {};

  // The first of them is the answer; what comes later is not sent.
  void send(int status, const base::Value& document);
  // A document that is JSON already.
  void send_encoded(int status, std::string json);
  void send(Response response);
  void refuse(const base::Error& error);
  // What a person wrote is wrong: all of it.
  void refuse(std::string_view code, std::string_view title, const base::Problems& problems);
  // The answer that the same request was given before. One without a body was too long to be kept: what the request was
  // about is shown as it is now.
  void replay(Response response);
  // What throws is refused.
  void go_on(const std::function<void()>& step);
  bool is_answered = false;
  // See body().
  mutable std::optional<base::Value> read_body = {};
  // Asks for another resource in the name of the same client; lives until that is answered.
  std::function<void(std::string path, std::function<void(Response)> take)> look_up = {};
  // What it has agreed to about the store; none where it waits as long as that takes.
  std::shared_ptr<ledger::RequestTerms> terms = {};
  // The door to TCP; none on the sockets of runs.
  Front* front = nullptr;
  // Who asks, if that is a process inside a run (server/whereabouts.h). What the operation allows it is settled before
  // it is handled; those that report the attempt refuse it themselves.
  std::optional<Insider> insider = {};
};
using SharedExchange = std::shared_ptr<Exchange>;

// A text of the body; nothing when it is not there or null. Throws `api.bad_request` for what is none, or longer.
std::optional<std::string> find_text(const base::Value& body, std::string_view name, std::size_t longest);
// Of what people write beside a decision, and of names.
inline constexpr std::size_t longest_text = 4'096;
inline constexpr std::size_t longest_name = 255;

// Marks an answer that was given before.
inline constexpr std::string_view replayed_header = "Idempotency-Replayed";

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
std::vector<Route> task_routes();
std::vector<Route> pipeline_routes();
std::vector<Route> audit_routes();
std::vector<Route> output_routes();
std::vector<Route> terminal_routes();
std::vector<Route> event_routes();
std::vector<Route> daemon_routes();
std::vector<Route> import_routes();
std::vector<Route> monitor_routes();
std::vector<Route> execution_view_routes();
std::vector<Route> workflow_routes();
std::vector<Route> tool_routes();
std::vector<Route> role_routes();
std::vector<Route> gate_routes();
std::vector<Route> policy_routes();
std::vector<Route> config_routes();
std::vector<Route> doctor_routes();
std::vector<Route> openapi_routes();
std::vector<Route> token_routes();
std::vector<Route> web_routes();
// All of them.
std::vector<Route> all_routes();

class Keys;
class PendingRequests;
class Whereabouts;
struct Operation;

// Finds the route, holds the request to what every one is held to (server/manners.h), and answers what goes wrong.
class Api {
 public:
  explicit Api(runtime::Daemon& daemon, Front* front = nullptr);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  void handle(Request request, std::shared_ptr<Responder> responder);

 private:
  struct Served {
    Route route;
    const Operation* operation = nullptr;
  };
  // What is at that path, with its open parts in `exchange`; nothing when the answer is said already.
  const Served* find(const SharedExchange& exchange) const;
  void serve(const SharedExchange& exchange, const Served& served);

  runtime::Daemon& daemon_;
  Front* front_;
  std::vector<Served> served_;
  std::unique_ptr<Keys> keys_;
  std::unique_ptr<Whereabouts> whereabouts_;
  std::unique_ptr<PendingRequests> pending_;
};

}  // namespace reeve::server
