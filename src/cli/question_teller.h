#pragma once

#include <memory>
#include <vector>

#include "base/id.h"
#include "cli/command.h"
#include "client/daemon.h"
#include "model/approval.h"

namespace reeve::cli {

// What is followed or waited for.
struct Subjects {
  std::vector<base::RunId> runs = {};
  // With all that they start.
  std::vector<base::ExecutionId> executions = {};
};

// Says on standard error when one of them asks something, with what to type, each question once. On a thread and
// connections of its own: a tool that waits for the answer goes on being followed, and nothing that goes wrong here
// harms those who wait. What is over at once is not asked about.
class QuestionTeller {
 public:
  // `call` must outlive it.
  QuestionTeller(const Call& call, const client::DaemonPlace& place, Subjects subjects);
  // Ends it at once, whatever it waits for.
  ~QuestionTeller();
  QuestionTeller(const QuestionTeller&) = delete;
  QuestionTeller& operator=(const QuestionTeller&) = delete;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

// "◆ AP-4 asks: Go on?   reeve approve AP-4", beside what a tool prints.
void print_question(const Call& call, const model::Approval& approval);

}  // namespace reeve::cli
