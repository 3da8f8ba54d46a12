#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace reeve::testing {

// A listening unix socket, however long the path is; the caller closes it.
int listen_at(const std::filesystem::path& path);

// Sends a request and reads one response with a Content-Length. Returns nothing, without failing the test, if no server
// listens or the response is incomplete.
std::optional<std::string> try_request(const std::filesystem::path& path, std::string_view bytes);

// A port of 127.0.0.1.
struct Port {
  std::uint16_t number = 0;
};

// One end of a connection that sends exactly the given bytes. Waits for at most a minute, then fails the test.
class RawSocket {
 public:
  explicit RawSocket(const std::filesystem::path& path);
  explicit RawSocket(Port port);
  // Accepts a connection from a listener.
  explicit RawSocket(int listener);
  ~RawSocket();
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  // Whether all of it could be sent.
  bool send(std::string_view bytes) const;
  // Half-closes the connection; the other side can still be read.
  void finish_sending() const;
  void close();

  // Waits for data and returns it; empty at the end.
  std::string read_some() const;
  std::string read_to_end();
  // Up to and including that mark, or to the end.
  std::string read_until(std::string_view mark);
  // The bytes read after the mark.
  std::string take_rest();
  // One response with a Content-Length: head and body.
  std::string read_answer();
  // Whether something can be read within that time.
  bool is_readable(int milliseconds) const;

 private:
  int fd_ = -1;
  // Read but not yet returned.
  std::string rest_;
};

}  // namespace reeve::testing
