#include "runtime/runs/live_run.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "os/file.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_private_dir.h"
#include "runtime/runs/sandbox.h"

namespace reeve::runtime {

namespace {

using base::BootTime;
using model::RunStatus;

std::int64_t ns_of(BootTime time) { return time.time_since_epoch().count(); }

}  // namespace

LiveRun::LiveRun(RuntimeContext& context, Start start, Events events)
    : context_(context), start_(std::move(start)), events_(std::move(events)) {
  secrets_ = prepare_secrets(find_secrets(start_.plan));
  news_.out_offset = static_cast<std::int64_t>(start_.out_offset);
  news_.err_offset = static_cast<std::int64_t>(start_.err_offset);
  position_ = stored_position_ = std::min(start_.out_offset, start_.err_offset);
  news_stored_at_ = context_.loop.now();
  silence_.since = context_.loop.now();
}

void LiveRun::open_feed() {
  const base::RunId id = record().tool_run_id;
  static std::uint64_t last_feed = 0;
  feed_ = ++last_feed;
  OutputFeedStart feed{.number = feed_,
                       .run = id,
                       .attempt = claim().attempt,
                       .folder = attempt_folder(context_, id, claim().attempt),
                       .tool = start_.plan.tool,
                       .execution = record().execution_id,
                       .secret_values = find_secrets(start_.plan),
                       .secrets = secrets_,
                       .secrets_file = run_folder(context_, id) + "/secrets",
                       .failure_markers = start_.plan.profile.failure_markers,
                       .output_cap = start_.plan.profile.output_cap.bytes,
                       .out_offset = start_.out_offset,
                       .err_offset = start_.err_offset};
  context_.log.open(std::move(feed));
}

KeeperLink::Events LiveRun::link_events() {
  return {.message = [this](const keeper::FromKeeper& message) { hear(message); }, .gone = [this] { see_gone(); }};
}

void LiveRun::begin(Loop::Own<KeeperLink> link) {
  const base::RunId id = record().tool_run_id;
  const model::ToolProfile& profile = start_.plan.profile;
  open_feed();
  link_ = std::move(link);
  link_->set_events(link_events());
  keeper::Assign assign{.run_folder = run_folder(context_, id),
                        .attempt_folder = attempt_folder(context_, id, claim().attempt),
                        .nonce = start_.nonce};
  assign.mode = profile.mode == model::RunMode::pty      ? keeper::Assign::Mode::pty
                : profile.mode == model::RunMode::stream ? keeper::Assign::Mode::stream
                                                         : keeper::Assign::Mode::pipe;
  assign.rows = static_cast<std::uint16_t>(start_.plan.rows);
  assign.columns = static_cast<std::uint16_t>(start_.plan.columns);
  assign.kill_grace_ms = static_cast<std::uint32_t>(profile.kill_grace.count());
  assign.keep_descendants = profile.keep_descendants;
  assign.output_cap = profile.output_cap.bytes;
  if (start_.deadline) assign.deadline_ns = ns_of(*start_.deadline);
  assign.lease_ns = lease_end_ns();
  assign.environment =
      attempt_environment(id, record().execution_id, record().node_id, claim().attempt, assign.attempt_folder);
  if (start_.resumption) {
    const auto& more = start_.resumption->environment;
    assign.environment.insert(assign.environment.end(), more.begin(), more.end());
    assign.words = start_.resumption->words;
  }
  // Sets up the tool's private folder, socket and sandbox.
  assign_private_dir(context_, start_.plan, id, assign);
  assign.open_files = context_.open_files;
  assign.cgroup_parent = context_.cgroup_parent.value_or("");
  link_->send(assign);
  context_.crash_point("run.after_assign");
  link_->send(keeper::Go{});
  context_.keepers.note_begun();
  set_deadline_timer();
  renew_silence();
}

void LiveRun::adopt(os::Fd socket) {
  open_feed();
  link_ = context_.loop.make<KeeperLink>(context_.loop, std::move(socket), link_events());
  context_.log.grew(record().tool_run_id);
  if (context_.lease) renew_lease();
  const bool waits = record().status == RunStatus::waiting_approval;
  if (waits) {
    hold_clock();
  } else if (start_.time_left) {
    // The question was answered, but the previous daemon died before it restarted the clock.
    resume_clock();
  } else {
    set_deadline_timer();
    renew_silence();
  }
  continue_questions();
  if (start_.has_result) await_exit_after_result();
  // The previous daemon died while ending this run.
  if (start_.ending) stop(start_.plan.profile.kill_grace);
}

void LiveRun::conclude(keeper::ExitRecord exit) {
  open_feed();
  exit_ = std::move(exit);
  finish_feed();
}

void LiveRun::hear(const keeper::FromKeeper& message) {
  const base::RunId id = record().tool_run_id;
  if (std::holds_alternative<keeper::Grew>(message)) {
    context_.log.grew(id);
    events_.output();
  } else if (const auto* prompt = std::get_if<keeper::Prompt>(&message)) {
    see_prompt(*prompt);
  } else if (const auto* over = std::get_if<keeper::PromptOver>(&message)) {
    see_prompt_over(over->serial);
  } else if (const auto* typed = std::get_if<keeper::AnswerTaken>(&message)) {
    see_typed(typed->number, typed->is_taken);
  } else if (const auto* taken = std::get_if<keeper::InputTaken>(&message)) {
    const auto ticket = tickets_.find(taken->ticket);
    if (ticket == tickets_.end()) return;
    const auto done = std::move(ticket->second);
    tickets_.erase(ticket);
    done(taken->is_taken);
  } else if (const auto* trouble = std::get_if<keeper::Trouble>(&message)) {
    warn(fmt::format("cannot write its output ({}): the tool is blocked until this succeeds",
                     std::generic_category().message(trouble->error_number)));
  } else if (std::holds_alternative<keeper::Exited>(message)) {
    if (!exit_ && read_exit_record()) finish_feed();
  }
}

void LiveRun::see_gone() {
  for (auto& [_, done] : std::exchange(tickets_, {})) done(false);
  if (exit_) return;
  if (read_exit_record()) {
    finish_feed();
    return;
  }
  events_.interrupted();
}

bool LiveRun::read_exit_record() {
  const std::string path =
      attempt_folder(context_, record().tool_run_id, claim().attempt) + "/" + std::string(keeper::exit_name);
  const auto bytes = os::find_file(path, keeper::record_bytes);
  auto found = bytes ? keeper::decode_exit(*bytes) : std::nullopt;
  if (!found || found->nonce != start_.nonce) return false;
  exit_ = std::move(*found);
  return true;
}

void LiveRun::finish_feed() {
  deadline_timer_ = {};
  silence_timer_ = {};
  result_timer_ = {};
  if (start_.plan.profile.sandbox == model::Sandbox::guard) {
    settle_sandboxed_exit(*exit_, attempt_folder(context_, record().tool_run_id, claim().attempt));
  }
  output_end_ = exit_->output_end;
  if (*output_end_ > 0) {
    context_.log.finish(record().tool_run_id, *output_end_);
  } else {
    // There is no output, so the log thread is not needed for a final batch.
    OutputBatch nothing{.run = record().tool_run_id, .feed = feed_, .attempt = claim().attempt};
    nothing.is_final = true;
    take(std::move(nothing));
  }
  events_.output();
}

void LiveRun::end(Ending ending, base::Milliseconds grace, Done done) {
  if (exit_) {
    done(std::unexpected(base::Error("run.not_running", fmt::format("{} has ended", record().tool_run_id.text()))));
    return;
  }
  if (start_.ending) {
    // It is already being ended; the first reason is kept, and only the grace period may shrink.
    if (grace.count() == 0) stop(grace);
    done(record());
    return;
  }
  start_.ending = ending;
  ask_store(
      context_.ledger, context_.loop,
      [id = record().tool_run_id, claim = claim(), text = encode_ending(ending)](ledger::Transaction& transaction) {
        return ledger::record_ending(transaction, id, claim, text);
      },
      [this, alive = std::weak_ptr(alive_), grace, done](std::expected<bool, base::Error> stored) {
        if (alive.expired()) return;
        if (!stored) {
          start_.ending.reset();
          done(std::unexpected(stored.error()));
          return;
        }
        stop(grace);
        done(record());
      });
}

void LiveRun::stop(base::Milliseconds grace) {
  if (link_) link_->send(keeper::Stop{static_cast<std::uint32_t>(grace.count())});
}

void LiveRun::input(std::string bytes, std::function<void(bool)> done) {
  constexpr std::size_t max_tickets = 64;
  const bool has_place = link_ && !exit_ && tickets_.size() < max_tickets && bytes.size() <= keeper::input_bytes;
  if (!has_place) {
    done(false);
    return;
  }
  const std::uint32_t ticket = next_ticket_++;
  tickets_.emplace(ticket, std::move(done));
  link_->send(keeper::Input{ticket, std::move(bytes)});
}

std::int64_t LiveRun::lease_end_ns() const {
  return context_.lease ? ns_of(context_.loop.now() + context_.supervision.adopt_grace) : 0;
}

void LiveRun::renew_lease() {
  if (link_) link_->send(keeper::Lease{lease_end_ns()});
}

void LiveRun::resize(int rows, int columns) {
  if (link_) link_->send(keeper::Resize{static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(columns)});
}

void LiveRun::signal(int number) {
  if (link_) link_->send(keeper::Signal{number});
}

}  // namespace reeve::runtime
