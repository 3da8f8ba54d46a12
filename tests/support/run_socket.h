#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reeve::testing {

// A request as it arrived at the fake socket.
struct SeenRequest {
  // "POST /api/tool-calls".
  std::string line;
  std::string body;
};

// What it gets.
struct FakeReply {
  enum class Kind {
    whole,
    // The head and a part of the body, then the end of the connection.
    half,
    // Nothing, and the connection stays open.
    silence,
  };
  std::string body = {};
  int status = 200;
  Kind kind = Kind::whole;
};

// The socket of a run without a daemon behind it. Each request is answered by a function, on a thread of its
// connection.
class FakeRunSocket {
 public:
  using Answer = std::function<FakeReply(const SeenRequest&)>;

  FakeRunSocket(std::filesystem::path path, Answer answer);
  ~FakeRunSocket();
  FakeRunSocket(const FakeRunSocket&) = delete;
  FakeRunSocket& operator=(const FakeRunSocket&) = delete;

  // Closes the socket and all connections, as a daemon that dies.
  void stop();
  // Listens again.
  void start(Answer answer);

  std::vector<SeenRequest> requests() const;
  // Waits until a request whose line begins so has arrived. Fails the test if it does not come.
  bool wait_for(std::string_view line) const;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  class Server;
  std::filesystem::path path_;
  std::shared_ptr<struct SeenRequests> seen_;
  std::unique_ptr<Server> server_;
};

}  // namespace reeve::testing
