#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Recognises lines that report a failure without being an event.
namespace reeve::runtime {

// RUN-7: contains error, failed, fatal, exception, traceback or panic as a whole word, in any case, or at the end of a
// name (`TypeError`, `parse_error`).
bool looks_like_error(std::string_view line) noexcept;

// RUN-6: the `failure_markers` of a tool's profile.
class FailureMarkers {
 public:
  // Patterns were validated with the config; an invalid one never matches.
  explicit FailureMarkers(const std::vector<std::string>& patterns);
  ~FailureMarkers();
  FailureMarkers(FailureMarkers&&) noexcept;
  FailureMarkers& operator=(FailureMarkers&&) noexcept;

  // Matches anywhere in the line.
  bool match(std::string_view line) const;

 private:
  struct Patterns;
  // Null without patterns.
  std::unique_ptr<Patterns> patterns_;
};

}  // namespace reeve::runtime
