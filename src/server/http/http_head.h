#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error_code.h"
#include "server/http/http.h"

namespace reeve::server {

// How the peer finds the end of the body.
enum class Framing { length, chunks, until_close };

// The Connection header.
enum class Persistence { as_usual, keep_alive, close };

// The status line and headers, including the final empty line. Adds headers that restrict browsers, unless the response
// sets them itself. Control characters in headers become spaces, so that no value can inject a header.
std::string head_text(const Response& response, Framing framing, Persistence persistence);

// Whether a response with this status has a body.
bool has_body(int status) noexcept;

// Why a request did not reach the handler.
struct Refusal {
  int status = 400;
  base::ErrorCode code = base::ErrorCode::http_bad_request;
  std::string_view title;
  std::string detail;
  std::string_view fix;
};
Refusal bad_request(std::string detail);
Refusal body_too_large(std::size_t most);
Refusal header_too_large(std::size_t most);
Refusal too_many_headers(std::size_t most);
Refusal timed_out();
Refusal overloaded(std::size_t connections);
Refusal too_many_bodies(std::size_t most);
Refusal no_answer(std::string detail);
Refusal no_longer_in(std::string why);

// As a problem document.
Response refusal_response(const Refusal& refusal);

}  // namespace reeve::server
