#include "client/tokens.h"

#include "client/pages.h"

namespace reeve::client {

namespace {

using base::Value;

std::string text_of(const Value& document, std::string_view key) {
  const Value* found = document.find(key);
  const std::string* text = found != nullptr ? found->as_string() : nullptr;
  if (text == nullptr) throw_bad_answer(fmt::format("`{}` is missing", key));
  return *text;
}

// Members that are not part of the described type are removed first.
TokenRecord make_record(Value wire) {
  Value plain = wire;
  std::erase_if(*plain.as_object(),
                [](const base::Member& member) { return member.key == "status" || member.key == "token"; });
  auto token = decode<model::Token>(plain);
  std::string status = text_of(wire, "status");
  return {.wire = std::move(wire), .token = std::move(token), .status = std::move(status)};
}

Value require_object(Value document) {
  if (document.as_object() == nullptr) throw_bad_answer("it is not an object");
  return document;
}

}  // namespace

MadeToken create_token(Daemon& daemon, const NewToken& request) {
  Value body = Value::object();
  body.set("name", Value::string(request.name));
  Value::Array scopes;
  for (const std::string& scope : request.scopes) scopes.push_back(Value::string(scope));
  if (!scopes.empty()) body.set("scopes", Value::array(std::move(scopes)));
  if (request.project) body.set("project", Value::string(*request.project));
  if (request.expires_in) body.set("expires_in", Value::string(*request.expires_in));
  Value answer = require_object(daemon.post("/api/tokens", body));
  std::string secret = text_of(answer, "token");
  return {.record = make_record(std::move(answer)), .secret = std::move(secret)};
}

std::vector<TokenRecord> list_tokens(Daemon& daemon) {
  // The daemon's limit.
  constexpr std::size_t max_tokens = 1'000;
  std::vector<TokenRecord> records;
  read_pages(daemon, "/api/tokens?", max_tokens,
             [&](const Value& item) { records.push_back(make_record(require_object(item))); });
  return records;
}

TokenRecord revoke_token(Daemon& daemon, const std::string& name) {
  return make_record(
      require_object(daemon.post(fmt::format("/api/tokens/{}/revoke", encode_part(name)), Value::object())));
}

RenewedToken renew_own_token(Daemon& daemon) {
  Value answer = require_object(daemon.post("/api/daemon/token", Value::object()));
  std::string file = text_of(answer, "file");
  return {.wire = std::move(answer), .file = std::move(file)};
}

SignInLink make_sign_in_link(Daemon& daemon) {
  Value answer = require_object(daemon.post("/api/web", Value::object()));
  std::string url = text_of(answer, "url");
  return {.wire = std::move(answer), .url = std::move(url)};
}

}  // namespace reeve::client
