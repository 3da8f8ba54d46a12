#pragma once

#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "runtime/loop/runtime_context.h"

namespace reeve::runtime {

// What a program outside of runs says about its own work.
struct ProgressReport {
  // From the credential.
  std::string caller;
  // The path of a project.
  std::optional<std::string> project = {};
  std::optional<double> percent = {};
  std::optional<std::string> message = {};
};

// Stores reports as events. One a second of each caller is kept, so that no caller fills the store. Lives on the loop.
class CallerProgress {
 public:
  // The context must outlive the calls.
  explicit CallerProgress(RuntimeContext& context) : context_(context) {}

  // False: the report was dropped.
  using Done = std::function<void(std::expected<bool, base::Error>)>;
  void report(const ProgressReport& report, Done done);

  static constexpr base::Milliseconds interval{1'000};

 private:
  bool admit(const std::string& caller);

  RuntimeContext& context_;
  // When a report of the caller was last kept.
  std::map<std::string, base::BootTime> kept_;
};

}  // namespace reeve::runtime
