#pragma once

#include <memory>

#include "base/id.h"
#include "cli/command.h"
#include "client/daemon.h"

namespace reeve::cli {

// Says on standard error when the run that is followed asks something, with what to type. On a thread and a connection
// of its own: a tool that waits for the answer goes on being followed. A run that is over at once is not asked about.
class QuestionTeller {
 public:
  // `call` must outlive it.
  QuestionTeller(const Call& call, const client::DaemonPlace& place, base::RunId run);
  // Ends it at once, whatever it waits for.
  ~QuestionTeller();
  QuestionTeller(const QuestionTeller&) = delete;
  QuestionTeller& operator=(const QuestionTeller&) = delete;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace reeve::cli
