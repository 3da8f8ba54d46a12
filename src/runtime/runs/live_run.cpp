#include "runtime/runs/live_run.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "os/file.h"
#include "os/tree.h"
#include "runtime/runs/run_private_dir.h"
#include "runtime/runs/sandbox.h"

namespace reeve::runtime {

namespace {

using base::BootTime;
using base::ErrorCode;

std::int64_t ns_of(BootTime time) { return time.time_since_epoch().count(); }

engine::RunState make_state(const LiveRun::Start& start, BootTime now) {
  const model::ToolProfile& profile = start.plan.profile;
  engine::RunState state;
  state.terms = {.timeout = profile.timeout,
                 .no_output_timeout = profile.no_output_timeout,
                 .liveness = profile.liveness,
                 .on_stall = profile.on_stall,
                 .on_prompt = profile.on_prompt.action,
                 .kill_grace = profile.kill_grace,
                 .result_grace = profile.result_grace};
  // A small cap fills quickly: output must be stored before there is room again.
  state.terms.unstored_bytes = std::min<std::uint64_t>(state.terms.unstored_bytes, profile.output_cap.bytes / 4);
  state.status = start.record.status;
  if (start.record.paused_at) state.pause = engine::RunPause::paused;
  if (start.ending) state.phase = engine::Stopping{*start.ending};
  if (start.time_left) {
    state.clock = engine::Paused{*start.time_left};
  } else if (start.deadline) {
    state.clock = engine::Ticking{*start.deadline};
  }
  state.silence.since = now;
  state.news.position = state.news.stored_position = std::min(start.out_offset, start.err_offset);
  state.news.stored_at = now;
  return state;
}

keeper::Assign::Mode mode_of(model::RunMode mode) {
  switch (mode) {
    case model::RunMode::pty:
      return keeper::Assign::Mode::pty;
    case model::RunMode::stream:
      return keeper::Assign::Mode::stream;
    case model::RunMode::pipe:
      break;
  }
  return keeper::Assign::Mode::pipe;
}

// The last question as far as it concerns this attempt.
std::optional<engine::RunAdopted::LastQuestion> find_last_question(const LiveRun::Start& start) {
  if (!start.question || start.question->attempt != start.claim.attempt) return std::nullopt;
  const model::Approval& question = *start.question;
  const bool is_typed = question.delivery == model::Delivery::terminal;
  const bool is_pending = question.status == model::ApprovalStatus::pending;
  engine::RunAdopted::LastQuestion last{.id = question.approval_id, .is_pending = is_pending};
  last.must_be_typed = is_typed && !is_pending && !question.secret && question.status != model::ApprovalStatus::expired;
  if (is_typed && start.prompt) last.prompt = static_cast<std::uint32_t>(*start.prompt);
  return last;
}

}  // namespace

LiveRun::LiveRun(RuntimeContext& context, Start start, Reporter report)
    : context_(context),
      start_(std::move(start)),
      report_(std::move(report)),
      secrets_(prepare_secrets(find_secrets(start_.plan))),
      state_(make_state(start_, context_.loop.now())),
      news_({.out_offset = start_.out_offset,
             .err_offset = start_.err_offset,
             .has_failure_marker = start_.has_failure_marker,
             .may_ask = start_.plan.may_ask}),
      output_(context_, start_.record.tool_run_id, start_.claim.attempt,
              [this](OutputBatch batch) { take_output(std::move(batch)); }),
      keeper_(context_.loop),
      terminal_(start_.plan.rows, start_.plan.columns),
      activity_(context_.loop, context_.clock, start_.keeper_pid) {}

void LiveRun::handle(engine::RunEvent event) {
  events_.add(std::move(event), [this](const engine::RunEvent& next) {
    for (const engine::RunAction& action : engine::decide(state_, next, context_.loop.now())) {
      std::visit([this](const auto& one) { perform(one); }, action);
    }
  });
}

void LiveRun::send(const keeper::ToKeeper& message) { keeper_.send(message); }

void LiveRun::set_status(const model::Run& stored) {
  start_.record.status = stored.status;
  start_.record.reason = stored.reason;
}

void LiveRun::open_feed() {
  const base::RunId id = record().tool_run_id;
  OutputFeedStart feed{.run = id,
                       .attempt = claim().attempt,
                       .folder = attempt_folder(context_, id, claim().attempt),
                       .tool = start_.plan.tool,
                       .execution = record().execution_id,
                       .secret_values = find_secrets(start_.plan),
                       .secrets = secrets_,
                       .secrets_file = run_folder(context_, id) + "/secrets",
                       .failure_markers = start_.plan.profile.failure_markers,
                       .speaks_reeve = start_.plan.profile.speaks == model::Speaks::reeve &&
                                       start_.plan.profile.mode == model::RunMode::stream,
                       .output_cap = start_.plan.profile.output_cap.bytes,
                       .out_offset = start_.out_offset,
                       .err_offset = start_.err_offset};
  output_.open(std::move(feed));
}

AttemptKeeper::Events LiveRun::keeper_events() {
  return {.message = [this](const keeper::FromKeeper& message) { on_keeper_message(message); },
          .gone = [this] { on_keeper_gone(); }};
}

keeper::Assign LiveRun::make_assignment() const {
  const base::RunId id = record().tool_run_id;
  const model::ToolProfile& profile = start_.plan.profile;
  keeper::Assign assign{.run_folder = run_folder(context_, id),
                        .attempt_folder = attempt_folder(context_, id, claim().attempt),
                        .nonce = start_.nonce};
  assign.mode = mode_of(profile.mode);
  assign.rows = static_cast<std::uint16_t>(start_.plan.rows);
  assign.columns = static_cast<std::uint16_t>(start_.plan.columns);
  assign.kill_grace_ms = static_cast<std::uint32_t>(profile.kill_grace.count());
  assign.keep_descendants = profile.keep_descendants;
  assign.output_cap = profile.output_cap.bytes;
  if (start_.deadline) assign.deadline_ns = ns_of(*start_.deadline);
  assign.lease_ns = context_.lease ? ns_of(context_.loop.now() + context_.supervision.adopt_grace) : 0;
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
  return assign;
}

void LiveRun::begin(Loop::Own<KeeperLink> link) {
  open_feed();
  keeper_.begin(std::move(link), keeper_events());
  send(make_assignment());
  if (start_.input) send(*start_.input);
  if (const auto& folder = start_.plan.known_folder) {
    send(keeper::StartIn{folder->root, folder->name, folder->device, folder->inode});
  }
  context_.crash_point("run.after_assign");
  context_.keepers.note_begun();
  // Paused before it began: the keeper waits.
  if (!is_paused()) {
    keeper_.go();
    activity_.begin();
  }
  handle(engine::RunBegun{});
}

void LiveRun::adopt(os::Fd socket) {
  open_feed();
  keeper_.adopt(std::move(socket), keeper_events());
  context_.log.grew(record().tool_run_id);
  renew_lease();
  if (start_.input) send(*start_.input);
  activity_.begin();
  const auto last = find_last_question(start_);
  if (last && last->must_be_typed) terminal_.expect(*start_.question);
  handle(engine::RunAdopted{.question = last, .waiting_calls = start_.waiting_calls, .has_result = start_.has_result});
}

void LiveRun::conclude(keeper::ExitRecord exit) {
  open_feed();
  exit_ = std::move(exit);
  handle(engine::ProcessExited{});
}

void LiveRun::on_keeper_message(const keeper::FromKeeper& message) {
  if (const auto* frozen = std::get_if<keeper::Frozen>(&message)) {
    if (frozen->missed > 0) {
      perform(engine::StoreWarning{fmt::format("{} of its processes could not be stopped", frozen->missed)});
    }
  } else if (std::holds_alternative<keeper::Grew>(message)) {
    context_.log.grew(record().tool_run_id);
    report_(OutputGrew{});
  } else if (const auto* size = std::get_if<keeper::Resized>(&message)) {
    terminal_.set_size(size->rows, size->columns);
  } else if (const auto* prompt = std::get_if<keeper::Prompt>(&message)) {
    handle(engine::PromptShown{{.serial = prompt->serial,
                                .is_certain = prompt->certainty == keeper::Prompt::Certainty::certain,
                                .is_secret = prompt->is_secret,
                                .position = prompt->position}});
  } else if (const auto* over = std::get_if<keeper::PromptOver>(&message)) {
    handle(engine::PromptGone{over->serial});
  } else if (const auto* typed = std::get_if<keeper::AnswerTaken>(&message)) {
    handle(engine::AnswerTyped{typed->number, typed->is_taken});
  } else if (const auto* read = std::get_if<keeper::StdinRead>(&message)) {
    report_(StdinRead{read->position});
  } else if (const auto* trouble = std::get_if<keeper::Trouble>(&message)) {
    perform(engine::StoreWarning{fmt::format("cannot write its output ({}): the tool is blocked until this succeeds",
                                             std::generic_category().message(trouble->error_number))});
  } else if (std::holds_alternative<keeper::Exited>(message)) {
    if (!exit_ && read_exit_record()) handle(engine::ProcessExited{});
  }
}

void LiveRun::on_keeper_gone() {
  const std::weak_ptr alive(alive_);
  keeper_.close();
  if (alive.expired() || exit_) return;
  if (read_exit_record()) {
    handle(engine::ProcessExited{});
  } else {
    handle(engine::KeeperLost{});
  }
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

void LiveRun::on_output(OutputBatch batch) {
  if (!output_.is_own(batch)) return;
  if (batch.more_calls > 0) {
    perform(engine::StoreWarning{fmt::format("{} tool calls were refused: it made more than {} at once",
                                             batch.more_calls, OutputBatch::max_calls)});
  }
  output_.add(std::move(batch));
}

void LiveRun::take_output(OutputBatch batch) {
  const bool is_final = batch.is_final;
  handle(news_.merge(std::move(batch), start_.record, context_.clock.wall_now()));
  if (!is_final) report_(OutputGrew{});
}

void LiveRun::end(model::RunEnding ending, base::Milliseconds grace, Done done) {
  if (engine::has_exited(state_)) {
    done(std::unexpected(
        base::Error(ErrorCode::run_not_running, fmt::format("{} has ended", record().tool_run_id.text()))));
    return;
  }
  handle(engine::EndRequested{std::move(ending), grace});
  if (engine::is_storing_ending(state_)) {
    callers_.wait_for_end(std::move(done));
  } else {
    // It is already being ended, for an earlier reason.
    done(record());
  }
}

void LiveRun::input(std::string bytes, std::function<void(bool)> done) {
  if (exit_) return done(false);
  keeper_.send_input(std::move(bytes), std::move(done));
}

void LiveRun::send_line(std::string line, ToolLines::Done done) {
  const bool is_stream = start_.plan.profile.mode == model::RunMode::stream;
  if (exit_ || !is_stream) return done(false);
  keeper_.send_line(std::move(line), std::move(done));
}

void LiveRun::renew_lease() {
  if (context_.lease) send(keeper::Lease{ns_of(context_.loop.now() + context_.supervision.adopt_grace)});
}

void LiveRun::resize(int rows, int columns) {
  terminal_.set_size(rows, columns);
  send(keeper::Resize{static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(columns)});
}

void LiveRun::signal(int number) { send(keeper::Signal{number}); }

void LiveRun::on_timer(engine::RunTimer timer) {
  engine::TimerFired fired{.timer = timer};
  if (timer == engine::RunTimer::silence && engine::needs_activity(state_, context_.loop.now())) {
    const os::TreeActivity activity = activity_.sample();
    fired.activity = {activity.cpu, activity.io_bytes};
  }
  handle(fired);
}

wire::RunProcess LiveRun::describe_process() {
  const auto count = [](const std::optional<base::Milliseconds>& limit) {
    return limit ? std::optional(limit->count()) : std::nullopt;
  };
  const os::TreeActivity now = activity_.sample();
  wire::RunProcess process{.tool_run_id = record().tool_run_id, .attempt = claim().attempt};
  process.pid = keeper_.tool_pid();
  process.keeper_pid = start_.keeper_pid;
  process.processes = static_cast<std::int64_t>(now.processes);
  process.cpu_ms = now.cpu.count();
  process.memory_bytes = static_cast<std::int64_t>(now.memory_bytes);
  process.io_bytes = static_cast<std::int64_t>(now.io_bytes);
  process.last_output_at = record().last_output_at;
  process.last_heartbeat_at = record().last_heartbeat_at;
  process.last_activity_at = activity_.last();
  process.timeout_ms = count(start_.plan.profile.timeout.after);
  process.time_left_ms = count(engine::time_left(state_, context_.loop.now()));
  process.no_output_timeout_ms = count(state_.terms.no_output_timeout.after);
  process.on_stall = state_.terms.on_stall;
  process.liveness = state_.terms.liveness;
  return process;
}

void LiveRun::perform(const engine::SetTimer& action) {
  timers_[static_cast<std::size_t>(action.timer)] =
      context_.loop.at(action.when, [this, timer = action.timer] { on_timer(timer); });
}

void LiveRun::perform(const engine::ClearTimer& action) { timers_[static_cast<std::size_t>(action.timer)] = {}; }

void LiveRun::perform(const engine::StopProcess& action) {
  if (keeper_.drop_unstarted()) return handle(engine::KeeperLost{});
  send(keeper::Stop{static_cast<std::uint32_t>(action.grace.count())});
}

void LiveRun::perform(const engine::SendDeadline& action) {
  send(keeper::Deadline{action.deadline ? ns_of(*action.deadline) : 0});
}

void LiveRun::perform(const engine::Acknowledge&) { send(keeper::Consumed{state_.news.stored_position}); }

void LiveRun::perform(const engine::ReadRest&) {
  if (start_.plan.profile.sandbox == model::Sandbox::guard) {
    settle_sandboxed_exit(*exit_, attempt_folder(context_, record().tool_run_id, claim().attempt));
  }
  activity_.end();
  output_.limit_hold();
  if (exit_->output_end > 0) {
    context_.log.finish(record().tool_run_id, exit_->output_end);
  } else {
    // There is no output, so the log thread is not needed for a final batch.
    OutputBatch nothing = output_.make_batch();
    nothing.is_final = true;
    on_output(std::move(nothing));
  }
  report_(OutputGrew{});
}

void LiveRun::perform(const engine::Recover&) { report_(Lost{}); }

}  // namespace reeve::runtime
