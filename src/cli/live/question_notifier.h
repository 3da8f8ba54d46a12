#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/id.h"
#include "cli/command.h"
#include "client/daemon.h"
#include "model/approval.h"

namespace reeve::cli {

// The runs and executions that are followed or waited for.
struct Subjects {
  std::vector<base::RunId> runs = {};
  // Including everything they start.
  std::vector<base::ExecutionId> executions = {};
};

// Prints each of their questions once on standard error, with the command that answers it. Uses its own thread and
// connections, so that following continues while a tool waits for the answer, and errors here do not affect it. Runs
// that end at once cost no request.
class QuestionNotifier {
 public:
  // `call` must outlive it.
  QuestionNotifier(const Call& call, const client::DaemonPlace& place, Subjects subjects);
  // Ends the thread at once, whatever it is waiting for.
  ~QuestionNotifier();
  QuestionNotifier(const QuestionNotifier&) = delete;
  QuestionNotifier& operator=(const QuestionNotifier&) = delete;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

// The command that shows the pending question of a run or execution that waits, "reeve show AP-4"; the list of all
// questions if it has none of its own, several, or the caller may not list them.
std::string show_question_of(client::Daemon& daemon, base::RunId id);
std::string show_question_of(client::Daemon& daemon, base::ExecutionId id);

// "◆ AP-4 asks: Continue?   reeve approve AP-4", between the tool's output.
void print_question(const Call& call, const model::Approval& approval);

}  // namespace reeve::cli
