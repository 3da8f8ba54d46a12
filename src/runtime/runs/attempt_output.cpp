#include "runtime/runs/attempt_output.h"

#include <utility>
#include <vector>

#include "runtime/inbox/inbox.h"

namespace reeve::runtime {

namespace {

// After the exit, the end of the run does not wait longer for calls that nobody will answer.
constexpr auto max_hold = std::chrono::seconds(10);

}  // namespace

AttemptOutput::AttemptOutput(RuntimeContext& context, base::RunId run, int attempt, Take take)
    : context_(context), run_(run), attempt_(attempt), take_(std::move(take)) {}

void AttemptOutput::open(OutputFeedStart feed) {
  static std::uint64_t last_feed = 0;
  feed_ = ++last_feed;
  feed.number = feed_;
  context_.log.open(std::move(feed));
}

OutputBatch AttemptOutput::make_batch() const { return {.run = run_, .feed = feed_, .attempt = attempt_}; }

void AttemptOutput::add(OutputBatch batch) {
  if (batch.calls.empty()) return take_(std::move(batch));
  post_calls(batch);
  held_ = std::move(batch);
  set_limit();
}

void AttemptOutput::post_calls(OutputBatch& batch) {
  for (PrintedCall& call : std::exchange(batch.calls, {})) {
    untaken_calls_.insert(call.end);
    context_.inbox.post(CallPrinted{.run = run_,
                                    .attempt = attempt_,
                                    .id = std::move(call.id),
                                    .tool = std::move(call.tool),
                                    .arguments = std::move(call.arguments),
                                    .position = call.end});
  }
}

void AttemptOutput::on_call_taken(std::uint64_t position) {
  if (untaken_calls_.erase(position) == 0 || !untaken_calls_.empty() || !held_) return;
  limit_ = {};
  OutputBatch batch = std::move(*held_);
  held_.reset();
  context_.log.calls_taken(run_, batch.position);
  take_(std::move(batch));
}

void AttemptOutput::limit_hold() {
  is_limited_ = true;
  set_limit();
}

void AttemptOutput::set_limit() {
  if (!held_ || !is_limited_) return;
  limit_ = context_.loop.at(context_.loop.now() + max_hold, [this] {
    if (untaken_calls_.empty()) return;
    untaken_calls_ = {*untaken_calls_.begin()};
    on_call_taken(*untaken_calls_.begin());
  });
}

}  // namespace reeve::runtime
