#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/inbox/inbox.h"
#include "runtime/runs/live_run.h"

// Tool calls of a live run: those that wait for a person (TOOL-3), those in its output and the answers to them
// (TOOL-4).
namespace reeve::runtime {

namespace {

// After the exit, the end of the run does not wait longer for calls that nobody will answer.
constexpr auto max_hold = std::chrono::seconds(10);

}  // namespace

void LiveRun::hand_on_calls(OutputBatch batch) {
  if (batch.more_calls > 0) {
    perform(engine::StoreWarning{fmt::format("{} tool calls were refused: it made more than {} at once",
                                             batch.more_calls, OutputBatch::max_calls)});
  }
  for (PrintedCall& call : std::exchange(batch.calls, {})) {
    untaken_calls_.insert(call.end);
    context_.inbox.post(CallPrinted{.run = record().tool_run_id,
                                    .attempt = claim().attempt,
                                    .id = std::move(call.id),
                                    .tool = std::move(call.tool),
                                    .arguments = std::move(call.arguments),
                                    .position = call.end});
  }
  held_output_ = std::move(batch);
  limit_hold();
}

// What was read with a call takes effect once the call is stored: the position after it is stored then, and after a
// crash no line is missed and none counts twice.
void LiveRun::on_call_taken(std::uint64_t position) {
  if (untaken_calls_.erase(position) == 0 || !untaken_calls_.empty() || !held_output_) return;
  hold_limit_ = {};
  OutputBatch batch = std::move(*held_output_);
  held_output_.reset();
  context_.log.calls_taken(record().tool_run_id, batch.position);
  take_output(std::move(batch));
}

void LiveRun::limit_hold() {
  if (!held_output_ || !has_exited()) return;
  hold_limit_ = context_.loop.at(context_.loop.now() + max_hold, [this] {
    if (untaken_calls_.empty()) return;
    untaken_calls_ = {*untaken_calls_.begin()};
    on_call_taken(*untaken_calls_.begin());
  });
}

void LiveRun::send_line(std::string line, ToolLines::Done done) {
  const bool is_stream = start_.plan.profile.mode == model::RunMode::stream;
  if (!link_ || exit_ || !is_stream) return done(false);
  lines_.add(std::move(line), std::move(done));
  send_next_line();
}

void LiveRun::send_next_line() {
  // A keeper says what it can do as soon as it is connected; until then the line waits.
  if (!takes_lines_ || !link_) return;
  for (keeper::InputLine& part : lines_.take_next()) send(std::move(part));
}

void LiveRun::on_line_taken(const keeper::InputLineTaken& taken) {
  const std::weak_ptr alive(alive_);
  const auto pause = lines_.on_taken(taken);
  if (alive.expired()) return;
  if (!pause) return send_next_line();
  line_retry_ = context_.loop.at(context_.loop.now() + *pause, [this] { send_next_line(); });
}

void LiveRun::on_call_waits(base::ApprovalId id) {
  if (has_exited()) return;
  start_.record.status = model::RunStatus::waiting_approval;
  start_.record.reason.reset();
  handle(engine::CallWaits{id});
  report_(Changed{});
}

void LiveRun::on_call_answered(base::ApprovalId id, model::RunStatus status) {
  if (has_exited() || !state_.waiting_calls.contains(id)) return;
  const bool is_news = start_.record.status != status;
  start_.record.status = status;
  handle(engine::CallAnswered{id, status});
  if (is_news) report_(Changed{});
}

void LiveRun::on_calls_read(const std::set<base::ApprovalId>& waiting, model::RunStatus status) {
  std::vector<base::ApprovalId> answered;
  for (const base::ApprovalId id : state_.waiting_calls) {
    if (!waiting.contains(id)) answered.push_back(id);
  }
  for (const base::ApprovalId id : answered) on_call_answered(id, status);
}

bool LiveRun::is_advisory() const { return runtime::is_advisory(context_, start_.plan); }

}  // namespace reeve::runtime
