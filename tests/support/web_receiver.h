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
  // Lower-case names.
  std::map<std::string, std::string> headers;
  std::string body;
};

// A web server on the loopback that keeps posted requests, in its own thread.
class WebReceiver {
 public:
  // The status for the request of that number (from 0); 0: never respond.
  using Answer = std::function<int(std::size_t)>;
  // Port 0: any.
  explicit WebReceiver(Answer answer = [](std::size_t) { return 200; }, int port = 0);
  ~WebReceiver();
  WebReceiver(const WebReceiver&) = delete;
  WebReceiver& operator=(const WebReceiver&) = delete;

  int port() const noexcept;
  std::string address() const;
  // The requests so far.
  std::vector<ReceivedPost> posts() const;
  // Waits for that many requests; fails the test if they do not come.
  std::vector<ReceivedPost> wait_for(std::size_t count) const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace reeve::testing
