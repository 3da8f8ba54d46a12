#pragma once

#include "client/daemon.h"
#include "wire/settings.h"

// Requests about the rules for tool calls.
namespace reeve::client {

struct PolicyRecord {
  base::Value wire;
  wire::PolicyAnswer answer;
};
// Evaluates the rules; nothing is asked or run.
PolicyRecord check_policy(Daemon& daemon, const wire::PolicyQuestion& question);

}  // namespace reeve::client
