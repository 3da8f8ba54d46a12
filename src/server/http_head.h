#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/http.h"

namespace reeve::server {

// How the other side finds the end of the body.
enum class Framing { length, chunks, until_close };

// What is said about the connection.
enum class Persistence { as_usual, keep_alive, close };

// The first lines of an answer, with the empty line at their end. They forbid browsers what no answer of ours needs,
// unless the response has a header of that name itself. Control characters in headers become blanks, so that
// no value can make a header of its own.
std::string head_text(const Response& response, Framing framing, Persistence persistence);

// Whether such an answer has a body at all.
bool has_body(int status) noexcept;

// Why a request got no answer from the handler.
struct Refusal {
  int status = 400;
  // "http.bad_request".
  std::string_view code;
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
Refusal no_answer(std::string detail);
Refusal no_longer_in(std::string why);

// As a problem document.
Response refusal_response(const Refusal& refusal);

}  // namespace reeve::server
