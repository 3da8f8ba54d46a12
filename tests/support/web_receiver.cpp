#include "tests/support/web_receiver.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/session.h"

namespace reeve::testing {

struct WebReceiver::Core {
  Answer answer;
  int listener = -1;
  int stop = -1;
  int port = 0;
  mutable std::mutex mutex;
  std::vector<ReceivedPost> posts;
  std::vector<int> unanswered;
  std::thread thread;

  void run();
  void serve(int connection);
  // False when it should stop.
  bool wait(int fd) const;
};

namespace {

ReceivedPost parse(const std::string& text, std::size_t head_end) {
  ReceivedPost post;
  std::size_t at = text.find("\r\n");
  post.line = text.substr(0, at);
  while (at < head_end) {
    const std::size_t start = at + 2;
    at = text.find("\r\n", start);
    const std::string line = text.substr(start, at - start);
    std::string name = line.substr(0, line.find(':'));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (line.contains(": ")) post.headers[name] = line.substr(line.find(": ") + 2);
  }
  return post;
}

}  // namespace

bool WebReceiver::Core::wait(int fd) const {
  std::array<pollfd, 2> ends = {{{fd, POLLIN, 0}, {stop, POLLIN, 0}}};
  ::poll(ends.data(), ends.size(), -1);
  return ends[1].revents == 0;
}

void WebReceiver::Core::run() {
  while (wait(listener)) {
    const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) serve(connection);
  }
}

void WebReceiver::Core::serve(int connection) {
  std::string text;
  std::array<char, 65'536> block{};
  std::size_t head_end = std::string::npos;
  std::size_t length = 0;
  ReceivedPost post;
  while (head_end == std::string::npos || text.size() < head_end + 4 + length) {
    const ssize_t count = wait(connection) ? ::read(connection, block.data(), block.size()) : 0;
    if (count <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(count));
    if (head_end != std::string::npos || !text.contains("\r\n\r\n")) continue;
    head_end = text.find("\r\n\r\n");
    post = parse(text, head_end);
    length = std::stoul("0" + post.headers["content-length"]);
  }
  if (head_end != std::string::npos) post.body = text.substr(head_end + 4);
  std::size_t number = 0;
  {
    const std::scoped_lock lock(mutex);
    number = posts.size();
    posts.push_back(post);
  }
  const int status = answer(number);
  if (status == 0) {
    unanswered.push_back(connection);
    return;
  }
  const std::string reply = "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: 2\r\n\r\nok";
  ::send(connection, reply.data(), reply.size(), MSG_NOSIGNAL);
  ::close(connection);
}

WebReceiver::WebReceiver(Answer answer, int port) : core_(std::make_unique<Core>()) {
  core_->answer = std::move(answer);
  core_->stop = ::eventfd(0, EFD_CLOEXEC);
  core_->listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(core_->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = ::htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(core_->listener, reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  EXPECT_EQ(::listen(core_->listener, 64), 0);
  socklen_t size = sizeof place;
  ::getsockname(core_->listener, reinterpret_cast<sockaddr*>(&place), &size);
  core_->port = ::ntohs(place.sin_port);
  core_->thread = std::thread([core = core_.get()] { core->run(); });
}

WebReceiver::~WebReceiver() {
  ::eventfd_write(core_->stop, 1);
  core_->thread.join();
  for (const int connection : core_->unanswered) ::close(connection);
  ::close(core_->listener);
  ::close(core_->stop);
}

int WebReceiver::port() const noexcept { return core_->port; }

std::string WebReceiver::address() const { return "http://127.0.0.1:" + std::to_string(core_->port) + "/hook"; }

std::vector<ReceivedPost> WebReceiver::posts() const {
  const std::scoped_lock lock(core_->mutex);
  return core_->posts;
}

std::vector<ReceivedPost> WebReceiver::wait_for(std::size_t count) const {
  EXPECT_TRUE(eventually([&] { return posts().size() >= count; })) << posts().size() << " of " << count << " have come";
  return posts();
}

}  // namespace reeve::testing
