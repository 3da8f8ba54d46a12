#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"

namespace reeve::client {

// One JSON document a line, in whatever pieces it comes.
class JsonLines {
 public:
  void add(std::string_view bytes);
  // The next whole line as a document; nothing until more has come. Throws `daemon.bad_answer`.
  std::optional<base::Value> next();
  // What was begun and cut off with its connection comes again.
  void clear() noexcept {
    buffer_.clear();
    taken_ = 0;
  }

 private:
  std::string buffer_;
  std::size_t taken_ = 0;
};

}  // namespace reeve::client
