#pragma once

#include <deque>
#include <functional>
#include <string>

#include "base/id.h"
#include "runtime/isolation/isolation.h"
#include "runtime/isolation/node_changes.h"
#include "runtime/isolation/setup_threads.h"
#include "runtime/isolation/worktree_folder.h"

namespace reeve::runtime {

// Requests for a folder to work in: a task's worktree or a gate's checkout. Each is created on the git thread, to which
// this object belongs, then set up on a thread of its own. A request for a worktree that another task holds waits until
// a task of that execution releases one.
class WorktreeRequests {
 public:
  template <class T>
  using Answer = Isolation::Answer<T>;

  WorktreeRequests(NodeChanges& nodes, SetupThreads& setups) : nodes_(nodes), setups_(setups) {}

  struct Request {
    IsolationSettings settings;
    NodeAttemptId place;
    Answer<std::string> answer;
  };
  void prepare(Request request);
  // `begin` creates the checkout. Called while no setup is running for that node.
  void checkout(const NodeAttemptId& place, const std::function<PreparedFolder()>& begin,
                const Answer<Isolation::Checkout>& answer);

  // Called when a task of that execution has released its worktree.
  void on_released(base::ExecutionId root);
  // Drops a waiting request without an answer.
  void remove(const NodeAttemptId& place);
  // Answers waiting requests of an ended execution with `execution.over`.
  void refuse_all(base::ExecutionId root);

 private:
  void prepare_now(const Request& request);
  // `finish` makes the answer, on the git thread, after the setup.
  template <class T>
  void set_up(const NodeAttemptId& place, const SetupPlan& plan, const Answer<T>& answer, std::function<T()> finish);

  NodeChanges& nodes_;
  SetupThreads& setups_;
  std::deque<Request> waiting_;
};

}  // namespace reeve::runtime
