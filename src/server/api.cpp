#include "server/api.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/user.h"
#include "server/access.h"
#include "server/keys.h"
#include "server/manners.h"
#include "server/operations.h"
#include "server/pending_requests.h"
#include "server/recorder.h"
#include "server/whereabouts.h"
#include "wire/problem.h"

namespace reeve::server {

namespace {

using base::Error;

// What stands before the next slash; what is behind it stays.
std::string_view take_part(std::string_view& rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view part = rest.substr(0, slash);
  rest.remove_prefix(std::min(slash + 1, rest.size()));
  return part;
}

// The parts that stars stand for; nothing when the path is another. Tried for every route: nothing is copied before it
// fits.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  if (std::ranges::count(pattern, '/') != std::ranges::count(path, '/')) return std::nullopt;
  std::vector<std::string> parts;
  while (!pattern.empty() || !path.empty()) {
    const std::string_view wanted = take_part(pattern);
    const std::string_view found = take_part(path);
    if (wanted == "*" && !found.empty()) {
      parts.emplace_back(found);
    } else if (wanted != found) {
      return std::nullopt;
    }
  }
  return parts;
}

Error bad_request(std::string message, std::string fix = {}) {
  return {"api.bad_request", std::move(message), std::move(fix)};
}

}  // namespace

std::optional<std::string> Exchange::query(std::string_view name) const {
  const auto found = request.query.find(name);
  return found != request.query.end() ? std::optional(found->second) : std::nullopt;
}

std::int64_t Exchange::query_integer(std::string_view name, std::int64_t fallback, std::int64_t least,
                                     std::int64_t most) const {
  const auto text = query(name);
  if (!text) return fallback;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number < least || number > most) {
    throw bad_request(fmt::format("`{}` must be a whole number from {} to {}", name, least, most));
  }
  return number;
}

bool Exchange::query_flag(std::string_view name) const {
  const auto text = query(name);
  if (!text || *text == "0" || *text == "false") return false;
  if (*text == "1" || *text == "true" || text->empty()) return true;
  throw bad_request(fmt::format("`{}` must be 1, true, 0 or false", name));
}

const base::Value& Exchange::body() const {
  if (read_body) return *read_body;
  auto value = json::parse(request.body.empty() ? "{}" : std::string_view(request.body));
  if (!value) throw bad_request(fmt::format("the body is no JSON: {}", value.error().text()));
  if (value->as_object() == nullptr) throw bad_request("the body must be a JSON object");
  return read_body.emplace(std::move(*value));
}

std::string Exchange::actor() const {
  return request.peer.entrance == Entrance::tcp ? request.caller.name : os::user_name(request.peer.uid);
}

base::RunId Exchange::run_id() const {
  const auto id = base::RunId::parse(parts.at(0));
  if (!id)
    throw Error("run.not_found", fmt::format("there is no run {}", base::quoted(parts.at(0))), "ids look like TR-17");
  return *id;
}

base::ApprovalId Exchange::approval_id() const {
  const auto id = base::ApprovalId::parse(parts.at(0));
  if (!id) {
    throw Error("approval.not_found", fmt::format("there is no approval {}", base::quoted(parts.at(0))),
                "ids look like AP-4");
  }
  return *id;
}

base::ExecutionId Exchange::execution_id() const {
  const auto id = base::ExecutionId::parse(parts.at(0));
  if (!id) {
    throw Error("execution.not_found", fmt::format("there is no execution {}", base::quoted(parts.at(0))),
                "ids look like EX-9");
  }
  return *id;
}

void Exchange::send(int status, const base::Value& document) {
  send({.status = status, .body = json::encode(document)});
}

void Exchange::send(Response response) {
  if (std::exchange(is_answered, true)) return;
  responder->send(std::move(response));
}

void Exchange::send_encoded(int status, std::string json) { send({.status = status, .body = std::move(json)}); }

void Exchange::refuse(const Error& error) {
  if (auto before = runtime::read_repeated(error)) {
    return replay({.status = before->status, .body = std::move(before->body)});
  }
  send(refusal(error));
}

void Exchange::refuse(std::string_view code, std::string_view title, const base::Problems& problems) {
  const base::Value document = wire::problem_document(code, title, problems);
  send({.status = 422, .content_type = "application/problem+json", .body = json::encode(document)});
}

void Exchange::replay(Response response) {
  response.headers.emplace_back(replayed_header, "true");
  if (!response.body.empty() || !look_up) return send(std::move(response));
  look_up(subject_path(request.path), [this, headers = response.headers](Response now) {
    now.headers.insert(now.headers.end(), headers.begin(), headers.end());
    send(std::move(now));
  });
}

void Exchange::go_on(const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& error) {
    refuse(error);
  }
}

std::optional<std::string> find_text(const base::Value& body, std::string_view name, std::size_t longest) {
  const base::Value* found = body.find(name);
  if (found == nullptr || found->is_null()) return std::nullopt;
  const std::string* text = found->as_string();
  if (text == nullptr) throw bad_request(fmt::format("`{}` must be a string", name));
  if (text->size() > longest) throw bad_request(fmt::format("`{}` is longer than {} bytes", name, longest));
  // PostgreSQL keeps no text with one.
  if (text->find('\0') != std::string::npos) throw bad_request(fmt::format("`{}` has a NUL", name));
  return *text;
}

std::vector<Route> all_routes() {
  std::vector<Route> all;
  for (const auto& routes : {run_routes(),      approval_routes(), execution_routes(), execution_view_routes(),
                             pipeline_routes(), patch_routes(),    workflow_routes(),  tool_routes(),
                             role_routes(),     gate_routes(),     policy_routes(),    audit_routes(),
                             output_routes(),   terminal_routes(), event_routes(),     doctor_routes(),
                             daemon_routes(),   openapi_routes(),  monitor_routes(),   import_routes(),
                             token_routes(),    web_routes(),      config_routes(),    task_routes()}) {
    all.insert(all.end(), routes.begin(), routes.end());
  }
  return all;
}

Api::Api(runtime::Daemon& daemon, Front* front)
    : daemon_(daemon),
      front_(front),
      keys_(std::make_unique<Keys>(daemon)),
      whereabouts_(std::make_unique<Whereabouts>(daemon)),
      pending_(std::make_unique<PendingRequests>(daemon)) {
  for (const Route& route : all_routes()) served_.push_back({route, find_operation(route.method, route.path)});
}

Api::~Api() = default;

const Api::Served* Api::find(const SharedExchange& exchange) const {
  // What is asked for with HEAD is found as with GET; the connection leaves the body out.
  const std::string& method = exchange->request.method;
  const std::string_view wanted = method == "HEAD" ? "GET" : std::string_view(method);
  std::vector<std::string_view> methods;
  for (const Served& served : served_) {
    auto parts = match(served.route.path, exchange->request.path);
    if (!parts) continue;
    methods.push_back(served.route.method);
    if (served.route.method != wanted) continue;
    exchange->parts = std::move(*parts);
    return &served;
  }
  if (methods.empty()) {
    throw Error("api.no_route", fmt::format("there is nothing at {}", base::quoted(exchange->request.path)),
                "GET /api/openapi.json describes what there is");
  }
  exchange->send(answer_to_method(method, methods));
  return nullptr;
}

void Api::handle(Request request, std::shared_ptr<Responder> responder) {
  // It may come while the answer to another is being sent.
  const ledger::RequestTerms::Scope own_scope(nullptr);
  responder = record_exchange(request, std::move(responder));
  auto exchange = std::make_shared<Exchange>(Exchange{daemon_, std::move(request), std::move(responder), {}});
  exchange->front = front_;
  exchange->look_up = [this, asked = std::weak_ptr(exchange)](std::string path, std::function<void(Response)> take) {
    const auto alive = asked.lock();
    if (!alive) return;
    handle(make_look_up(alive->request, std::move(path)),
           capture([alive, take = std::move(take)](Response response) { take(std::move(response)); }));
  };
  exchange->go_on([&] {
    // Who stands in front may have judged it by another path.
    if (exchange->request.has_escaped_slash) throw bad_request("there is an escaped slash in the path");
    const Served* served = find(exchange);
    if (served != nullptr) serve(exchange, *served);
  });
}

void Api::serve(const SharedExchange& exchange, const Served& served) {
  const Route& route = served.route;
  require_access(exchange->request, served.operation);
  check_content_type(exchange->request);
  // What is stored now may be lost: nothing is accepted. To be asked to leave is no change.
  if (route.method != "GET" && route.path != "/api/daemon/stop") {
    if (const auto refusal = daemon_.check_files()) throw *refusal;
  }
  if (served.operation == nullptr) return route.handle(exchange);
  const Operation& operation = *served.operation;
  check_query(operation, exchange->request);
  if (!operation.body.is_null()) check_body(operation, exchange->body());
  if (operation.is_tagged) exchange->responder = tag_answer(exchange->responder, exchange->request);
  // One who asks for the head of an answer that goes on does not wait for what comes.
  if (exchange->request.method == "HEAD") exchange->request.query.erase("follow");
  pending_->add(exchange);
  const auto work = [exchange, handle = route.handle] {
    // Told meanwhile that the store does not answer and nothing was changed.
    if (exchange->is_answered) return;
    const ledger::RequestTerms::Scope scope(exchange->terms);
    handle(exchange);
  };
  whereabouts_->admit(exchange, operation, [this, exchange, keeping = operation.keeping, work] {
    keys_->admit(exchange, keeping, [exchange, work] { check_precondition(exchange, work); });
  });
}

}  // namespace reeve::server
