#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "project/project.h"
#include "runtime/daemon.h"
#include "runtime/events/event_line.h"
#include "runtime/loop/store_task.h"
#include "runtime/notify/notifier.h"

// Which part acts on which event of the inbox, and how committed events reach their subscribers.
namespace reeve::runtime {

namespace {

using store::Sql;

// If the log was deleted, only the last events are written again.
constexpr std::int64_t max_missed = 10'000;

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

}  // namespace

void Daemon::handle(Event event) {
  const Overloaded handlers{
      [this](const RunChanged& event) { on_run_changed(event.run); },
      [this](const SlotsFreed&) { driver_->on_slots_freed(); },
      [this](const AttemptLost& event) { driver_->on_attempt_lost(event); },
      [this](OutputRead& event) { supervisor_->on_output_read(std::move(event.batch)); },
      [this](const RunLive& event) { printed_calls_->on_run_live(event.run); },
      [this](CallPrinted& event) { printed_calls_->on_printed(std::move(event)); },
      [this](const LogLinesWritten& event) { on_log_lines_written(event.lines); },
      [this](const QuestionAsked& event) { approvals_->on_question_asked(event.approval); },
      [this](const OutsideAnswerFound& event) { approvals_->on_outside_answer(event.result); },
      [this](const ApplyGranted&) { isolation_->apply_granted(); },
      [this](const StepsCommitted& event) { driver_->on_steps_committed(event); },
      [this](const NodeChanged& event) { driver_->on_node_changed(event.claim); },
      [this](const WorktreeReady& event) { driver_->on_worktree_ready(event); },
      [this](const NodeWorkEnded& event) { driver_->on_work_ended(event); },
      [this](const ClaimLost& event) { driver_->on_claim_lost(event.claim); },
      [this](const ExecutionMigrated& event) { driver_->on_execution_migrated(event); },
      [this](const EventsPublished&) { on_events_published(); },
      [this](const StorePolled&) { on_store_polled(); },
  };
  std::visit(handlers, event);
}

void Daemon::on_run_changed(const model::Run& run) {
  if (is_final(run.status) || supervisor_->find(run.tool_run_id) == nullptr) {
    call_gate_->on_run_over(run.tool_run_id);
    printed_calls_->on_run_over(run.tool_run_id);
  }
  driver_->on_run_changed(run);
}

void Daemon::publish(std::span<const ledger::StoredEvent> events) {
  meters_.note_events(events);
  std::string lines;
  for (const ledger::StoredEvent& event : events) lines += event_line(event);
  if (!lines.empty()) log_->write(std::move(lines));
  events_->publish(events);
  collect_notices(events);
  collect_executions(events);
  const auto is_closing = [](const auto& event) { return event.kind == model::EventKind::approval_status_change; };
  if (std::ranges::any_of(events, is_closing)) is_question_closed_ = true;
  // Only for questions of nodes: runs announce theirs themselves.
  const auto has_time = [](const auto& event) { return event.facts && event.facts->expires; };
  if (std::ranges::any_of(events, has_time)) is_question_timed_ = true;
  if (is_published_.exchange(true)) return;
  published_since_ = std::chrono::steady_clock::now();
  inbox_.post(EventsPublished{});
}

void Daemon::on_events_published() {
  const auto committed_at = published_since_.load();
  is_published_ = false;
  if (is_question_closed_.exchange(false)) approvals_->notify_waiters();
  if (is_question_timed_.exchange(false)) approvals_->expire_due();
  std::set<base::ExecutionId> changed;
  {
    const std::lock_guard lock(changed_mutex_);
    changed.swap(changed_executions_);
  }
  notify_execution_followers(changed);
  deliver_notices();
  meters_.event_delivery_seconds.record(std::chrono::steady_clock::now() - committed_at);
}

void Daemon::on_store_polled() {
  approvals_->poll();
  driver_->poll();
  // Changes made by other daemons are not published here.
  if (!context_->lease) return;
  supervisor_->poll_pauses();
  const auto followed = execution_followers_.keys();
  notify_execution_followers({followed.begin(), followed.end()});
  events_->poll();
}

void Daemon::on_log_lines_written(const std::string& lines) {
  const auto followers = log_followers_.find({});
  has_log_followers_ = !followers.empty();
  for (const auto& follow : followers) follow(lines);
}

void Daemon::collect_executions(std::span<const ledger::StoredEvent> events) {
  if (!has_execution_followers_) return;
  for (const ledger::StoredEvent& event : events) {
    if (event.kind != model::EventKind::execution_status_change) continue;
    if (!event.facts || !event.facts->execution) continue;
    const std::lock_guard lock(changed_mutex_);
    changed_executions_.insert(*event.facts->execution);
  }
}

void Daemon::notify_execution_followers(const std::set<base::ExecutionId>& changed) {
  for (const base::ExecutionId id : changed) {
    for (const auto& follow : execution_followers_.find(id)) follow();
  }
  has_execution_followers_ = !execution_followers_.is_empty();
}

// On the store thread.
void Daemon::collect_notices(std::span<const ledger::StoredEvent> events) {
  for (const ledger::StoredEvent& event : events) {
    const auto notice = find_notice(event);
    if (!notice) continue;
    const std::lock_guard lock(changed_mutex_);
    notices_.push_back(*notice);
  }
}

void Daemon::deliver_notices() {
  std::vector<Notice> notices;
  {
    const std::lock_guard lock(changed_mutex_);
    notices.swap(notices_);
  }
  if (notices.empty()) return;
  try {
    if (notify_stamp_ != project::stamp_config_of(options_.folder)) reload_notifications();
  } catch (const base::Error& error) {
    options_.log_warning(fmt::format("notify: the previous entries remain in effect: {}", error.message()));
  }
  notifier_->take(notices);
}

std::vector<model::Notification> Daemon::reload_notifications() {
  // Before it is read, so that a change in between is noticed.
  notify_stamp_ = project::stamp_config_of(options_.folder);
  const auto config = options_.reload({});
  if (!config) throw config.error();
  notifier_->configure(config->notify);
  return config->notify;
}

void Daemon::test_notifications(std::function<void(std::vector<NotificationTrial::Result>)> done) {
  if (notification_trial_) {
    throw base::Error(base::ErrorCode::notify_busy, "another test of notifications is running", "wait until it ends");
  }
  const auto entries = reload_notifications();
  notification_trial_ = std::make_unique<NotificationTrial>(
      loop_, clock_, entries, notification_sender(),
      [this, done = std::move(done)](std::vector<NotificationTrial::Result> results) {
        loop_.post([this] { notification_trial_.reset(); });
        done(std::move(results));
      });
}

SenderSettings Daemon::notification_sender() const {
  return {.secrets = options_.notify_secrets, .environment = options_.notify_environment};
}

void Daemon::write_missed_events(store::Session& session) {
  const std::int64_t seen = log_->last_event().value_or(0);
  const std::int64_t last = session.query_number(Sql::events_last, {});
  std::string lines;
  session.query(Sql::events_since, {{"after", std::max(seen, last - max_missed)}, {"most", max_missed}},
                [&](const store::Row& row) { lines += event_line(ledger::read_event(row)); });
  if (!lines.empty()) log_->write(std::move(lines));
}

void Daemon::open_events() {
  const auto read = [this](std::int64_t after, std::int64_t most, std::function<void(EventHub::Found)> done) {
    ask_store(
        *ledger_, loop_,
        [after, most](ledger::Transaction& transaction) {
          std::vector<ledger::StoredEvent> events;
          transaction.session().query(Sql::events_since, {{"after", after}, {"most", most}},
                                      [&](const store::Row& row) { events.push_back(ledger::read_event(row)); });
          return events;
        },
        std::move(done));
  };
  events_ = std::make_unique<EventHub>(
      loop_, EventHub::Source{
                 read, [this](std::function<void(const std::string&)> lines) { return follow_log(std::move(lines)); }});
}

Loop::Hold Daemon::follow_execution(base::ExecutionId execution, std::function<void()> changed) {
  has_execution_followers_ = true;
  return execution_followers_.add(execution, std::move(changed));
}

Loop::Hold Daemon::follow_log(std::function<void(const std::string&)> lines) {
  has_log_followers_ = true;
  return log_followers_.add({}, std::move(lines));
}

}  // namespace reeve::runtime
