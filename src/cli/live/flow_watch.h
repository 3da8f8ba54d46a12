#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/executions.h"
#include "model/approval.h"
#include "view/flow_tree.h"

namespace reeve::cli {

// Tracks an execution and its subgraphs: which events are about them, their current state, and their questions.
class FlowWatch {
 public:
  // The daemon must outlive it.
  FlowWatch(client::Daemon& daemon, model::Execution execution);

  // Whether the event is about this execution. A subgraph that begins belongs to it from then on.
  bool take(const base::Value& event);
  // Reads the current state.
  void refresh();
  // Finds questions asked before the events were subscribed; call after refresh().
  void find_questions();
  // Reads the progress of the first few running nodes.
  void refresh_progress();

  const view::FlowPicture& picture() const noexcept { return picture_; }
  // Pending questions, oldest first.
  const std::map<base::ApprovalId, model::Approval>& questions() const noexcept { return questions_; }

 private:
  void refresh(view::FlowPicture& picture);
  void refresh_progress(view::FlowPicture& picture, int& budget);
  void note_questions(view::FlowPicture& picture);

  client::Daemon& daemon_;
  view::FlowPicture picture_;
  // Of this execution and its subgraphs.
  std::map<base::ExecutionId, std::shared_ptr<const model::Workflow>> workflows_;
  std::map<base::ApprovalId, model::Approval> questions_;
  // The latest progress by run.
  std::map<base::RunId, std::string> progress_;
};

}  // namespace reeve::cli
