#pragma once

#include <string>

namespace reeve::cli {

// While a command only watches, Ctrl-C prints this message and ends the program with 130 (UX). One instance at a time;
// output must be flushed before waiting.
class InterruptMessage {
 public:
  explicit InterruptMessage(const std::string& parting);
  ~InterruptMessage();
  InterruptMessage(const InterruptMessage&) = delete;
  InterruptMessage& operator=(const InterruptMessage&) = delete;
};

}  // namespace reeve::cli
