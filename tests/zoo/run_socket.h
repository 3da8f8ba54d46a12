#pragma once

#include <string>

namespace reeve::zoo {

struct Answer {
  int status = 0;
  std::string body;
};

// The socket of a run. Every request is repeated while no daemon answers.
class RunSocket {
 public:
  explicit RunSocket(std::string path);
  ~RunSocket();
  RunSocket(const RunSocket&) = delete;
  RunSocket& operator=(const RunSocket&) = delete;

  Answer get(const std::string& target);
  Answer post(const std::string& target, const std::string& body);

 private:
  Answer ask(const std::string& request);
  bool try_ask(const std::string& request, Answer& answer);
  bool connect();
  void close();

  std::string path_;
  int fd_ = -1;
};

}  // namespace reeve::zoo
