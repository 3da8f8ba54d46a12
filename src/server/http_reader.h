#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "server/http.h"
#include "server/http_head.h"

namespace reeve::server {

// Takes one request apart as its bytes come, in pieces of any size, within the bounds.
class RequestReader {
 public:
  explicit RequestReader(const HttpServer::Limits& limits);
  ~RequestReader();
  RequestReader(RequestReader&&) noexcept;
  RequestReader& operator=(RequestReader&&) noexcept;

  // How many of the bytes were taken. What is left is the beginning of something that is not whole yet and comes again
  // with more, or belongs to the next request.
  std::size_t put(std::string_view bytes);

  bool is_complete() const noexcept;
  // Why it is none; nothing can be put after that.
  const std::optional<Refusal>& refusal() const noexcept;
  // The header is there and the other side waits for a word before it sends the body. True once.
  bool take_expectation() noexcept;
  bool is_in_body() const noexcept;
  // What is known of it once the header is there, without the body.
  Request& head() noexcept;

  // Of one that is complete.
  Request take();
  bool keeps_alive() const;
  bool is_http_1_0() const noexcept;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace reeve::server
