#include "server/http/http_responder.h"

#include "base/error.h"
#include "server/http/http_head.h"
#include "server/http/http_upgrade.h"

namespace reeve::server {

HttpResponder::~HttpResponder() {
  if (is_answered_) return;
  if (const auto outlet = answer()) outlet->send(refusal_response(no_answer("no handler responded")));
}

std::shared_ptr<Outlet> HttpResponder::answer() {
  REEVE_ASSERT(!is_answered_);
  is_answered_ = true;
  closed_ = nullptr;
  auto outlet = outlet_.lock();
  return outlet && !outlet->is_closed() ? outlet : nullptr;
}

void HttpResponder::send(Response response) {
  if (const auto outlet = answer()) outlet->send(std::move(response));
}

std::shared_ptr<Stream> HttpResponder::begin(Response head) {
  const auto outlet = answer();
  if (!outlet) return std::make_shared<HttpStream>(loop_, outlet_);
  return outlet->begin(head);
}

std::shared_ptr<WebSocket> HttpResponder::upgrade(const Request& request, const WebSocketLimits& limits) {
  const auto outlet = answer();
  if (!outlet) return nullptr;
  if (const auto refused = check_upgrade(request)) {
    Response response = refusal_response(refused->refusal);
    response.headers = refused->headers;
    outlet->send(std::move(response));
    return nullptr;
  }
  return outlet->upgrade(request, limits);
}

void HttpResponder::on_closed(std::function<void()> closed) {
  if (is_answered_) return;
  closed_ = std::move(closed);
  const auto outlet = outlet_.lock();
  if (outlet && !outlet->is_closed()) return;
  loop_.post([self = shared_from_this()] { self->tell_closed(); });
}

HttpStream::~HttpStream() {
  const auto outlet = this->outlet();
  if (outlet) outlet->drop();
}

std::shared_ptr<Outlet> HttpStream::outlet() const noexcept {
  auto outlet = is_ended_ ? nullptr : outlet_.lock();
  return outlet && !outlet->is_closed() ? outlet : nullptr;
}

void HttpStream::on_closed(std::function<void()> closed) {
  closed_ = std::move(closed);
  if (is_closed()) loop_.post([self = shared_from_this()] { self->tell_closed(); });
}

void HttpStream::write(std::string bytes) {
  if (const auto outlet = this->outlet()) outlet->write(std::move(bytes));
}

void HttpStream::end() {
  const auto outlet = this->outlet();
  is_ended_ = true;
  drained_ = nullptr;
  closed_ = nullptr;
  if (outlet) outlet->end();
}

std::size_t HttpStream::waiting() const noexcept {
  const auto outlet = this->outlet();
  return outlet ? outlet->waiting() : 0;
}

}  // namespace reeve::server
