#include "server/request/request_validation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "base/text.h"
#include "json/encode.h"
#include "server/http/forwarding.h"
#include "wire/problem.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

// Of the 64 hexadecimal digits of SHA-256.
constexpr std::size_t tag_digits = 32;

class TaggingResponder final : public ForwardingResponder {
 public:
  TaggingResponder(std::shared_ptr<Responder> inner, std::optional<std::string> known)
      : ForwardingResponder(std::move(inner)), known_(std::move(known)) {}

  void send(Response response) override {
    if (response.status != 200) return inner().send(std::move(response));
    std::string tag = entity_tag(response.body);
    const bool is_known = known_ && names_tag(*known_, tag);
    response.headers.emplace_back("ETag", std::move(tag));
    if (is_known) {
      response.status = 304;
      response.body.clear();
    }
    inner().send(std::move(response));
  }

 private:
  std::optional<std::string> known_;
};

Error unknown_name(std::string_view noun, const std::string& name, const std::vector<std::string>& known) {
  const auto meant = base::find_closest(name, known);
  std::string fix = meant ? fmt::format("did you mean `{}`? ", *meant) : "";
  fix += known.empty() ? "none are accepted" : fmt::format("accepted: {}", fmt::join(known, ", "));
  return {ErrorCode::api_bad_request, fmt::format("unknown {} {}", noun, base::quoted(name)), std::move(fix)};
}

// A stream without a peer.
class ClosedStream final : public Stream {
 public:
  void write(std::string /*bytes*/) override {}
  void end() override {}
  std::size_t waiting() const noexcept override { return 0; }
  void on_drained(std::function<void()> /*drained*/) override {}
  void on_closed(std::function<void()> /*closed*/) override {}
  bool is_closed() const noexcept override { return true; }
};

class CapturingResponder final : public Responder {
 public:
  explicit CapturingResponder(std::function<void(Response)> take) : take_(std::move(take)) {}
  ~CapturingResponder() override {
    if (take_) take_(refusal(Error(ErrorCode::http_no_answer, "no response was sent")));
  }
  CapturingResponder(const CapturingResponder&) = delete;
  CapturingResponder& operator=(const CapturingResponder&) = delete;

  void send(Response response) override {
    if (take_) std::exchange(take_, nullptr)(std::move(response));
  }
  std::shared_ptr<Stream> begin(Response head) override {
    send(std::move(head));
    return std::make_shared<ClosedStream>();
  }
  std::shared_ptr<WebSocket> upgrade(const Request& /*request*/, const WebSocketLimits& /*limits*/) override {
    return nullptr;
  }
  void on_closed(std::function<void()> /*closed*/) override {}

 private:
  std::function<void(Response)> take_;
};

}  // namespace

Response refusal(const Error& error) {
  return {.status = wire::http_status(error),
          .content_type = "application/problem+json",
          .body = json::encode(wire::problem_document(error))};
}

Response answer_to_method(std::string_view method, std::vector<std::string_view> methods) {
  if (std::ranges::find(methods, "GET") != methods.end()) methods.emplace_back("HEAD");
  methods.emplace_back("OPTIONS");
  const std::string allowed = fmt::format("{}", fmt::join(methods, ", "));
  Response response{.status = 204};
  if (method != "OPTIONS") {
    response = refusal(Error(ErrorCode::api_method_not_allowed,
                             fmt::format("method {} is not allowed on this resource", base::quoted(method)),
                             fmt::format("allowed: {}", allowed)));
  }
  response.headers.emplace_back("Allow", allowed);
  return response;
}

void check_content_type(const Request& request) {
  if (request.method == "GET" || request.method == "HEAD") return;
  for (const auto& [name, value] : request.headers) {
    if (base::to_ascii_lower(name) != "content-encoding") continue;
    const std::string coding = base::to_ascii_lower(base::trim(value));
    if (coding.empty() || coding == "identity") continue;
    throw Error(ErrorCode::api_unsupported_media_type,
                fmt::format("unsupported Content-Encoding {}", base::quoted(coding)),
                "send the body without Content-Encoding");
  }
  const auto type = request.header("content-type");
  // Parameters are ignored.
  const std::string_view kind = type ? std::string_view(*type).substr(0, type->find(';')) : std::string_view();
  if (base::to_ascii_lower(base::trim(kind)) == "application/json") return;
  throw Error(ErrorCode::api_unsupported_media_type, "the Content-Type must be application/json",
              "set Content-Type: application/json");
}

void check_query(const Operation& operation, const Request& request) {
  for (const auto& [name, _] : request.query) {
    if (std::ranges::find(operation.query, name, &Parameter::name) != operation.query.end()) continue;
    std::vector<std::string> known;
    for (const Parameter& parameter : operation.query) known.emplace_back(parameter.name);
    throw unknown_name("parameter", name, known);
  }
}

void check_body(const json::Schemas& schemas, const Operation& operation, const base::Value& body) {
  const base::Value* members = schemas.resolve(operation.body).find("properties");
  if (members == nullptr || body.as_object() == nullptr) return;
  for (const base::Member& member : *body.as_object()) {
    if (members->find(member.key) != nullptr) continue;
    std::vector<std::string> known;
    for (const base::Member& one : *members->as_object()) known.push_back(one.key);
    throw unknown_name("member", member.key, known);
  }
}

std::string entity_tag(std::string_view body) {
  return fmt::format("\"{}\"", base::sha256_hex(body).substr(0, tag_digits));
}

bool names_tag(std::string_view header, std::string_view tag) {
  for (std::string_view one : base::split(header, ',')) {
    one = base::trim(one);
    // A proxy may have made the tag weak; the comparison is the same.
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == "*" || one == tag) return true;
  }
  return false;
}

std::shared_ptr<Responder> tag_answer(std::shared_ptr<Responder> inner, const Request& request) {
  return std::make_shared<TaggingResponder>(std::move(inner), request.header("if-none-match"));
}

std::string subject_path(std::string_view path) { return std::string(path.substr(0, path.rfind('/'))); }

void check_precondition(const SharedExchange& exchange, std::function<void()> go) {
  const auto wanted = exchange->request.header("if-match");
  const bool is_change = exchange->request.method != "GET" && exchange->request.method != "HEAD";
  if (!is_change || !wanted) return go();
  if (exchange->parts.empty()) {
    throw Error(ErrorCode::api_precondition_failed, "If-Match cannot be used: there is no resource yet",
                "omit If-Match");
  }
  exchange->look_up(subject_path(exchange->request.path),
                    [exchange, wanted = *wanted, go = std::move(go)](Response subject) {
                      if (subject.status != 200) return exchange->send(std::move(subject));
                      if (names_tag(wanted, entity_tag(subject.body))) return exchange->go_on(go);
                      exchange->refuse(Error(ErrorCode::api_precondition_failed,
                                             "the resource has changed since the ETag in If-Match; nothing was done",
                                             "read it again and send its current ETag"));
                    });
}

Request make_look_up(const Request& request, std::string path) {
  Request made = request;
  made.method = "GET";
  made.path = std::move(path);
  made.query.clear();
  made.body.clear();
  std::erase_if(made.headers, [](const auto& header) {
    const std::string name = base::to_ascii_lower(header.first);
    return name == "if-match" || name == "if-none-match";
  });
  return made;
}

std::shared_ptr<Responder> capture(std::function<void(Response)> take) {
  return std::make_shared<CapturingResponder>(std::move(take));
}

}  // namespace reeve::server
