#include "server/request/exchange.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/user.h"
#include "server/request/request_validation.h"
#include "wire/problem.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

Error bad_request(std::string message, std::string fix = {}) {
  return {ErrorCode::api_bad_request, std::move(message), std::move(fix)};
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
  if (!value) throw bad_request(fmt::format("the body is not valid JSON: {}", value.error().text()));
  if (value->as_object() == nullptr) throw bad_request("the body must be a JSON object");
  return read_body.emplace(std::move(*value));
}

std::string Exchange::actor() const {
  return request.peer.entrance == Entrance::tcp ? request.caller.name : os::user_name(request.peer.uid);
}

base::RunId Exchange::run_id() const {
  const auto id = base::RunId::parse(parts.at(0));
  if (!id)
    throw Error(ErrorCode::run_not_found, fmt::format("there is no run {}", base::quoted(parts.at(0))),
                "ids look like TR-17");
  return *id;
}

base::ApprovalId Exchange::approval_id() const {
  const auto id = base::ApprovalId::parse(parts.at(0));
  if (!id) {
    throw Error(ErrorCode::approval_not_found, fmt::format("there is no approval {}", base::quoted(parts.at(0))),
                "ids look like AP-4");
  }
  return *id;
}

base::ExecutionId Exchange::execution_id() const {
  const auto id = base::ExecutionId::parse(parts.at(0));
  if (!id) {
    throw Error(ErrorCode::execution_not_found, fmt::format("there is no execution {}", base::quoted(parts.at(0))),
                "ids look like EX-9");
  }
  return *id;
}

base::CallId Exchange::call_id() const {
  const auto id = base::CallId::parse(parts.at(0));
  if (!id) {
    throw Error(ErrorCode::call_not_found, fmt::format("there is no tool call {}", base::quoted(parts.at(0))),
                "ids look like TC-5");
  }
  return *id;
}

base::GrantId Exchange::grant_id() const {
  const auto id = base::GrantId::parse(parts.at(0));
  if (!id) {
    throw Error(ErrorCode::grant_not_found, fmt::format("there is no standing grant {}", base::quoted(parts.at(0))),
                "ids look like GR-3");
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

void Exchange::refuse(ErrorCode code, std::string_view title, const base::Problems& problems) {
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
  // PostgreSQL cannot store NUL in text.
  if (text->find('\0') != std::string::npos) throw bad_request(fmt::format("`{}` contains a NUL byte", name));
  return *text;
}

}  // namespace reeve::server
