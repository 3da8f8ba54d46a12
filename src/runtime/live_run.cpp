#include "runtime/live_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"
#include "os/file.h"
#include "os/tree.h"
#include "runtime/own_place.h"
#include "runtime/sandbox.h"
#include "runtime/store_task.h"

namespace reeve::runtime {

namespace {

using base::BootTime;
using model::RunStatus;
using std::chrono::seconds;

// RUN-7: not more often than that when nothing but the times changed; and not later when much was read, because what is
// not stored is read again after a crash.
constexpr auto news_pause = seconds(1);
constexpr std::uint64_t news_bytes = 1ULL << 20U;
// What comes first is read at once; a stream of it in stretches, because each answer wakes three threads.
constexpr auto answer_pause = std::chrono::milliseconds(4);
constexpr std::size_t most_tool_errors = 100;
constexpr std::size_t most_questions = 64;

// What was printed since the last time, asked with the transaction that stores how far was read (APR-1, APR-9).
struct PrintedQuestions {
  std::size_t count = 0;
  // More of them, which were not even kept.
  std::size_t dropped = 0;
  ledger::QuestionFrame frame;
  ledger::RunQuestion first;
  std::optional<std::chrono::seconds> expires_in;
  ledger::Asked result;

  ledger::Asked ask(ledger::Transaction& transaction, base::RunId run) const {
    if (count == 0) return {};
    ledger::RunQuestion question = first;
    question.approval = ledger::frame_question(transaction, frame, first.approval, expires_in);
    ledger::Asked asked = ledger::ask_for_run(transaction, run, std::move(question));
    const std::size_t refused = count + dropped - (asked.approval ? 1 : 0);
    if (asked.run && refused > 0) {
      ledger::record_refused_questions(transaction, *asked.run, refused, first.approval.question);
    }
    return asked;
  }
};

std::int64_t ns_of(BootTime time) { return time.time_since_epoch().count(); }

}  // namespace

std::string run_folder(const Surroundings& around, base::RunId run) {
  return (around.folder.runs() / run.text()).string();
}

std::string attempt_folder(const Surroundings& around, base::RunId run, int attempt) {
  return fmt::format("{}/{}", run_folder(around, run), attempt);
}

LiveRun::LiveRun(Surroundings& around, Start start, Events events)
    : around_(around), start_(std::move(start)), events_(std::move(events)) {
  secrets_ = prepare_secrets(find_secrets(start_.plan));
  news_.out_offset = static_cast<std::int64_t>(start_.out_offset);
  news_.err_offset = static_cast<std::int64_t>(start_.err_offset);
  position_ = stored_position_ = std::min(start_.out_offset, start_.err_offset);
  news_stored_at_ = around_.loop.now();
  silence_.since = around_.loop.now();
}

void LiveRun::open_intake() {
  const base::RunId id = record().tool_run_id;
  static std::uint64_t last_intake = 0;
  intake_ = ++last_intake;
  IntakeStart intake{.number = intake_,
                     .run = id,
                     .attempt = claim().attempt,
                     .folder = attempt_folder(around_, id, claim().attempt),
                     .tool = start_.plan.tool,
                     .execution = record().execution_id,
                     .secret_values = find_secrets(start_.plan),
                     .secrets = secrets_,
                     .secrets_file = run_folder(around_, id) + "/secrets",
                     .failure_markers = start_.plan.profile.failure_markers,
                     .output_cap = start_.plan.profile.output_cap.bytes,
                     .out_offset = start_.out_offset,
                     .err_offset = start_.err_offset};
  around_.log.open(std::move(intake));
}

KeeperLink::Events LiveRun::link_events() {
  return {.message = [this](const keeper::FromKeeper& message) { hear(message); }, .gone = [this] { see_gone(); }};
}

void LiveRun::begin(std::unique_ptr<KeeperLink> link) {
  const base::RunId id = record().tool_run_id;
  const model::ToolProfile& profile = start_.plan.profile;
  open_intake();
  link_ = std::move(link);
  link_->set_events(link_events());
  keeper::Assign assign{.run_folder = run_folder(around_, id),
                        .attempt_folder = attempt_folder(around_, id, claim().attempt),
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
  // What is the tool's own, and its sandbox.
  give_own_place(around_, start_.plan, id, assign);
  assign.open_files = around_.open_files;
  assign.cgroup_parent = around_.cgroup_parent.value_or("");
  link_->send(assign);
  around_.crash_point("run.after_assign");
  link_->send(keeper::Go{});
  around_.keepers.note_begun();
  set_deadline_timer();
  renew_silence();
}

void LiveRun::adopt(os::Fd socket) {
  open_intake();
  link_ = std::make_unique<KeeperLink>(around_.loop, std::move(socket), link_events());
  around_.log.grew(record().tool_run_id);
  if (around_.lease) renew_lease();
  const bool waits = record().status == RunStatus::waiting_approval;
  if (waits) {
    hold_clock();
  } else if (start_.time_left) {
    // It was answered, and the daemon before this one died before its clock went on.
    resume_clock();
  } else {
    set_deadline_timer();
    renew_silence();
  }
  continue_questions();
  if (start_.has_result) await_exit_after_result();
  // It was being ended when the daemon before this one died.
  if (start_.ending) stop(start_.plan.profile.kill_grace);
}

void LiveRun::conclude(keeper::ExitRecord exit) {
  open_intake();
  exit_ = std::move(exit);
  finish_intake();
}

void LiveRun::hear(const keeper::FromKeeper& message) {
  const base::RunId id = record().tool_run_id;
  if (std::holds_alternative<keeper::Grew>(message)) {
    around_.log.grew(id);
    events_.output();
  } else if (std::holds_alternative<keeper::Started>(message)) {
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
    warn(fmt::format("its output cannot be written ({}): the tool is held until it can",
                     std::generic_category().message(trouble->error_number)));
  } else if (std::holds_alternative<keeper::Exited>(message)) {
    if (!exit_ && read_exit_record()) finish_intake();
  }
}

void LiveRun::see_gone() {
  for (auto& [_, done] : std::exchange(tickets_, {})) done(false);
  if (exit_) return;
  if (read_exit_record()) {
    finish_intake();
    return;
  }
  events_.interrupted();
}

bool LiveRun::read_exit_record() {
  const std::string path =
      attempt_folder(around_, record().tool_run_id, claim().attempt) + "/" + std::string(keeper::exit_name);
  try {
    auto found = keeper::decode_exit(os::read_file(path, keeper::record_bytes));
    if (!found || found->nonce != start_.nonce) return false;
    exit_ = std::move(*found);
    return true;
  } catch (const base::Error&) {
    return false;
  }
}

void LiveRun::finish_intake() {
  deadline_timer_ = {};
  silence_timer_ = {};
  result_timer_ = {};
  if (start_.plan.profile.sandbox == model::Sandbox::guard) {
    settle_sandboxed_exit(*exit_, attempt_folder(around_, record().tool_run_id, claim().attempt));
  }
  output_end_ = exit_->output_end;
  if (*output_end_ > 0) {
    around_.log.finish(record().tool_run_id, *output_end_);
  } else {
    // It printed nothing: the log thread need not be asked for the last of it.
    Digest nothing{.run = record().tool_run_id, .intake = intake_, .attempt = claim().attempt};
    nothing.is_final = true;
    take(std::move(nothing));
  }
  events_.output();
}

void LiveRun::take(Digest digest) {
  if (digest.intake != intake_) return;
  news_.out_offset = static_cast<std::int64_t>(digest.out_offset);
  news_.err_offset = static_cast<std::int64_t>(digest.err_offset);
  position_ = std::max(position_, digest.position);
  if (digest.last_output_at) news_.last_output_at = digest.last_output_at;
  if (digest.has_heartbeat) news_.last_heartbeat_at = around_.clock.wall_now();
  if (digest.has_failure_marker) start_.has_failure_marker = news_.has_failure_marker = true;
  // An error event says more than a line that looks like one (RUN-7).
  has_error_event_ = has_error_event_ || digest.last_error;
  if (digest.last_error) {
    news_.last_error = digest.last_error;
  } else if (digest.error_line && !has_error_event_) {
    news_.last_error = digest.error_line;
  }
  if (digest.last_stderr_line) last_stderr_line_ = digest.last_stderr_line;
  if (digest.progress) news_.progress = digest.progress;
  if (digest.usage) {
    model::Usage& usage = start_.record.usage.emplace(start_.record.usage.value_or(model::Usage{}));
    usage.input_tokens += digest.usage->input_tokens;
    usage.output_tokens += digest.usage->output_tokens;
    if (digest.usage->cost_usd) usage.cost_usd = usage.cost_usd.value_or(0) + *digest.usage->cost_usd;
    news_.usage = usage;
  }
  if (start_.plan.may_ask) dropped_questions_ += digest.more_questions;
  for (Question& question : digest.questions) {
    if (!start_.plan.may_ask) break;
    if (questions_.size() < most_questions) {
      questions_.push_back(std::move(question));
    } else {
      ++dropped_questions_;
    }
  }
  for (const ToolUseError& error : digest.tool_errors) {
    if (start_.record.tool_errors.size() >= most_tool_errors) break;
    start_.record.tool_errors.push_back({start_.plan.tool, error.message});
    news_.tool_errors = start_.record.tool_errors;
  }
  if (digest.report && digest.report->kind == Report::Kind::result) {
    start_.has_result = true;
    news_.result = digest.report->data ? json::encode(*digest.report->data) : "null";
    await_exit_after_result();
  }
  const bool is_sign_of_life = digest.last_output_at || digest.has_heartbeat;
  if (is_sign_of_life) {
    has_news_ = true;
    has_warned_ = false;
    silence_ = {around_.loop.now(), {}};
    if (record().status == RunStatus::stalled) mark_running();
  }
  const bool has_effect = digest.has_effect();
  has_news_ = has_news_ || has_effect || digest.is_final;
  if (digest.is_final) {
    is_intake_final_ = true;
    store_end();
    return;
  }
  answer_growth();
  const bool is_due = around_.loop.now() - news_stored_at_ >= news_pause;
  // A small cap is soon full: what was read must be stored for it to have room again.
  const std::uint64_t much = std::min<std::uint64_t>(news_bytes, start_.plan.profile.output_cap.bytes / 4);
  if (has_effect || is_due || position_ - stored_position_ >= much) {
    store_news();
  } else if (has_news_ && !news_timer_) {
    news_timer_ = around_.loop.at(news_stored_at_ + news_pause, [this] {
      news_timer_ = {};
      store_news();
    });
  }
  events_.output();
}

void LiveRun::answer_growth() {
  if (!link_ || answer_timer_) return;
  const BootTime due = answered_at_ + answer_pause;
  if (around_.loop.now() >= due) {
    answered_at_ = around_.loop.now();
    link_->send(keeper::Consumed{stored_position_});
    return;
  }
  answer_timer_ = around_.loop.at(due, [this] {
    answer_timer_ = {};
    answer_growth();
  });
}

void LiveRun::store_news() {
  if (is_storing_news_ || !has_news_ || is_storing_end_) {
    is_news_due_ = is_storing_news_ && has_news_;
    return;
  }
  is_storing_news_ = true;
  is_news_due_ = false;
  has_news_ = false;
  news_timer_ = {};
  news_stored_at_ = around_.loop.now();
  const std::uint64_t position = position_;
  const base::RunId id = record().tool_run_id;
  // Asked in the transaction that stores how far was read: a question is asked once.
  auto asked = std::make_shared<PrintedQuestions>();
  asked->count = questions_.size();
  asked->dropped = dropped_questions_;
  if (asked->count > 0) {
    // What is refused anyway is not looked up on the disk.
    asked->frame = make_frame(!open_question_);
    asked->first = {.claim = claim(), .approval = make_approval(questions_.front()), .time_left_ms = time_left_ms()};
    asked->expires_in = questions_.front().expires_in;
  }
  ask_store(
      around_.ledger, around_.loop,
      [id, claim = claim(), news = news_, asked](ledger::Transaction& transaction) {
        if (!ledger::record_news(transaction, id, claim, news)) return false;
        asked->result = asked->ask(transaction, id);
        return true;
      },
      [this, alive = std::weak_ptr(alive_), position, news = news_, asked](std::expected<bool, base::Error> stored) {
        if (alive.expired()) return;
        is_storing_news_ = false;
        if (stored && *stored && asked->count > 0) {
          questions_.erase(questions_.begin(), questions_.begin() + static_cast<std::ptrdiff_t>(asked->count));
          dropped_questions_ -= asked->dropped;
          if (asked->result.approval) see_asked(asked->result, [](const auto&) {});
        }
        if (!stored || !*stored) {
          // Kept, and tried again: what is not stored is not consumed either, and holds the tool in the end.
          has_news_ = true;
          if (is_intake_final_) return store_end();
          news_timer_ = around_.loop.at(around_.loop.now() + news_pause, [this] {
            news_timer_ = {};
            store_news();
          });
          return;
        }
        if (news_.deadline_ms == news.deadline_ms) news_.deadline_ms.reset();
        stored_position_ = position;
        around_.log.stored(record().tool_run_id, position);
        answer_growth();
        model::Run& run = start_.record;
        if (news.last_output_at) run.last_output_at = news.last_output_at;
        if (news.last_heartbeat_at) run.last_heartbeat_at = news.last_heartbeat_at;
        if (news.last_error) run.last_error = news.last_error;
        if (news.progress) run.progress = news.progress;
        if (is_intake_final_) return store_end();
        if (is_news_due_) store_news();
      });
}

void LiveRun::store_end() {
  // What is being stored at this moment is stored first: the end carries the last word.
  if (!exit_ || !is_intake_final_ || is_storing_end_ || is_storing_news_) return;
  is_storing_end_ = true;
  around_.crash_point("run.before_tx_exit");
  AttemptEnd end{.run = record().tool_run_id, .claim = claim(), .record = *exit_, .ending = start_.ending};
  end.has_read_answer = has_read_answer_;
  end.has_failure_marker = start_.has_failure_marker;
  end.may_ask = start_.plan.may_ask;
  // What it said last is asked before its end is looked at.
  auto asked = std::make_shared<PrintedQuestions>();
  asked->count = questions_.size();
  asked->dropped = dropped_questions_;
  const bool may_ask = asked->count > 0 || exit_->code == engine::approval_exit_code;
  asked->frame = make_frame(may_ask && start_.plan.may_ask);
  if (asked->count > 0) {
    asked->first = {.claim = claim(), .approval = make_approval(questions_.front()), .time_left_ms = {}};
    asked->expires_in = questions_.front().expires_in;
  }
  if (!has_error_event_ && !record().last_error && !news_.last_error) end.last_stderr_line = last_stderr_line_;
  ask_store(
      around_.ledger, around_.loop,
      [end, news = news_, asked, command = record().argv.empty() ? start_.plan.tool : record().argv.front(),
       cwd = start_.plan.cwd](ledger::Transaction& transaction) -> StoredEnd {
        if (!ledger::record_news(transaction, end.run, end.claim, news)) return {};
        asked->result = asked->ask(transaction, end.run);
        return store_attempt_end(transaction, end, asked->frame, command, cwd);
      },
      [this, alive = std::weak_ptr(alive_), asked](std::expected<StoredEnd, base::Error> stored) {
        if (alive.expired()) return;
        if (!stored) {
          // The store will have it when it can: the record of the end lies in the run's folder.
          is_storing_end_ = false;
          news_timer_ = around_.loop.at(around_.loop.now() + news_pause, [this] { store_end(); });
          return;
        }
        around_.crash_point("run.after_tx_exit");
        around_.log.close(record().tool_run_id);
        if (stored->run) {
          start_.record = std::move(*stored->run);
          events_.changed(record());
        }
        if (asked->result.approval && stored->run) events_.asked(*asked->result.approval);
        if (stored->asked) events_.asked({.approval_id = *stored->asked});
        if (stored->granted) events_.granted(*stored->granted);
        events_.over();
      });
}

// RUN-17.
void LiveRun::await_exit_after_result() {
  result_timer_ = around_.loop.at(around_.loop.now() + start_.plan.profile.result_grace,
                                  [this] { end_by_itself({RunStatus::completed, "", model::Outcome::did_not_exit}); });
}

void LiveRun::end_by_itself(Ending ending) {
  end(ending, start_.plan.profile.kill_grace, [this, alive = std::weak_ptr(alive_), ending](const auto& ended) {
    if (alive.expired() || ended || exit_) return;
    // The store is out of reach: the limit holds all the same, as soon as it can be written down.
    end_timer_ = around_.loop.at(around_.loop.now() + news_pause, [this, ending] { end_by_itself(ending); });
  });
}

void LiveRun::set_deadline_timer() {
  if (!start_.deadline) return;
  deadline_timer_ =
      around_.loop.at(*start_.deadline, [this] { end_by_itself({RunStatus::failed_timeout, "timeout", {}}); });
}

void LiveRun::renew_silence() {
  silence_ = {around_.loop.now(), {}};
  const auto limit = start_.plan.profile.no_output_timeout.after;
  if (limit) watch_silence(silence_.since + *limit / 2);
}

void LiveRun::watch_silence(BootTime when) {
  silence_timer_ = around_.loop.at(when, [this] { look_at_silence(); });
}

void LiveRun::look_at_silence() {
  if (record().status == RunStatus::waiting_approval) return;
  const model::ToolProfile& profile = start_.plan.profile;
  const BootTime now = around_.loop.now();
  engine::Activity seen;
  if (profile.liveness == model::Liveness::activity && engine::is_due(profile.no_output_timeout, silence_, now)) {
    const os::TreeActivity activity = os::measure_activity(start_.keeper_pid);
    seen = {activity.cpu, activity.io_bytes};
  }
  const engine::StallDecision decision =
      engine::check_stall(profile.no_output_timeout, profile.liveness, silence_, now, seen);
  const std::string limit = base::format_duration(*profile.no_output_timeout.after);
  switch (decision.verdict) {
    case engine::StallVerdict::wait:
      break;
    case engine::StallVerdict::half_time: {
      silence_.at_half = seen;
      // One warning, until something is heard: what works in silence does not warn all day.
      if (std::exchange(has_warned_, true)) break;
      const std::string reason = fmt::format("no output or heartbeat for {}, half of its limit",
                                             base::format_duration(*profile.no_output_timeout.after / 2));
      warn(reason);
      break;
    }
    case engine::StallVerdict::at_work:
      silence_ = {now, {}};
      break;
    case engine::StallVerdict::stalled:
      mark_stalled(limit);
      break;
  }
  if (decision.look_again) watch_silence(*decision.look_again);
}

void LiveRun::warn(const std::string& reason) {
  ask_store(
      around_.ledger, around_.loop,
      [id = record().tool_run_id, claim = claim(), reason](ledger::Transaction& transaction) {
        return ledger::warn_of_run(transaction, id, claim, reason);
      },
      [](auto) {});
}

void LiveRun::mark_stalled(const std::string& limit) {
  const model::ToolProfile& profile = start_.plan.profile;
  const auto silent_s = std::chrono::duration_cast<seconds>(*profile.no_output_timeout.after).count();
  if (profile.on_stall == model::OnStall::kill) {
    end_by_itself({RunStatus::failed_timeout, fmt::format("no output or heartbeat for {} s", silent_s), {}});
    return;
  }
  const bool looks_at_activity = profile.liveness == model::Liveness::activity;
  stall_decided_at_ = around_.loop.now();
  move({.to = RunStatus::stalled,
        .reason = fmt::format("no output or heartbeat{} for {}", looks_at_activity ? ", no CPU or I/O" : "", limit),
        .only_from = RunStatus::running});
}

void LiveRun::mark_running() {
  // Not when it has asked meanwhile: then an answer lets it run.
  move({.to = RunStatus::running, .only_from = RunStatus::stalled});
  const auto limit = start_.plan.profile.no_output_timeout.after;
  if (limit) watch_silence(silence_.since + *limit / 2);
}

void LiveRun::move(ledger::RunMove move) {
  ask_store(
      around_.ledger, around_.loop,
      [id = record().tool_run_id, claim = claim(), move](ledger::Transaction& transaction) {
        return ledger::move_run(transaction, id, move, claim);
      },
      [this, alive = std::weak_ptr(alive_)](std::expected<std::optional<model::Run>, base::Error> moved) {
        if (alive.expired() || exit_) return;
        if (!moved && moved.error().code().starts_with("store.")) {
          silence_timer_ = around_.loop.at(around_.loop.now() + news_pause, [this] { look_at_silence(); });
        }
        if (!moved || !*moved) return;
        start_.record.status = (*moved)->status;
        start_.record.reason = (*moved)->reason;
        events_.changed(record());
        // It spoke while this was being stored.
        const bool spoke = record().status == RunStatus::stalled && silence_.since > stall_decided_at_;
        if (spoke) mark_running();
      });
}

void LiveRun::end(Ending ending, base::Milliseconds grace, Done done) {
  if (exit_) {
    done(std::unexpected(base::Error("run.not_running", fmt::format("{} has ended", record().tool_run_id.text()))));
    return;
  }
  if (start_.ending) {
    // It is being ended; the first reason stands. Only the patience may be less than before.
    if (grace.count() == 0) stop(grace);
    done(record());
    return;
  }
  start_.ending = ending;
  ask_store(
      around_.ledger, around_.loop,
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
  constexpr std::size_t most_tickets = 64;
  const bool has_place = link_ && !exit_ && tickets_.size() < most_tickets && bytes.size() <= keeper::input_bytes;
  if (!has_place) {
    done(false);
    return;
  }
  const std::uint32_t ticket = next_ticket_++;
  tickets_.emplace(ticket, std::move(done));
  link_->send(keeper::Input{ticket, std::move(bytes)});
}

std::int64_t LiveRun::lease_end_ns() const {
  return around_.lease ? ns_of(around_.loop.now() + around_.supervision.adopt_grace) : 0;
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
