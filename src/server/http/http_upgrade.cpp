#include "server/http/http_upgrade.h"

#include <algorithm>

#include "base/base64.h"
#include "base/text.h"

namespace reeve::server {

namespace {

using base::ErrorCode;

// Whether a comma-separated header contains the word, ignoring case.
bool has_word(const Request& request, std::string_view header, std::string_view word) {
  return std::ranges::any_of(request.headers, [&](const auto& one) {
    if (base::to_ascii_lower(one.first) != header) return false;
    return std::ranges::any_of(base::split(one.second, ','), [&](std::string_view part) {
      while (part.starts_with(' ') || part.starts_with('\t')) part.remove_prefix(1);
      while (part.ends_with(' ') || part.ends_with('\t')) part.remove_suffix(1);
      return base::to_ascii_lower(part) == word;
    });
  });
}

std::size_t count_of(const Request& request, std::string_view header) {
  return static_cast<std::size_t>(std::ranges::count_if(
      request.headers, [&](const auto& one) { return base::to_ascii_lower(one.first) == header; }));
}

UpgradeRefusal refuse(std::string detail) {
  return {{400, ErrorCode::http_bad_upgrade, "not a valid WebSocket request", std::move(detail),
           "use a client that speaks RFC 6455"},
          {}};
}

}  // namespace

bool offers_protocol(const Request& request, std::string_view protocol) {
  return has_word(request, "sec-websocket-protocol", protocol);
}

std::optional<std::string> find_offered_key(const Request& request) {
  for (const auto& [name, value] : request.headers) {
    if (base::to_ascii_lower(name) != "sec-websocket-protocol") continue;
    for (const std::string_view part : base::split(value, ',')) {
      const std::string_view word = base::trim(part);
      if (word.starts_with(key_protocol)) return std::string(word.substr(key_protocol.size()));
    }
  }
  return std::nullopt;
}

bool Request::is_upgrade() const {
  return has_word(*this, "connection", "upgrade") && has_word(*this, "upgrade", "websocket");
}

std::optional<UpgradeRefusal> check_upgrade(const Request& request) {
  constexpr std::size_t key_bytes = 16;
  constexpr std::size_t key_length = 24;
  if (request.method != "GET" || !request.is_upgrade()) return refuse("the request does not ask for an upgrade");
  if (!request.body.empty()) return refuse("the request has a body");
  if (request.header("sec-websocket-version").value_or("") != "13" || count_of(request, "sec-websocket-version") != 1) {
    return UpgradeRefusal{{426, ErrorCode::http_bad_upgrade, "unsupported WebSocket version",
                           "Sec-WebSocket-Version must be 13", "use a client that speaks RFC 6455"},
                          {{"Sec-WebSocket-Version", "13"}, {"Upgrade", "websocket"}}};
  }
  const auto key = request.header("sec-websocket-key");
  if (!key || count_of(request, "sec-websocket-key") != 1) return refuse("Sec-WebSocket-Key must be sent exactly once");
  const auto nonce = key->size() == key_length ? base::decode_base64(*key) : std::nullopt;
  if (!nonce || nonce->size() != key_bytes) return refuse("Sec-WebSocket-Key must be 16 bytes in base64");
  return std::nullopt;
}

}  // namespace reeve::server
