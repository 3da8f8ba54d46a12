#pragma once

#include <string>

namespace reeve::cli {

// While something is only watched, Ctrl-C stops watching: it says this and ends the program with 130 (UX). One at a
// time; whatever was printed must have been flushed before waiting.
class Watching {
 public:
  explicit Watching(const std::string& parting);
  ~Watching();
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
};

}  // namespace reeve::cli
