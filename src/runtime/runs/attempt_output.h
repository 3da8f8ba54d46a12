#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "runtime/loop/loop.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/output/log_thread.h"

namespace reeve::runtime {

// The output of one attempt on its way from the log thread: only the batches of its own feed, and those with tool calls
// only once all of these are stored (TOOL-4). So the position after a call is stored with the call, and after a crash
// no line is missed and none counts twice. Lives on the loop.
class AttemptOutput {
 public:
  using Take = std::function<void(OutputBatch)>;

  AttemptOutput(RuntimeContext& context, base::RunId run, int attempt, Take take);
  AttemptOutput(const AttemptOutput&) = delete;
  AttemptOutput& operator=(const AttemptOutput&) = delete;

  // Numbers the feed and opens it at the log thread.
  void open(OutputFeedStart feed);
  // An empty batch of this feed, for events that did not come from the output.
  OutputBatch make_batch() const;
  bool is_own(const OutputBatch& batch) const noexcept { return batch.feed == feed_; }

  // A batch of this feed.
  void add(OutputBatch batch);
  // The call whose line ends there is stored, or cannot be.
  void on_call_taken(std::uint64_t position);
  // The process has exited: from now on calls that nobody answers hold its output only for a limited time.
  void limit_hold();

 private:
  void post_calls(OutputBatch& batch);
  void set_limit();

  RuntimeContext& context_;
  base::RunId run_;
  int attempt_;
  Take take_;
  std::uint64_t feed_ = 0;
  // The last batch read, while its calls are being stored, and the positions of those that are not yet.
  std::optional<OutputBatch> held_;
  std::set<std::uint64_t> untaken_calls_;
  bool is_limited_ = false;
  Loop::Hold limit_;
};

}  // namespace reeve::runtime
