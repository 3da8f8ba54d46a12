#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "server/http/http.h"

namespace reeve::server {

// A responder that wraps another and forwards whatever it does not handle itself.
class ForwardingResponder : public Responder {
 public:
  explicit ForwardingResponder(std::shared_ptr<Responder> inner) : inner_(std::move(inner)) {}

  void send(Response response) override { inner_->send(std::move(response)); }
  std::shared_ptr<Stream> begin(Response head) override { return inner_->begin(std::move(head)); }
  std::shared_ptr<WebSocket> upgrade(const Request& request, const WebSocketLimits& limits) override {
    return inner_->upgrade(request, limits);
  }
  void on_closed(std::function<void()> closed) override { inner_->on_closed(std::move(closed)); }

 protected:
  Responder& inner() noexcept { return *inner_; }

 private:
  std::shared_ptr<Responder> inner_;
};

}  // namespace reeve::server
