#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "model/run.h"

namespace reeve::model {

// What an attempt reported on its run's socket about how it ends (RUN-18): `denied`, `limited`, `ungated` or
// `not_logged_in`.
struct ReportedOutcome {
  Outcome outcome = Outcome::denied;
  // For people.
  std::string reason;
  // When a usage limit ends.
  std::optional<base::WallTime> resets_at;
  friend bool operator==(const ReportedOutcome&, const ReportedOutcome&) = default;
};
BOOST_DESCRIBE_STRUCT(ReportedOutcome, (), (outcome, reason, resets_at))

}  // namespace reeve::model
