#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "server/http/http.h"
#include "server/http/http_head.h"

namespace reeve::server {

// Parses one request incrementally, within the limits.
class RequestReader {
 public:
  explicit RequestReader(const HttpServer::Limits& limits);
  ~RequestReader();
  RequestReader(RequestReader&&) noexcept;
  RequestReader& operator=(RequestReader&&) noexcept;

  // The number of bytes consumed. The rest is incomplete, and must be passed again with more bytes, or belongs to the
  // next request.
  std::size_t put(std::string_view bytes);

  bool is_complete() const noexcept;
  // Why the request was rejected; nothing can be put after that.
  const std::optional<Refusal>& refusal() const noexcept;
  // The head is complete and the client waits for "100 Continue" before it sends the body. True once.
  bool take_expectation() noexcept;
  bool is_in_body() const noexcept;
  // The request once its head is complete, without the body.
  Request& head() noexcept;

  // Require a complete request.
  Request take();
  bool keeps_alive() const;
  bool is_http_1_0() const noexcept;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace reeve::server
