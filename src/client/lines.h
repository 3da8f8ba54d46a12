#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"

namespace reeve::client {

// Splits a stream into JSON documents, one per line, whatever pieces it arrives in.
class JsonLines {
 public:
  void add(std::string_view bytes);
  // The next complete line as a document; empty until more data arrives. Throws `daemon.bad_answer`.
  std::optional<base::Value> next();
  // Drops an incomplete line after a lost connection; it is sent again.
  void clear() noexcept {
    buffer_.clear();
    taken_ = 0;
  }

 private:
  std::string buffer_;
  std::size_t taken_ = 0;
};

}  // namespace reeve::client
