#include "server/http/http_head.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <boost/beast/http/status.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "json/encode.h"

namespace reeve::server {

namespace {

using base::ErrorCode;

void append_clean(std::string& text, std::string_view part) {
  for (const char c : part) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
}

void append_header(std::string& text, std::string_view name, std::string_view value) {
  append_clean(text, name);
  text += ": ";
  append_clean(text, value);
  text += "\r\n";
}

std::string_view reason(int status) {
  const auto text = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  return {text.data(), text.size()};
}

// Pages of other origins cannot read, frame or cache a response, and content types are not sniffed.
constexpr auto strict_headers = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
});

bool has_header(const Response& response, std::string_view name) {
  return std::ranges::any_of(response.headers, [&](const auto& header) {
    return base::to_ascii_lower(header.first) == base::to_ascii_lower(name);
  });
}

}  // namespace

bool has_body(int status) noexcept { return status >= 200 && status != 204 && status != 304; }

std::string head_text(const Response& response, Framing framing, Persistence persistence) {
  std::string text;
  text.reserve(256);
  fmt::format_to(std::back_inserter(text), "HTTP/1.1 {} {}\r\n", response.status, reason(response.status));
  if (has_body(response.status)) {
    append_header(text, "Content-Type", response.content_type);
    if (framing == Framing::length) {
      fmt::format_to(std::back_inserter(text), "Content-Length: {}\r\n", response.body.size());
    }
    if (framing == Framing::chunks) text += "Transfer-Encoding: chunked\r\n";
  }
  if (persistence == Persistence::keep_alive) text += "Connection: keep-alive\r\n";
  if (persistence == Persistence::close) text += "Connection: close\r\n";
  for (const auto& [name, value] : strict_headers) {
    if (!has_header(response, name)) append_header(text, name, value);
  }
  for (const auto& [name, value] : response.headers) append_header(text, name, value);
  text += "\r\n";
  return text;
}

Refusal bad_request(std::string detail) {
  return {400, ErrorCode::http_bad_request, "malformed request", std::move(detail),
          "send HTTP/1.1 with a path that starts with / and escapes of the form %2F"};
}

Refusal body_too_large(std::size_t most) {
  return {413, ErrorCode::http_too_large, "the body is too large", fmt::format("the limit is {} bytes", most),
          "send a smaller body"};
}

Refusal header_too_large(std::size_t most) {
  return {431, ErrorCode::http_too_large, "the headers are too large", fmt::format("the limit is {} bytes", most),
          "send fewer or shorter headers, or move long values to the body"};
}

Refusal too_many_headers(std::size_t most) {
  return {431, ErrorCode::http_too_large, "too many headers", fmt::format("the limit is {}", most), "send fewer"};
}

Refusal timed_out() {
  return {408, ErrorCode::http_timeout, "the request was not completed in time", "only part of the request arrived",
          "send it again without pauses"};
}

Refusal overloaded(std::size_t connections) {
  return {503, ErrorCode::http_overloaded, "too many connections",
          fmt::format("the limit of {} connections is reached", connections), "close some, then try again"};
}

Refusal too_many_bodies(std::size_t most) {
  return {503, ErrorCode::http_overloaded, "too many large requests at once",
          fmt::format("the limit for all of them is {} bytes", most), "send it again in a moment"};
}

Refusal no_answer(std::string detail) {
  return {500, ErrorCode::http_no_answer, "the request was not answered", std::move(detail),
          "check the daemon's log, and report this as a bug"};
}

Refusal no_longer_in(std::string why) {
  return {401, ErrorCode::api_unauthorized, "the credential is no longer valid", std::move(why),
          "send a valid token, or sign in again: reeve web"};
}

Response refusal_response(const Refusal& refusal) {
  using base::Value;
  Value document = Value::object();
  document.set("type", Value::string(fmt::format("urn:reeve:problem:{}", base::spell(refusal.code))));
  document.set("title", Value::string(refusal.title));
  document.set("status", Value::integer(refusal.status));
  document.set("code", Value::string(base::spell(refusal.code)));
  document.set("detail", Value::string(refusal.detail));
  document.set("fix", Value::string(refusal.fix));
  return {.status = refusal.status, .content_type = "application/problem+json", .body = json::encode(document)};
}

}  // namespace reeve::server
