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

#include "runtime/approvals.h"
#include "runtime/event_hub.h"
#include "runtime/isolation.h"
#include "runtime/meters.h"
#include "runtime/sandbox.h"
#include "runtime/side_thread.h"
#include "runtime/store_watch.h"
#include "runtime/supervisor.h"
#include "runtime/worker.h"
#include "store/store.h"

namespace reeve::runtime {

class Notifier;

// Everything of the daemon but its doors. One per state folder, which its lock proves.
class Daemon {
 public:
  struct Options {
    project::StateFolder folder;
    // `sqlite`, `postgresql://…`.
    std::string store = "sqlite";
    model::Config config;
    // Of the project around this folder, or where there is none (empty: nobody has named one) of the daemon's own. Read
    // anew with each request; what is wrong with it by then is told to whoever asks.
    std::function<std::expected<model::Config, base::Error>(const std::filesystem::path& folder)> reload;
    std::string keeper_program;
    std::uint64_t open_files = 0;
    // For messages that nobody waits for.
    std::function<void(const std::string&)> complain;
    int complaints = -1;
    std::string crash_point = {};
    // What the commands of `notify` get, and the values that its `secret_env` names.
    std::vector<std::string> notify_environment = {};
    std::map<std::string, std::string> notify_secrets = {};
    // What tools may have of the environment that the daemon was started with.
    std::map<std::string, std::string> environment = {};
  };

  explicit Daemon(Options options);
  // Runs go on: their keepers hold them.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  Loop& loop() noexcept { return loop_; }
  ledger::Ledger& ledger() noexcept { return *ledger_; }
  Supervisor& supervisor() noexcept { return *supervisor_; }
  // Whether a tool with `sandbox: guard` can be started.
  SandboxProbe& sandbox() noexcept { return *sandbox_; }
  Approvals& approvals() noexcept { return *approvals_; }
  Worker& worker() noexcept { return *worker_; }
  Isolation& isolation() noexcept { return *isolation_; }
  SideThread& side() noexcept { return *side_; }
  const Surroundings& around() const noexcept { return *around_; }
  const Options& options() const noexcept { return options_; }
  base::WallTime started_at() const noexcept { return started_at_; }
  // Why nothing may be changed or started at the moment; nothing when it may. Looks at the files first.
  std::optional<base::Error> check_files() {
    if (check_files_) check_files_();
    return around_->refusal;
  }
  void set_refusal(std::optional<base::Error> refusal) { around_->refusal = std::move(refusal); }
  void set_check_files(std::function<void()> check) { check_files_ = std::move(check); }
  // The SQLite file that everything is kept in; nothing for other stores.
  const std::optional<std::filesystem::path>& database() const noexcept { return database_; }
  Meters& meters() noexcept { return meters_; }
  StoreWatch& store_watch() noexcept { return *store_watch_; }
  // Whether all that the last daemon left has been taken up.
  bool is_recovered() const noexcept { return is_recovered_; }
  std::size_t waiting_keepers() const noexcept { return keepers_->waiting(); }
  // "sqlite", "memory", "postgresql".
  std::string_view store_kind() const noexcept { return store_kind_; }

  // The run whose keeper that process is.
  std::optional<base::RunId> find_held_by(pid_t keeper) const noexcept { return supervisor_->find_held_by(keeper); }

  // RUN-13, before anything else is done.
  void recover(std::function<void()> done);

  // Everything that happens, for all who listen.
  EventHub& events() noexcept { return *events_; }
  // Calls when the execution may be in another state.
  [[nodiscard]] Loop::Hold follow_execution(base::ExecutionId execution, std::function<void()> changed);
  // Calls with each stretch of whole lines that goes into the log.
  [[nodiscard]] Loop::Hold follow_log(std::function<void(const std::string&)> lines);

  // Whether nothing is left to do: no run or approval that is not over, no notification on its way.
  void ask_idle(std::function<void(bool)> answer);

 private:
  std::function<void(const char*)> make_crash_point() const;
  void renew_lease();
  std::unique_ptr<store::Session> open_reader(const store::Place& place) const;
  void sweep_seats() const;
  void sweep_launches();
  void publish(std::span<const ledger::StoredEvent> events);
  void notify(std::span<const ledger::StoredEvent> events);
  void note_executions(std::span<const ledger::StoredEvent> events);
  void tell_executions(const std::set<base::ExecutionId>& changed);
  void write_missed_events(store::Session& session);
  void open_events();

  Options options_;
  base::SystemClock clock_;
  base::WallTime started_at_;
  // Before all that counts in it.
  Meters meters_;
  std::string_view store_kind_ = "sqlite";
  std::optional<std::filesystem::path> database_;
  std::function<void()> check_files_;
  bool is_recovered_ = false;
  Loop loop_;
  HoldMap<std::monostate, std::function<void(const std::string&)>> log_followers_{loop_};
  HoldMap<base::ExecutionId, std::function<void()>> execution_followers_{loop_};
  // Those that somebody follows and that have another status; filled by the store thread.
  std::atomic<bool> has_execution_followers_ = false;
  std::mutex changed_mutex_;
  std::set<base::ExecutionId> changed_executions_;
  std::atomic<bool> has_log_followers_ = false;
  std::atomic<bool> is_told_ = false;
  // When the first of the events was committed that nobody has been told of yet.
  std::atomic<std::chrono::steady_clock::time_point> untold_since_;
  std::atomic<bool> is_question_closed_ = false;
  std::atomic<bool> is_question_timed_ = false;
  // Whether a crash point counts yet.
  std::shared_ptr<std::atomic<bool>> is_armed_ = std::make_shared<std::atomic<bool>>(false);
  // Before the ledger, whose thread tells it.
  std::unique_ptr<EventHub> events_;
  std::unique_ptr<LogThread> log_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<StoreWatch> store_watch_;
  std::unique_ptr<KeeperPool> keepers_;
  std::unique_ptr<Surroundings> around_;
  std::unique_ptr<SandboxProbe> sandbox_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<Isolation> isolation_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<Approvals> approvals_;
  // None when the config names nobody.
  std::unique_ptr<Notifier> notifier_;
  Loop::Hold lease_timer_;
  // Last: what it does uses the ledger and the loop.
  std::unique_ptr<SideThread> side_ = std::make_unique<SideThread>();
};

// One event as a line of the log and of the API: {"event":…,"timestamp":…,"seq":…, …}.
std::string event_line(const ledger::StoredEvent& event);

}  // namespace reeve::runtime
