#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace reeve::testing {

struct ReceivedPost {
  // "POST /hook HTTP/1.1"
  std::string line;
  // Names in lower case.
  std::map<std::string, std::string> headers;
  std::string body;
};

// A web server on the loopback that keeps what is posted to it, in a thread of its own.
class WebReceiver {
 public:
  // What the request of that number (from 0) is answered with; 0: never.
  using Answer = std::function<int(std::size_t)>;
  // Port 0: any.
  explicit WebReceiver(Answer answer = [](std::size_t) { return 200; }, int port = 0);
  ~WebReceiver();
  WebReceiver(const WebReceiver&) = delete;
  WebReceiver& operator=(const WebReceiver&) = delete;

  int port() const noexcept;
  std::string address() const;
  // What has come so far.
  std::vector<ReceivedPost> posts() const;
  // Waits until so many have come; fails the test when they do not.
  std::vector<ReceivedPost> wait_for(std::size_t count) const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace reeve::testing
