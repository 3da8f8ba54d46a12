#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/loop/loop.h"
#include "server/http/http.h"

namespace reeve::server {

// The destination of one response: the connection of its request, while it exists.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual bool is_closed() const noexcept = 0;
  virtual void send(Response response) = 0;
  virtual std::shared_ptr<Stream> begin(const Response& head) = 0;
  virtual std::shared_ptr<WebSocket> upgrade(const Request& request, const WebSocketLimits& limits) = 0;
  // For the stream that begin() opened.
  virtual void write(std::string bytes) = 0;
  virtual void end() = 0;
  virtual std::size_t waiting() const noexcept = 0;
  // Breaks the stream off, without its end.
  virtual void drop() = 0;
};

class HttpResponder final : public Responder, public std::enable_shared_from_this<HttpResponder> {
 public:
  HttpResponder(runtime::Loop& loop, std::weak_ptr<Outlet> outlet) : loop_(loop), outlet_(std::move(outlet)) {}
  ~HttpResponder() override;
  HttpResponder(const HttpResponder&) = delete;
  HttpResponder& operator=(const HttpResponder&) = delete;

  void send(Response response) override;
  std::shared_ptr<Stream> begin(Response head) override;
  std::shared_ptr<WebSocket> upgrade(const Request& request, const WebSocketLimits& limits) override;
  void on_closed(std::function<void()> closed) override;

  bool is_answered() const noexcept { return is_answered_; }
  // Another responder answers: nothing sent here reaches the connection.
  void abandon() {
    outlet_.reset();
    tell_closed();
  }
  void tell_closed() {
    if (closed_) std::exchange(closed_, nullptr)();
  }

 private:
  // The connection, if it still waits for this response; marks it as answered.
  std::shared_ptr<Outlet> answer();

  runtime::Loop& loop_;
  std::weak_ptr<Outlet> outlet_;
  std::function<void()> closed_;
  bool is_answered_ = false;
};

class HttpStream final : public Stream, public std::enable_shared_from_this<HttpStream> {
 public:
  HttpStream(runtime::Loop& loop, std::weak_ptr<Outlet> outlet) : loop_(loop), outlet_(std::move(outlet)) {}
  ~HttpStream() override;
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  void write(std::string bytes) override;
  void end() override;
  std::size_t waiting() const noexcept override;
  void on_drained(std::function<void()> drained) override { drained_ = std::move(drained); }
  void on_closed(std::function<void()> closed) override;
  bool is_closed() const noexcept override { return !is_ended_ && !outlet(); }

  void tell_drained() {
    // A copy, because the callback may destroy the stream and with it drained_.
    const auto drained = drained_;
    if (drained) drained();
  }
  // Later writes must not reach the connection, which may already serve another request.
  void tell_closed() {
    outlet_.reset();
    drained_ = nullptr;
    if (closed_) std::exchange(closed_, nullptr)();
  }

 private:
  // Null when the peer is gone.
  std::shared_ptr<Outlet> outlet() const noexcept;

  runtime::Loop& loop_;
  std::weak_ptr<Outlet> outlet_;
  std::function<void()> drained_;
  std::function<void()> closed_;
  bool is_ended_ = false;
};

}  // namespace reeve::server
