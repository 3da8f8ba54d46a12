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

// An execution and those it starts, as the daemon tells of them: which events are about it, how it looks now, and what
// it asks.
class FlowWatch {
 public:
  // The daemon must outlive it.
  FlowWatch(client::Daemon& daemon, model::Execution execution);

  // Whether the event is about it. A subgraph that begins belongs to it from then on.
  bool take(const base::Value& event);
  // Looks at it anew.
  void refresh();
  // What it asked before anybody listened, once it was looked at.
  void find_questions();
  // What the runs of its nodes say of themselves, for the first few that run.
  void refresh_progress();

  const view::FlowPicture& picture() const noexcept { return picture_; }
  // What waits for an answer, the oldest first.
  const std::map<base::ApprovalId, model::Approval>& questions() const noexcept { return questions_; }

 private:
  void refresh(view::FlowPicture& picture);
  void refresh_progress(view::FlowPicture& picture, int& budget);
  void note_questions(view::FlowPicture& picture);

  client::Daemon& daemon_;
  view::FlowPicture picture_;
  // Of this execution and all beneath it.
  std::map<base::ExecutionId, std::shared_ptr<const model::Workflow>> workflows_;
  std::map<base::ApprovalId, model::Approval> questions_;
  // By run, what it said last.
  std::map<base::RunId, std::string> progress_;
};

}  // namespace reeve::cli
