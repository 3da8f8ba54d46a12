#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace reeve::base {

// SHA-256 of bytes that arrive in pieces.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;

  void add(std::string_view bytes);
  // Lower-case hexadecimal; nothing may be added afterwards.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reeve::base
