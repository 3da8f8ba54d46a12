#include "tests/support/run_socket.h"

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/session.h"
#include "tests/support/socket.h"

namespace reeve::testing {

struct SeenRequests {
  mutable std::mutex mutex;
  std::vector<SeenRequest> all;
};

// Ends when its pipe is closed.
class FakeRunSocket::Server {
 public:
  Server(const std::filesystem::path& path, Answer answer, std::shared_ptr<SeenRequests> seen)
      : answer_(std::move(answer)), seen_(std::move(seen)), listener_(listen_at(path)) {
    EXPECT_EQ(::pipe2(end_.data(), O_CLOEXEC), 0);
    acceptor_ = std::jthread([this] { accept_all(); });
  }
  ~Server() {
    ::close(end_[1]);
    acceptor_.join();
    connections_.clear();
    ::close(listener_);
    ::close(end_[0]);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  // False at the end of the server.
  bool wait_readable(int fd) const {
    std::array<pollfd, 2> states = {pollfd{fd, POLLIN, 0}, pollfd{end_[0], POLLIN, 0}};
    while (::poll(states.data(), states.size(), -1) < 0) {
    }
    return states[1].revents == 0;
  }

  void accept_all() {
    while (wait_readable(listener_)) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) connections_.emplace_back([this, fd] { serve(fd); });
    }
  }

  bool read_more(int fd, std::string& text) const {
    if (!wait_readable(fd)) return false;
    std::array<char, 65'536> part{};
    const ssize_t got = ::recv(fd, part.data(), part.size(), 0);
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  void serve(int fd) {
    std::string text;
    while (serve_one(fd, text)) {
    }
    ::close(fd);
  }

  bool serve_one(int fd, std::string& text) {
    while (!text.contains("\r\n\r\n")) {
      if (!read_more(fd, text)) return false;
    }
    const std::size_t head = text.find("\r\n\r\n") + 4;
    const std::size_t field = text.find("Content-Length: ");
    const std::size_t length = field < head ? std::strtoul(text.c_str() + field + 16, nullptr, 10) : 0;
    while (text.size() < head + length) {
      if (!read_more(fd, text)) return false;
    }
    SeenRequest request{text.substr(0, text.find(" HTTP/")), text.substr(head, length)};
    text.erase(0, head + length);
    {
      const std::lock_guard lock(seen_->mutex);
      seen_->all.push_back(request);
    }
    return reply(fd, answer_(request));
  }

  bool reply(int fd, const FakeReply& reply) const {
    if (reply.kind == FakeReply::Kind::silence) {
      // Until the client or the server ends.
      std::string rest;
      while (read_more(fd, rest)) {
      }
      return false;
    }
    std::string bytes = "HTTP/1.1 " + std::to_string(reply.status) +
                        " X\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(reply.body.size()) +
                        "\r\n\r\n" + reply.body;
    const bool is_whole = reply.kind == FakeReply::Kind::whole;
    if (!is_whole) bytes.resize(bytes.size() - reply.body.size() / 2 - 1);
    static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    return is_whole;
  }

  Answer answer_;
  std::shared_ptr<SeenRequests> seen_;
  int listener_;
  std::array<int, 2> end_{};
  std::vector<std::jthread> connections_;
  std::jthread acceptor_;
};

FakeRunSocket::FakeRunSocket(std::filesystem::path path, Answer answer)
    : path_(std::move(path)), seen_(std::make_shared<SeenRequests>()) {
  start(std::move(answer));
}

FakeRunSocket::~FakeRunSocket() = default;

void FakeRunSocket::stop() {
  server_.reset();
  std::filesystem::remove(path_);
}

void FakeRunSocket::start(Answer answer) { server_ = std::make_unique<Server>(path_, std::move(answer), seen_); }

std::vector<SeenRequest> FakeRunSocket::requests() const {
  const std::lock_guard lock(seen_->mutex);
  return seen_->all;
}

bool FakeRunSocket::wait_for(std::string_view line) const {
  const bool has_come = eventually([&] {
    for (const SeenRequest& request : requests()) {
      if (request.line.starts_with(line)) return true;
    }
    return false;
  });
  EXPECT_TRUE(has_come) << line;
  return has_come;
}

}  // namespace reeve::testing
