#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/describe.h"

// The result of `reeve notify test`.
namespace reeve::wire {

struct NotifyResult {
  // The program or the masked address.
  std::string target;
  std::vector<model::NotifyOn> on;
  bool delivered = false;
  // Why it was not delivered.
  std::optional<std::string> problem;
  friend bool operator==(const NotifyResult&, const NotifyResult&) = default;
};
BOOST_DESCRIBE_STRUCT(NotifyResult, (), (target, on, delivered, problem))

struct NotifyTestRecord {
  std::vector<NotifyResult> results;
  friend bool operator==(const NotifyTestRecord&, const NotifyTestRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(NotifyTestRecord, (), (results))

}  // namespace reeve::wire
