#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "runtime/approvals/approvals.h"
#include "runtime/approvals/caller_progress.h"
#include "runtime/approvals/caller_questions.h"
#include "runtime/events/event_hub.h"
#include "runtime/executions/execution_driver.h"
#include "runtime/gate/call_gate.h"
#include "runtime/gate/call_grants.h"
#include "runtime/gate/printed_calls.h"
#include "runtime/inbox/inbox.h"
#include "runtime/isolation/isolation.h"
#include "runtime/loop/side_thread.h"
#include "runtime/metrics/meters.h"
#include "runtime/metrics/store_watch.h"
#include "runtime/notify/notification_trial.h"
#include "runtime/queries.h"
#include "runtime/runs/sandbox.h"
#include "runtime/runs/supervisor.h"
#include "runtime/stored_answers.h"
#include "runtime/tokens.h"
#include "runtime/upkeep/pruner.h"
#include "store/store.h"

namespace reeve::runtime {

class Notifier;

// The daemon without its sockets and ports. One per state folder, enforced by its lock.
class Daemon {
 public:
  struct Options {
    project::StateFolder folder;
    // `sqlite`, `postgresql://…`.
    std::string store = "sqlite";
    model::Config config;
    // Reads the config of the project that contains this folder or, without one (an empty path means that no folder was
    // named), the daemon's own config. Called for each request; the caller receives any error in the file.
    std::function<std::expected<model::Config, base::Error>(const std::filesystem::path& folder)> reload;
    std::string keeper_program;
    std::uint64_t open_files = 0;
    // For messages that belong to no request.
    std::function<void(const std::string&)> log_warning;
    int complaints = -1;
    std::string crash_point = {};
    // Called when the store exists, with its schema.
    std::function<void()> store_opened = [] {};
    // The environment of `notify` commands, and the values of the variables that `secret_env` may name.
    std::vector<std::string> notify_environment = {};
    std::map<std::string, std::string> notify_secrets = {};
    // The part of the daemon's environment that tools may receive.
    std::map<std::string, std::string> environment = {};
  };

  explicit Daemon(Options options);
  // Runs continue in their keepers.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  Loop& loop() noexcept { return loop_; }
  ledger::Ledger& ledger() noexcept { return *ledger_; }
  Queries queries() noexcept { return {*ledger_, loop_}; }
  Tokens tokens() noexcept { return {*ledger_, loop_}; }
  StoredAnswers stored_answers() noexcept { return {*ledger_, loop_}; }
  Supervisor& supervisor() noexcept { return *supervisor_; }
  // Whether a tool with `sandbox: guard` can be started.
  SandboxProbe& sandbox() noexcept { return *sandbox_; }
  Approvals& approvals() noexcept { return *approvals_; }
  CallerQuestions caller_questions() noexcept { return CallerQuestions(*context_); }
  CallerProgress& caller_progress() noexcept { return *caller_progress_; }
  CallGate& call_gate() noexcept { return *call_gate_; }
  CallGrants& call_grants() noexcept { return *call_grants_; }
  ExecutionDriver& driver() noexcept { return *driver_; }
  Isolation& isolation() noexcept { return *isolation_; }
  SideThread& side() noexcept { return *side_; }
  Pruner& pruner() noexcept { return *pruner_; }
  const RuntimeContext& context() const noexcept { return *context_; }
  const Options& options() const noexcept { return options_; }
  base::WallTime started_at() const noexcept { return started_at_; }
  // Checks the state files first. An error means that nothing may be changed or started now, and why.
  std::optional<base::Error> check_files() {
    if (check_files_) check_files_();
    return context_->refusal;
  }
  void set_refusal(std::optional<base::Error> refusal) { context_->refusal = std::move(refusal); }
  // `poll` is called on the store thread at each poll, possibly once more after it was replaced; if it returns true,
  // `check` is called on the loop.
  void set_check_files(std::function<void()> check, std::function<bool()> poll);
  // The SQLite database file; nothing for other stores.
  const std::optional<std::filesystem::path>& database() const noexcept { return database_; }
  Meters& meters() noexcept { return meters_; }
  StoreWatch& store_watch() noexcept { return *store_watch_; }
  // Whether recovery of the previous daemon's work is complete.
  bool is_recovered() const noexcept { return is_recovered_; }
  std::size_t waiting_keepers() const noexcept { return keepers_->waiting(); }
  // "sqlite", "memory", "postgresql".
  std::string_view store_kind() const noexcept { return store_kind_; }

  // The run whose keeper that process is.
  std::optional<base::RunId> find_held_by(pid_t keeper) const noexcept { return supervisor_->find_held_by(keeper); }

  // RUN-13. Must be called before anything else.
  void recover(std::function<void()> done);

  // All events, for all subscribers.
  EventHub& events() noexcept { return *events_; }
  // Calls `changed` whenever the execution may have changed.
  [[nodiscard]] Loop::Hold follow_execution(base::ExecutionId execution, std::function<void()> changed);
  // Calls `lines` with each batch of whole lines written to the log.
  [[nodiscard]] Loop::Hold follow_log(std::function<void(const std::string&)> lines);

  // Sends a test message to each `notify` entry of the config as it is now. Throws the error of a config that is not
  // valid, and `notify.busy` while another test runs.
  void test_notifications(std::function<void(std::vector<NotificationTrial::Result>)> done);

  // Answers true if there is nothing left to do: no unfinished run or approval, and no undelivered notification.
  void ask_idle(std::function<void(bool)> answer);

 private:
  // Called by the constructor, in this order.
  void open_events();
  void open_log();
  void open_ledger(const store::Place& place);
  void settle_restore();
  // On the store thread.
  void poll_files();
  bool is_poll_due(store::Session& session, const std::string& host, bool has_changed);
  void make_context(const store::Place& place);
  void make_parts();

  std::function<void(const char*)> make_crash_point() const;
  void renew_lease();
  std::unique_ptr<store::Session> open_reader(const store::Place& place) const;
  void remove_stale_endpoints() const;
  void sweep_launches();

  // In runtime/daemon_events.cpp: hands each event to the part that acts on it.
  void handle(Event event);
  void on_events_published();
  void on_store_polled();
  void on_log_lines_written(const std::string& lines);
  void on_run_changed(const model::Run& run);
  void notify_execution_followers(const std::set<base::ExecutionId>& changed);
  // On the store thread.
  void publish(std::span<const ledger::StoredEvent> events);
  void collect_notices(std::span<const ledger::StoredEvent> events);
  // Uses the `notify` entries of the config as it is now; throws its error if it is not valid.
  std::vector<model::Notification> reload_notifications();
  SenderSettings notification_sender() const;
  // Delivers collected notices, by the config as it is then.
  void deliver_notices();
  void collect_executions(std::span<const ledger::StoredEvent> events);
  void write_missed_events(store::Session& session);

  Options options_;
  base::SystemClock clock_;
  base::WallTime started_at_;
  // Declared before everything that updates it.
  Meters meters_;
  std::string_view store_kind_ = "sqlite";
  std::optional<std::filesystem::path> database_;
  std::function<void()> check_files_;
  std::mutex poll_files_mutex_;
  std::shared_ptr<std::function<bool()>> poll_files_;
  // Wall time minus BOOTTIME at the last poll; used by the store thread only.
  std::optional<base::Milliseconds> polled_offset_;
  bool is_recovered_ = false;
  Loop loop_;
  // Declared before everything that posts to it.
  Inbox inbox_{loop_, [this](Event event) { handle(std::move(event)); }};
  HoldMap<std::monostate, std::function<void(const std::string&)>> log_followers_{loop_};
  HoldMap<base::ExecutionId, std::function<void()>> execution_followers_{loop_};
  // Followed executions whose status changed; filled by the store thread.
  std::atomic<bool> has_execution_followers_ = false;
  std::mutex changed_mutex_;
  std::set<base::ExecutionId> changed_executions_;
  // Protected by the same mutex; in the order of their numbers.
  std::vector<Notice> notices_;
  std::atomic<bool> has_log_followers_ = false;
  // Whether EventsPublished was posted and not handled yet, and the commit time of its oldest event.
  std::atomic<bool> is_published_ = false;
  std::atomic<std::chrono::steady_clock::time_point> published_since_;
  std::atomic<bool> is_question_closed_ = false;
  std::atomic<bool> is_question_timed_ = false;
  // Whether crash points are active yet.
  std::shared_ptr<std::atomic<bool>> is_armed_ = std::make_shared<std::atomic<bool>>(false);
  std::function<void(const char*)> crash_point_ = make_crash_point();
  // Declared before the ledger, whose thread publishes to it.
  std::unique_ptr<EventHub> events_;
  std::unique_ptr<LogThread> log_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<StoreWatch> store_watch_;
  std::unique_ptr<KeeperPool> keepers_;
  std::unique_ptr<RuntimeContext> context_;
  std::unique_ptr<SandboxProbe> sandbox_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<Isolation> isolation_;
  std::unique_ptr<ExecutionDriver> driver_;
  std::unique_ptr<Approvals> approvals_;
  std::unique_ptr<CallerProgress> caller_progress_;
  std::unique_ptr<CallGrants> call_grants_;
  std::unique_ptr<CallGate> call_gate_;
  std::unique_ptr<PrintedCalls> printed_calls_;
  std::unique_ptr<Notifier> notifier_;
  // The state of the config files when the `notify` entries were read; empty before that.
  std::string notify_stamp_;
  std::unique_ptr<NotificationTrial> notification_trial_;
  std::unique_ptr<Pruner> pruner_;
  Loop::Hold lease_timer_;
  // Declared last: its jobs use the ledger and the loop.
  std::unique_ptr<SideThread> side_ = std::make_unique<SideThread>();
};

// The registered state folder of a daemon on this machine that owns runs under that name (RuntimeContext::host), in a
// store that several daemons share. Nothing for other machines.
std::optional<std::filesystem::path> find_state_of_host(const std::string& host);

}  // namespace reeve::runtime
