#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/loop/loop.h"
#include "server/http/http.h"
#include "tests/support/files.h"
#include "tests/support/socket.h"

namespace reeve::testing {

// An event on the loop's thread that the test waits for.
class Event {
 public:
  void happen() { promise_.set_value(); }
  bool wait(std::chrono::seconds time = std::chrono::seconds(20)) {
    return future_.wait_for(time) == std::future_status::ready;
  }

 private:
  std::promise<void> promise_;
  std::future<void> future_ = promise_.get_future();
};

// A server on its own loop, at a socket in a temporary folder.
class Service {
 public:
  explicit Service(server::Handler handle, server::HttpServer::Limits limits = {})
      : server_(std::make_unique<server::HttpServer>(loop_, std::move(handle), limits)) {
    server_->accept(os::Fd(listen_at(path())));
    thread_ = std::jthread([this] { loop_.run(); });
  }
  ~Service() {
    stop();
    loop_.stop();
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  std::filesystem::path path() const { return scratch_.path() / "socket"; }
  server::HttpServer& server() { return *server_; }
  runtime::Loop& loop() { return loop_; }
  void stop() {
    on_loop([this] { server_.reset(); });
  }
  // Runs the task on the loop's thread and waits for it.
  void on_loop(const std::function<void()>& task) {
    Event done;
    loop_.post([&] {
      task();
      done.happen();
    });
    ASSERT_TRUE(done.wait());
  }

 private:
  ScratchFolder scratch_;
  runtime::Loop loop_;
  std::unique_ptr<server::HttpServer> server_;
  std::jthread thread_;
};

}  // namespace reeve::testing
