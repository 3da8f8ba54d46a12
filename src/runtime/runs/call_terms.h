#pragma once

#include <string>

#include "model/config.h"

namespace reeve::runtime {

// What decides the tool calls of a run (TOOL-1), frozen when it starts: a config that changes later does not loosen it.
// By default a person is asked about everything.
struct CallTerms {
  model::Policies policies;
  model::AgentSettings agents;
  // The role of the node; empty: none.
  std::string role;
  friend bool operator==(const CallTerms&, const CallTerms&) = default;
};
BOOST_DESCRIBE_STRUCT(CallTerms, (), (policies, agents, role))

}  // namespace reeve::runtime
