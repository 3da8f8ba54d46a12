#include "runtime/daemon.h"

#include <array>
#include <csignal>
#include <filesystem>
#include <future>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "ledger/due.h"
#include "ledger/expiry.h"
#include "ledger/leases.h"
#include "ledger/restored.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/lock.h"
#include "project/registry.h"
#include "project/restore.h"
#include "runtime/loop/store_task.h"
#include "runtime/notify/notifier.h"
#include "runtime/runs/run_files.h"
#include "runtime/upkeep/backup.h"
#include "store/runs.h"

namespace reeve::runtime {

namespace {

using base::ErrorCode;
using store::Sql;

constexpr std::size_t max_swept = 100'000;

namespace fs = std::filesystem;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("localhost");
}

std::string name_shared(const fs::path& canonical_root) {
  constexpr std::size_t digits = 8;
  return fmt::format("{}:{}", host_name(), base::sha256_hex(canonical_root.string()).substr(0, digits));
}

// Identifies the owner of runs. A file-based store has one daemon, wherever its folder is moved; with a shared store,
// daemons of one host are distinguished by their state folders.
std::string name_place(const store::Place& place, const fs::path& root) {
  return place.kind == store::Place::Kind::postgresql ? name_shared(fs::canonical(root)) : host_name();
}

std::string_view spell_kind(store::Place::Kind kind) {
  if (kind == store::Place::Kind::postgresql) return "postgresql";
  return kind == store::Place::Kind::memory ? "memory" : "sqlite";
}

}  // namespace

Daemon::Daemon(Options options) : options_(std::move(options)), started_at_(clock_.wall_now()) {
  open_events();
  open_log();
  const auto place = store::parse_place(options_.store, options_.folder.root.string());
  if (!place) {
    throw base::Error(ErrorCode::config_invalid,
                      fmt::format("`store: {}` is not a store", base::mask_address(options_.store)),
                      "write sqlite or postgresql://user@host/db");
  }
  open_ledger(*place);
  settle_restore();
  make_context(*place);
  make_parts();
  // A file-based store has one daemon, enforced by its lock; with a shared store, other daemons rely on the lease.
  if (place->kind == store::Place::Kind::postgresql) {
    context_->lease = options_.config.supervision.lease;
    renew_lease();
  }
}

void Daemon::open_log() {
  os::create_folders(options_.folder.logs());
  os::create_folders(options_.folder.runs());
  os::create_folders(options_.folder.keepers());
  LogThread::Options log{.path = (options_.folder.logs() / "combined.log").string(), .settings = options_.config.log};
  log.batch_read = [this](OutputBatch batch) { inbox_.post(OutputRead{std::move(batch)}); };
  log.log_warning = options_.log_warning;
  log.wrote = [this](std::string_view lines) {
    if (has_log_followers_) inbox_.post(LogLinesWritten{std::string(lines)});
  };
  log.crash_point = crash_point_;
  log_ = std::make_unique<LogThread>(std::move(log));
}

void Daemon::open_ledger(const store::Place& place) {
  ledger::Ledger::Options ledger;
  ledger.hooks.publish = [this](std::span<const ledger::StoredEvent> events) { publish(events); };
  ledger.hooks.committed = [this](std::size_t units, std::chrono::nanoseconds took) {
    meters_.note_commit(units, took);
  };
  ledger.hooks.crash_point = [this](std::string_view point) { crash_point_(std::string(point).c_str()); };
  ledger.poll = options_.config.supervision.poll_interval;
  ledger.looked = [this] { inbox_.post(StorePolled{}); };
  ledger.polled = [this] { poll_files(); };
  ledger.is_due = [this, host = name_place(place, options_.folder.root)](store::Session& session, bool has_changed) {
    return is_poll_due(session, host, has_changed);
  };
  ledger.followed = [this](const std::optional<base::Error>& error, const ledger::StepResult& result) {
    inbox_.post(StepsCommitted{error, result});
  };
  ledger.outside = [this](const ledger::OutsideResult& result) { inbox_.post(OutsideAnswerFound{result}); };
  auto session = store::open_writer(place, clock_);
  options_.store_opened();
  // Before the ledger can commit: from then on it publishes to the log.
  write_missed_events(*session);
  ledger_ = std::make_unique<ledger::Ledger>(std::move(session), std::move(ledger), open_reader(place));
  store_kind_ = spell_kind(place.kind);
  if (place.kind == store::Place::Kind::file) database_ = fs::absolute(place.where).lexically_normal();
  store_watch_ = std::make_unique<StoreWatch>(loop_, *ledger_);
}

// Before anything looks at runs: the originals of a restored copy may be alive.
void Daemon::settle_restore() {
  remove_backup_drafts(options_.folder);
  if (!project::is_just_restored(options_.folder.root)) return;
  const auto settled = ledger_->call(
      [this](ledger::Transaction& transaction) { return ledger::settle_restored(transaction, ledger_->executions()); });
  project::forget_restore(options_.folder.root);
  options_.log_warning(fmt::format("restored from a backup: {} runs failed, {} executions cancelled, {} approvals void",
                                   settled.runs, settled.executions, settled.grants));
}

void Daemon::set_check_files(std::function<void()> check, std::function<bool()> poll) {
  check_files_ = std::move(check);
  const std::lock_guard lock(poll_files_mutex_);
  poll_files_ = poll ? std::make_shared<std::function<bool()>>(std::move(poll)) : nullptr;
}

void Daemon::poll_files() {
  const auto poll = [this] {
    const std::lock_guard lock(poll_files_mutex_);
    return poll_files_;
  }();
  const bool is_due = poll && (*poll)();
  if (!is_due) return;
  loop_.post([this] {
    if (check_files_) check_files_();
  });
}

// A poll that finds nothing to do must not wake the loop: the parts act on events, and polls are only their fallback.
bool Daemon::is_poll_due(store::Session& session, const std::string& host, bool has_changed) {
  const base::Milliseconds offset = find_clock_offset(clock_);
  const bool has_jumped = polled_offset_ && std::chrono::abs(offset - *polled_offset_) >= std::chrono::seconds(1);
  if (has_jumped || !polled_offset_) polled_offset_ = offset;
  if (has_jumped) return true;
  if (has_changed && session.query_number(Sql::work_unfinished, {}) > 0) return true;
  return ledger::has_due_work(session, host, clock_.wall_now());
}

void Daemon::make_context(const store::Place& place) {
  const std::string host = name_place(place, options_.folder.root);
  const std::string boot = os::boot_id();
  std::optional<base::Milliseconds> offset;
  if (place.kind != store::Place::Kind::postgresql) offset = find_clock_offset(clock_);
  // The first keepers start while the disk is waited for.
  std::future<std::int64_t> registered = std::async(std::launch::async, [&] {
    return ledger_->call([&](ledger::Transaction& transaction) {
      if (offset) ledger::note_clock(transaction, host, boot, *offset);
      return ledger::register_daemon(transaction, {host, boot}, options_.config.supervision.lease);
    });
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
  auto cgroup_parent = os::Cgroup::find_parent();
  const std::int64_t number = registered.get();
  context_ = std::make_unique<RuntimeContext>(RuntimeContext{.loop = loop_,
                                                             .inbox = inbox_,
                                                             .ledger = *ledger_,
                                                             .clock = clock_,
                                                             .log = *log_,
                                                             .keepers = *keepers_,
                                                             .folder = options_.folder,
                                                             .keeper_program = options_.keeper_program,
                                                             .daemon = number,
                                                             .host = host,
                                                             .boot_id = boot,
                                                             .cgroup_parent = std::move(cgroup_parent),
                                                             .open_files = options_.open_files,
                                                             .descriptors = descriptors,
                                                             .supervision = options_.config.supervision,
                                                             .clock_offset = offset,
                                                             .environment = options_.environment,
                                                             .log_warning = options_.log_warning,
                                                             .crash_point = crash_point_});
}

void Daemon::make_parts() {
  sandbox_ = std::make_unique<SandboxProbe>(loop_, SandboxPlace{options_.keeper_program, options_.folder});
  supervisor_ = std::make_unique<Supervisor>(*context_);
  isolation_ = std::make_unique<Isolation>(*context_);
  driver_ = std::make_unique<ExecutionDriver>(NodeExecutor::Parts{*context_, *supervisor_, *sandbox_, *isolation_});
  approvals_ = std::make_unique<Approvals>(*context_, *supervisor_, *driver_);
  caller_progress_ = std::make_unique<CallerProgress>(*context_);
  call_grants_ = std::make_unique<CallGrants>(*context_, *approvals_, [this](const std::string& project) {
    auto config = options_.reload(project);
    if (!config) throw config.error();
    return std::move(config->policies);
  });
  call_gate_ = std::make_unique<CallGate>(*context_, *supervisor_, call_grants_->facts());
  printed_calls_ =
      std::make_unique<PrintedCalls>(*context_, *supervisor_, *approvals_, *call_gate_, call_grants_->facts());
  const bool is_shared = store_kind_ == "postgresql";
  pruner_ = std::make_unique<Pruner>(*context_, *isolation_, is_shared ? Pruner::Store::shared : Pruner::Store::own,
                                     [this] { return options_.reload({}); });
  notifier_ = std::make_unique<Notifier>(loop_, *ledger_, clock_,
                                         Notifier::Options{.positions = options_.folder.root / "notify.json",
                                                           .entries = options_.config.notify,
                                                           .sender = notification_sender(),
                                                           .log_warning = options_.log_warning});
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
          throw base::Error(ErrorCode::daemon_lease_lost,
                            "the lease was not renewed in time: the store was unreachable");
        }
        if (renewed) supervisor_->renew_leases();
        lease_timer_ = loop_.at(loop_.now() + lease / 3, [this] { renew_lease(); });
      });
}

Daemon::~Daemon() {
  inbox_.close();
  // Its job is cancelled and rolled back.
  side_.reset();
  pruner_.reset();
  notification_trial_.reset();
  notifier_.reset();
  const std::int64_t number = context_->daemon;
  try {
    ledger_->call([number](ledger::Transaction& transaction) { ledger::end_lease(transaction, number); });
  } catch (const base::Error& error) {
    options_.log_warning(error.message());
  }
  isolation_.reset();
  // Results that the two threads still deliver are posted to a loop that no longer runs.
  printed_calls_.reset();
  call_gate_.reset();
  call_grants_.reset();
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
          pruner_->begin();
          supervisor_->begin_queue();
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

void Daemon::ask_idle(std::function<void(bool)> answer) {
  const bool is_busy =
      !inbox_.is_empty() || supervisor_->live_runs() > 0 || isolation_->is_busy() || pruner_->is_busy();
  if (is_busy || (notifier_ && notifier_->is_busy())) {
    answer(false);
    return;
  }
  ask_store(
      *ledger_, loop_,
      [](ledger::Transaction& transaction) { return transaction.session().query_number(Sql::work_unfinished, {}); },
      [answer](std::expected<std::int64_t, base::Error> unfinished) { answer(unfinished && *unfinished == 0); });
}

std::optional<fs::path> find_state_of_host(const std::string& host) try {
  const auto registry = project::Registry::find();
  if (!registry) return std::nullopt;
  for (const project::KnownPlace& place : registry->list()) {
    if (place.kind != project::KnownPlace::Kind::state) continue;
    std::error_code error;
    const fs::path root = fs::canonical(place.path, error);
    if (!error && name_shared(root) == host) return place.path;
  }
  return std::nullopt;
} catch (const base::Error&) {
  // Only a hint.
  return std::nullopt;
}

}  // namespace reeve::runtime
