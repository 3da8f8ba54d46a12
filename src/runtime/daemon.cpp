#include "runtime/daemon.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "ledger/leases.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/lock.h"
#include "runtime/events/event_line.h"
#include "runtime/loop/store_task.h"
#include "runtime/notify/notifier.h"
#include "runtime/runs/run_files.h"
#include "store/runs.h"

namespace reeve::runtime {

namespace {

using store::Sql;

// If the log was deleted, only the last events are written again.
constexpr std::int64_t max_missed = 10'000;
constexpr std::size_t max_swept = 100'000;

namespace fs = std::filesystem;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("localhost");
}

// Identifies the owner of runs. A file-based store has one daemon, wherever its folder is moved; with a shared store,
// daemons of one host are distinguished by their state folders.
std::string name_place(const store::Place& place, const fs::path& root) {
  if (place.kind != store::Place::Kind::postgresql) return host_name();
  constexpr std::size_t digits = 8;
  return fmt::format("{}:{}", host_name(), base::sha256_hex(fs::canonical(root).string()).substr(0, digits));
}

std::string_view spell_kind(store::Place::Kind kind) {
  if (kind == store::Place::Kind::postgresql) return "postgresql";
  return kind == store::Place::Kind::memory ? "memory" : "sqlite";
}

}  // namespace

Daemon::Daemon(Options options) : options_(std::move(options)), started_at_(clock_.wall_now()) {
  const auto crash_point = make_crash_point();
  open_events();
  os::create_folders(options_.folder.logs());
  os::create_folders(options_.folder.runs());
  os::create_folders(options_.folder.keepers());
  LogThread::Options log{.path = (options_.folder.logs() / "combined.log").string(), .settings = options_.config.log};
  log.batch_read = [this](OutputBatch batch) {
    auto shared = std::make_shared<OutputBatch>(std::move(batch));
    loop_.post([this, shared] {
      if (supervisor_) supervisor_->on_output(std::move(*shared));
    });
  };
  log.log_warning = options_.log_warning;
  log.wrote = [this](std::string_view lines) {
    if (!has_log_followers_) return;
    loop_.post([this, text = std::string(lines)] {
      const auto told = log_followers_.find({});
      has_log_followers_ = !told.empty();
      for (const auto& follow : told) follow(text);
    });
  };
  log.crash_point = crash_point;
  log_ = std::make_unique<LogThread>(std::move(log));

  const auto place = store::parse_place(options_.store, options_.folder.root.string());
  if (!place) {
    throw base::Error("config.invalid", fmt::format("`store: {}` is not a store", base::mask_address(options_.store)),
                      "write sqlite or postgresql://user@host/db");
  }
  ledger::Ledger::Options ledger;
  ledger.hooks.publish = [this](std::span<const ledger::StoredEvent> events) { publish(events); };
  ledger.hooks.committed = [this](std::size_t units, std::chrono::nanoseconds took) {
    meters_.note_commit(units, took);
  };
  ledger.hooks.crash_point = [crash_point](std::string_view point) { crash_point(std::string(point).c_str()); };
  ledger.poll = options_.config.supervision.poll_interval;
  ledger.looked = [this] {
    loop_.post([this] {
      if (approvals_) approvals_->look();
      if (driver_) driver_->look();
      // Changes made by other daemons are not published here.
      if (!context_ || !context_->lease) return;
      const auto followed = execution_followers_.keys();
      tell_executions({followed.begin(), followed.end()});
      events_->look();
    });
  };
  ledger.followed = [this](const std::optional<base::Error>& error, const ledger::StepResult& result) {
    loop_.post([this, error, result] {
      if (driver_) driver_->take_followed(error, result);
    });
  };
  ledger.outside = [this](const ledger::OutsideResult& result) {
    loop_.post([this, result] {
      if (approvals_) approvals_->take_outside(result);
    });
  };
  auto session = store::open_writer(*place, clock_);
  // Before the ledger can commit: from then on it publishes to the log.
  write_missed_events(*session);
  ledger_ = std::make_unique<ledger::Ledger>(std::move(session), std::move(ledger), open_reader(*place));
  store_kind_ = spell_kind(place->kind);
  if (place->kind == store::Place::Kind::file) database_ = fs::absolute(place->where).lexically_normal();
  store_watch_ = std::make_unique<StoreWatch>(loop_, *ledger_);

  const std::string host = name_place(*place, options_.folder.root);
  const std::string boot = os::boot_id();
  const std::int64_t number = ledger_->call([&](ledger::Transaction& transaction) {
    return ledger::register_daemon(transaction, {host, boot}, options_.config.supervision.lease);
  });
  remove_stale_endpoints();
  // All of the daemon's own descriptors are open by now.
  const DescriptorBudget descriptors = divide_own_descriptors();
  keepers_ = std::make_unique<KeeperPool>(loop_, KeeperPool::Options{.program = options_.keeper_program,
                                                                     .endpoints = options_.folder.keepers().string(),
                                                                     .host = host,
                                                                     .boot_id = boot,
                                                                     .complaints = options_.complaints,
                                                                     .crash_point = options_.crash_point,
                                                                     .size = descriptors.idle_keepers});
  context_ = std::make_unique<RuntimeContext>(RuntimeContext{.loop = loop_,
                                                             .ledger = *ledger_,
                                                             .clock = clock_,
                                                             .log = *log_,
                                                             .keepers = *keepers_,
                                                             .folder = options_.folder,
                                                             .keeper_program = options_.keeper_program,
                                                             .daemon = number,
                                                             .host = host,
                                                             .boot_id = boot,
                                                             .cgroup_parent = os::Cgroup::find_parent(),
                                                             .open_files = options_.open_files,
                                                             .descriptors = descriptors,
                                                             .supervision = options_.config.supervision,
                                                             .environment = options_.environment,
                                                             .log_warning = options_.log_warning,
                                                             .crash_point = crash_point});
  sandbox_ = std::make_unique<SandboxProbe>(loop_, SandboxPlace{options_.keeper_program, options_.folder});
  supervisor_ = std::make_unique<Supervisor>(*context_);
  isolation_ = std::make_unique<Isolation>(*context_);
  driver_ = std::make_unique<ExecutionDriver>(NodeExecutor::Helpers{*context_, *supervisor_, *sandbox_, *isolation_});
  supervisor_->set_changed([this](const model::Run& run) { driver_->see(run); });
  supervisor_->set_lost(
      [this](const model::Run& run, Supervisor::LostAnswer answer) { driver_->put_aside(run, std::move(answer)); });
  approvals_ = std::make_unique<Approvals>(*context_, *supervisor_, *driver_);
  isolation_->set_asked([this](const model::Approval& approval) { approvals_->note_opened(approval); });
  approvals_->set_may_apply([this] { isolation_->apply_granted(); });
  if (!options_.config.notify.empty()) {
    notifier_ = std::make_unique<Notifier>(loop_, *ledger_, clock_,
                                           Notifier::Options{.positions = options_.folder.root / "notify.json",
                                                             .entries = options_.config.notify,
                                                             .secrets = options_.notify_secrets,
                                                             .environment = options_.notify_environment,
                                                             .log_warning = options_.log_warning});
  }
  // A file-based store has one daemon, enforced by its lock; with a shared store, other daemons rely on the lease.
  if (place->kind == store::Place::Kind::postgresql) {
    context_->lease = options_.config.supervision.lease;
    renew_lease();
  }
}

// Lets reads proceed while another program holds the file locked. Only file stores need this.
std::unique_ptr<store::Session> Daemon::open_reader(const store::Place& place) const {
  constexpr base::Milliseconds reader_timeout = std::chrono::seconds(1);
  if (place.kind != store::Place::Kind::file) return nullptr;
  try {
    return store::open_reader(place, clock_, {.timeout = reader_timeout});
  } catch (const base::Error& error) {
    options_.log_warning(
        fmt::format("no separate read connection, so reads share the store thread: {}", error.message()));
    return nullptr;
  }
}

// Removes endpoints of killed keepers, which nothing else removes.
void Daemon::remove_stale_endpoints() const {
  for (const auto& file : os::list_files(options_.folder.keepers(), {".lock"}, max_swept)) {
    if (os::FileLock::query(file.string()) == os::FileLock::State::held) continue;
    fs::path socket = file;
    socket.replace_extension(".sock");
    std::error_code error;
    fs::remove(socket, error);
    fs::remove(file, error);
  }
}

// Removes the launch files of runs that had ended, or never came to exist, when the last daemon died: they contain
// whole environments.
void Daemon::sweep_launches() {
  std::vector<base::RunId> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.folder.runs(), error)) {
    const std::string name = entry.path().filename().string();
    // Every run in the store was renamed during recovery, so this draft belongs to none.
    if (is_draft(name)) drop_draft(options_.folder.runs().string(), name.substr(draft_name("").size()));
    const auto id = base::RunId::parse(name);
    if (id && fs::exists(entry.path() / keeper::launch_name, error)) found.push_back(*id);
  }
  if (found.empty()) return;
  ask_store(
      *ledger_, loop_,
      [found](ledger::Transaction& transaction) {
        std::map<base::RunId, std::optional<store::RunRow>> runs;
        for (const base::RunId id : found) runs.emplace(id, store::find_run(transaction.session(), id));
        return runs;
      },
      [this](const std::expected<std::map<base::RunId, std::optional<store::RunRow>>, base::Error>& runs) {
        if (!runs) return;
        for (const auto& [id, row] : *runs) {
          if (!row || is_final(row->run.status)) {
            supervisor_->clean_up(id);
          } else {
            supervisor_->note_waiting(row->run);
          }
        }
      });
}

void Daemon::renew_lease() {
  const base::Milliseconds lease = *context_->lease;
  ask_store(
      *ledger_, loop_,
      [number = context_->daemon, lease](ledger::Transaction& transaction) {
        return ledger::renew_lease(transaction, number, lease);
      },
      [this, lease](std::expected<bool, base::Error> renewed) {
        if (renewed && !*renewed) {
          // Another daemon may own its runs by now: the next start finds out.
          throw base::Error("daemon.lease_lost", "the lease was not renewed in time: the store was unreachable");
        }
        if (renewed) supervisor_->renew_leases();
        lease_timer_ = loop_.at(loop_.now() + lease / 3, [this] { renew_lease(); });
      });
}

Daemon::~Daemon() {
  // First: its job is cancelled and rolled back.
  side_.reset();
  notifier_.reset();
  const std::int64_t number = context_->daemon;
  try {
    ledger_->call([number](ledger::Transaction& transaction) { ledger::end_lease(transaction, number); });
  } catch (const base::Error& error) {
    options_.log_warning(error.message());
  }
  isolation_.reset();
  // Results that the two threads still deliver are posted to a loop that no longer runs.
  approvals_.reset();
  driver_.reset();
  supervisor_.reset();
  keepers_.reset();
  ledger_.reset();
  log_.reset();
}

void Daemon::recover(std::function<void()> done) {
  const auto open = [this, done] {
    // Waits for earlier requests to the store.
    ask_store(
        *ledger_, loop_, [](ledger::Transaction&) {},
        [this, done](const std::expected<void, base::Error>&) {
          *is_armed_ = true;
          is_recovered_ = true;
          done();
        });
  };
  supervisor_->recover([this, open] {
    sweep_launches();
    driver_->begin([this, open] {
      approvals_->begin();
      open();
    });
  });
}

std::function<void(const char*)> Daemon::make_crash_point() const {
#ifdef REEVE_CRASH_POINTS
  // `stop:NAME` stops the process there once instead, as on a machine that sleeps.
  const bool stops = options_.crash_point.starts_with("stop:");
  auto has_stopped = std::make_shared<std::atomic<bool>>(false);
  return [wanted = options_.crash_point.substr(stops ? 5 : 0), stops, has_stopped,
          is_armed = is_armed_](const char* point) {
    const bool may_die = *is_armed || wanted.starts_with("recovery.");
    if (!may_die || wanted != point) return;
    if (!stops) ::kill(::getpid(), SIGKILL);
    if (!has_stopped->exchange(true)) ::kill(::getpid(), SIGSTOP);
  };
#else
  return [](const char*) {};
#endif
}

void Daemon::publish(std::span<const ledger::StoredEvent> events) {
  meters_.note_events(events);
  std::string lines;
  for (const ledger::StoredEvent& event : events) lines += event_line(event);
  if (!lines.empty()) log_->write(std::move(lines));
  events_->publish(events);
  notify(events);
  note_executions(events);
  const auto is_closing = [](const auto& event) { return event.kind == model::EventKind::approval_status_change; };
  if (std::ranges::any_of(events, is_closing)) is_question_closed_ = true;
  // Only for questions of nodes: runs announce theirs themselves.
  const auto has_time = [](const auto& event) { return event.facts && event.facts->expires; };
  if (std::ranges::any_of(events, has_time)) is_question_timed_ = true;
  // One notification covers everything committed before it is handled.
  if (is_told_.exchange(true)) return;
  untold_since_ = std::chrono::steady_clock::now();
  loop_.post([this] {
    const auto committed_at = untold_since_.load();
    is_told_ = false;
    if (is_question_closed_.exchange(false) && approvals_) approvals_->look_at_waiters();
    if (is_question_timed_.exchange(false) && approvals_) approvals_->expire_due();
    std::set<base::ExecutionId> changed;
    {
      const std::lock_guard lock(changed_mutex_);
      changed.swap(changed_executions_);
    }
    tell_executions(changed);
    meters_.event_delivery_seconds.record(std::chrono::steady_clock::now() - committed_at);
  });
}

void Daemon::note_executions(std::span<const ledger::StoredEvent> events) {
  if (!has_execution_followers_) return;
  for (const ledger::StoredEvent& event : events) {
    if (event.kind != model::EventKind::execution_status_change) continue;
    if (!event.facts || !event.facts->execution) continue;
    const std::lock_guard lock(changed_mutex_);
    changed_executions_.insert(*event.facts->execution);
  }
}

void Daemon::tell_executions(const std::set<base::ExecutionId>& changed) {
  for (const base::ExecutionId id : changed) {
    for (const auto& follow : execution_followers_.find(id)) follow();
  }
  has_execution_followers_ = !execution_followers_.is_empty();
}

void Daemon::notify(std::span<const ledger::StoredEvent> events) {
  // Called on the store thread, which is safe because the options never change.
  if (options_.config.notify.empty()) return;
  std::vector<Notice> notices;
  for (const ledger::StoredEvent& event : events) {
    if (const auto notice = find_notice(event)) notices.push_back(*notice);
  }
  if (notices.empty()) return;
  loop_.post([this, notices = std::move(notices)] {
    if (notifier_) notifier_->take(notices);
  });
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

void Daemon::ask_idle(std::function<void(bool)> answer) {
  if (supervisor_->live_runs() > 0 || isolation_->is_busy() || (notifier_ && notifier_->is_busy())) {
    answer(false);
    return;
  }
  ask_store(
      *ledger_, loop_,
      [](ledger::Transaction& transaction) { return transaction.session().query_number(Sql::work_unfinished, {}); },
      [answer](std::expected<std::int64_t, base::Error> unfinished) { answer(unfinished && *unfinished == 0); });
}

}  // namespace reeve::runtime
