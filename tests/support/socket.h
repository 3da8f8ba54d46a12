#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace reeve::testing {

// A unix socket that listens there, however long the path is; the caller closes it.
int listen_at(const std::filesystem::path& path);

// Says that to whoever listens there and reads one answer with a Content-Length. Nothing when nobody listens, or the
// answer does not come whole: that fails no test.
std::optional<std::string> try_request(const std::filesystem::path& path, std::string_view bytes);

// A port of 127.0.0.1.
struct Port {
  std::uint16_t number = 0;
};

// One end of a connection that says exactly what it is told to. Waits for at most a minute, then the test fails.
class RawSocket {
 public:
  explicit RawSocket(const std::filesystem::path& path);
  explicit RawSocket(Port port);
  // Takes a connection from a listener.
  explicit RawSocket(int listener);
  ~RawSocket();
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  // Whether all of it could be sent.
  bool send(std::string_view bytes) const;
  // No more comes from here; what the other side says can still be read.
  void finish_sending() const;
  void close();

  // What has come, waiting for it; empty at the end.
  std::string read_some() const;
  std::string read_to_end();
  // Up to and with that mark, or to the end.
  std::string read_until(std::string_view mark);
  // What was read behind the mark.
  std::string take_rest();
  // One answer with a Content-Length: head and body.
  std::string read_answer();
  // Whether something can be read within that time.
  bool is_readable(int milliseconds) const;

 private:
  int fd_ = -1;
  // Read and not yet given out.
  std::string rest_;
};

}  // namespace reeve::testing
