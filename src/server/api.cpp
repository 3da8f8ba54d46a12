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
#include "wire/problem.h"

namespace reeve::server {

namespace {

using base::Error;

// The parts that stars stand for; nothing when the path is another.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  const auto wanted = base::split(pattern, '/');
  const auto found = base::split(path, '/');
  if (wanted.size() != found.size()) return std::nullopt;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == "*" && !found[i].empty()) {
      parts.emplace_back(found[i]);
    } else if (wanted[i] != found[i]) {
      return std::nullopt;
    }
  }
  return parts;
}

// "application/json", with parameters or without.
bool is_json(std::string_view type) {
  return base::to_ascii_lower(base::trim(type.substr(0, type.find(';')))) == "application/json";
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
  return text && *text != "0" && *text != "false";
}

base::Value Exchange::body() const {
  auto value = json::parse(request.body.empty() ? "{}" : std::string_view(request.body));
  if (!value) throw bad_request(fmt::format("the body is no JSON: {}", value.error().text()));
  if (value->as_object() == nullptr) throw bad_request("the body must be a JSON object");
  return std::move(*value);
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

std::optional<runtime::Idempotency> Exchange::idempotency(std::string_view content) const {
  constexpr std::size_t longest_key = 255;
  auto key = request.header("idempotency-key");
  if (!key) return std::nullopt;
  if (key->empty() || key->size() > longest_key) throw bad_request("Idempotency-Key: 1 to 255 bytes");
  return runtime::Idempotency{std::move(*key),
                              base::sha256_hex(fmt::format("{} {}\n{}", request.method, request.path, content))};
}

void Exchange::send(int status, const base::Value& document) {
  if (std::exchange(is_answered, true)) return;
  responder->send({.status = status, .body = json::encode(document)});
}

void Exchange::refuse(const Error& error) {
  if (std::exchange(is_answered, true)) return;
  responder->send({.status = wire::http_status(error.code()),
                   .content_type = "application/problem+json",
                   .body = json::encode(wire::problem_document(error))});
}

void Exchange::refuse(std::string_view code, std::string_view title, const base::Problems& problems) {
  if (std::exchange(is_answered, true)) return;
  const base::Value document = wire::problem_document(code, title, problems);
  responder->send({.status = 422, .content_type = "application/problem+json", .body = json::encode(document)});
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
  for (const auto& routes :
       {run_routes(), approval_routes(), execution_routes(), pipeline_routes(), patch_routes(), audit_routes(),
        output_routes(), event_routes(), daemon_routes(), token_routes(), web_routes()}) {
    all.insert(all.end(), routes.begin(), routes.end());
  }
  return all;
}

Api::Api(runtime::Daemon& daemon, Front* front) : daemon_(daemon), front_(front), routes_(all_routes()) {}

void Api::handle(Request request, std::shared_ptr<Responder> responder) {
  auto exchange = std::make_shared<Exchange>(Exchange{daemon_, std::move(request), std::move(responder), {}});
  exchange->front = front_;
  try {
    // Who stands in front may have judged it by another path.
    if (exchange->request.has_escaped_slash) throw bad_request("there is an escaped slash in the path");
    bool is_known = false;
    for (const Route& route : routes_) {
      auto parts = match(route.path, exchange->request.path);
      if (!parts) continue;
      is_known = true;
      if (route.method != exchange->request.method) continue;
      require_access(exchange->request, route.path);
      const auto type = exchange->request.header("content-type");
      // A page of another origin can send forms without being asked; it cannot send this.
      if (route.method != "GET" && (!type || !is_json(*type))) {
        throw Error("api.unsupported_media_type", "changes are sent as application/json",
                    "set Content-Type: application/json");
      }
      exchange->parts = std::move(*parts);
      route.handle(exchange);
      return;
    }
    if (is_known) throw Error("api.method_not_allowed", "this resource has no such method");
    throw Error("api.no_route", fmt::format("there is nothing at {}", base::quoted(exchange->request.path)));
  } catch (const Error& error) {
    exchange->refuse(error);
  }
}

}  // namespace reeve::server
