#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Lines that tell of a failure without being an event.
namespace reeve::runtime {

// RUN-7: has error, failed, fatal, exception, traceback or panic as a word of its own, in any case, or at the end of a
// name (`TypeError`, `parse_error`).
bool looks_like_error(std::string_view line) noexcept;

// RUN-6: the `failure_markers` of a tool's profile.
class FailureMarkers {
 public:
  // The patterns have been checked with the config; one that is none all the same never matches.
  explicit FailureMarkers(const std::vector<std::string>& patterns);
  ~FailureMarkers();
  FailureMarkers(FailureMarkers&&) noexcept;
  FailureMarkers& operator=(FailureMarkers&&) noexcept;

  // Anywhere in the line.
  bool match(std::string_view line) const;

 private:
  struct Patterns;
  // None when there are no patterns.
  std::unique_ptr<Patterns> patterns_;
};

}  // namespace reeve::runtime
