#include "import/state_move.h"

#include <future>

#include <fmt/format.h>

#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "ledger/group_commit.h"
#include "os/lock.h"
#include "project/state_retire.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "store/store.h"
#include "wire/state_move_record.h"

// /api/state/move (SPEC §7)
namespace reeve::server {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using Copied = std::expected<import::CopiedState, Error>;
using Result = std::expected<wire::StateMoveRecord, Error>;

constexpr std::size_t longest_path = 4'096;

struct Job {
  fs::path folder;
  std::string actor;
};

// All rows as one unit. The file and the order must outlive it.
class CopyUnit final : public ledger::Unit {
 public:
  struct Matter {
    const import::StateMoveOrder& order;
    store::ForeignFile& file;
    std::function<void(const char*)> crash_point;
  };
  CopyUnit(Matter matter, std::promise<Copied> promise) : matter_(std::move(matter)), promise_(std::move(promise)) {}

  void run(ledger::Transaction& transaction) override {
    copied_ = import::copy_state(transaction, matter_.file, matter_.order);
    matter_.crash_point("state_move.before_commit");
  }
  void finish(const std::optional<Error>& error) override {
    promise_.set_value(error ? Copied(std::unexpected(*error)) : Copied(std::move(copied_)));
  }

 private:
  Matter matter_;
  std::promise<Copied> promise_;
  import::CopiedState copied_;
};

// As in import.cpp: SQLite has one writer, the store thread; PostgreSQL gets a separate connection.
Copied commit(runtime::Daemon& daemon, const CopyUnit::Matter& matter) {
  std::promise<Copied> promise;
  auto result = promise.get_future();
  auto unit = std::make_unique<CopyUnit>(matter, std::move(promise));
  const auto place = store::parse_place(daemon.options().store, daemon.options().folder.root.string());
  if (place && place->kind == store::Place::Kind::postgresql) {
    const base::SystemClock clock;
    const auto session = store::open_writer(*place, clock);
    ledger::Group group;
    group.push_back(std::move(unit));
    ledger::GroupCommit(*session, {}).run(std::move(group));
    return result.get();
  }
  if (!daemon.ledger().submit(std::move(unit))) {
    return std::unexpected(
        Error(ErrorCode::store_busy, "too many requests are waiting for the store", "try again in a moment"));
  }
  return result.get();
}

// Keeps daemons out of the folder while its records are copied.
os::FileLock take_folder(const fs::path& folder) {
  auto lock = os::FileLock::try_take(project::StateFolder{folder}.lock().string());
  if (lock) return std::move(*lock);
  throw Error(ErrorCode::daemon_already_running,
              fmt::format("a daemon is running in {}", base::quoted(folder.string())),
              fmt::format("reeve stop --state {}", folder.string()));
}

// The rows first, in one transaction; then the output of runs; then the folder is renamed. After a crash both stores
// can be used, and a repeated move copies what is missing.
wire::StateMoveRecord move(runtime::Daemon& daemon, const Job& job, const std::stop_token& stop) {
  const project::KnownPlace place = project::check_movable_state(job.folder);
  const fs::path project = place.path.parent_path().parent_path();
  const os::FileLock lock = take_folder(place.path);
  const import::StateMoveOrder order{.identity = place.id,
                                     .name = base::replace_invalid_utf8(project.filename().string()),
                                     .project = base::replace_invalid_utf8(project.string()),
                                     .actor = job.actor};
  wire::StateMoveRecord record{.folder = base::replace_invalid_utf8(place.path.string()), .set_aside = {}};
  const auto& crash_point = daemon.context().crash_point;
  std::error_code error;
  if (fs::exists(place.path / "reeve.db", error)) {
    store::ForeignFile file(place.path / "reeve.db", [stop] { return stop.stop_requested(); });
    Copied copied = commit(daemon, {order, file, crash_point});
    if (!copied) throw copied.error();
    crash_point("state_move.after_commit");
    const project::StateFolder from{place.path};
    for (const auto& [old, made] : copied->runs) {
      project::copy_run_folder(from.runs() / base::RunId(old).text(),
                               daemon.options().folder.runs() / base::RunId(made).text());
    }
    for (auto& [old, made] : copied->ids) record.ids.push_back({std::move(old), std::move(made)});
    record.kinds = std::move(copied->kinds);
  }
  crash_point("state_move.before_rename");
  record.set_aside = base::replace_invalid_utf8(project::retire_state_folder(place).string());
  return record;
}

Result perform(runtime::Daemon& daemon, const Job& job, const std::stop_token& stop) {
  try {
    return move(daemon, job, stop);
  } catch (const Error& error) {
    return std::unexpected(error);
  } catch (const std::exception& error) {
    return std::unexpected(Error(ErrorCode::import_failed, fmt::format("the move failed: {}", error.what())));
  }
}

Job decode_job(const Exchange& exchange) {
  const auto request = json::from_value<wire::StateMoveRequest>(exchange.body());
  if (!request) throw Error(ErrorCode::api_bad_request, request.error());
  const fs::path folder = fs::path(request->folder).lexically_normal();
  if (request->folder.size() > longest_path || request->folder.find('\0') != std::string::npos ||
      !folder.is_absolute()) {
    throw Error(ErrorCode::api_bad_request, "`folder` must be the absolute path of a folder");
  }
  std::error_code error;
  if (fs::equivalent(folder, exchange.daemon.options().folder.root, error)) {
    throw Error(ErrorCode::cli_usage, "this daemon serves that folder itself",
                "ask the daemon of the common state folder");
  }
  return {.folder = folder, .actor = exchange.actor()};
}

void create(SharedExchange exchange) {
  // The daemon can read whatever its user can, so only that user, as identified by the kernel, may name a folder.
  if (exchange->request.peer.pid < 0) {
    throw Error(ErrorCode::import_not_here,
                "state folders can be moved only on the daemon's machine, through its unix socket",
                "run `reeve state move` there");
  }
  refuse_from_inside(exchange, "move a state folder");
  runtime::Daemon& daemon = exchange->daemon;
  // The exchange must be released on the loop's thread.
  auto held = std::make_shared<SharedExchange>(exchange);
  const bool has_begun = daemon.side().begin(
      [held, &daemon, job = decode_job(*exchange)](const std::stop_token& stop) -> std::function<void()> {
        auto result = std::make_shared<Result>(perform(daemon, job, stop));
        return [&daemon, held, result] {
          daemon.loop().post([exchange = std::move(*held), result] {
            if (!*result) return exchange->refuse(result->error());
            exchange->send(200, json::to_value(**result));
          });
        };
      });
  if (!has_begun) {
    throw Error(ErrorCode::import_busy, "an import, backup or other move is running",
                "wait until it ends, then try again");
  }
}

}  // namespace

std::vector<Operation> state_move_operations(json::Schemas& schemas) {
  return {{.method = "POST",
           .path = "/api/state/move",
           .handle = create,
           .name = "moveState",
           .inside = InRunAccess::reported,
           .summary = "Bring the records of a project's own state folder into this store",
           .scope = Scope::admin,
           .body = schemas.of_request<wire::StateMoveRequest>({"folder"}),
           .replies = {{200, schemas.of<wire::StateMoveRecord>()}},
           .errors = {ErrorCode::cli_usage, ErrorCode::execution_not_completed, ErrorCode::store_too_old,
                      ErrorCode::store_newer, ErrorCode::daemon_already_running, ErrorCode::import_damaged,
                      ErrorCode::import_too_large, ErrorCode::import_busy, ErrorCode::import_not_here,
                      ErrorCode::import_stopped, ErrorCode::execution_inside_run, ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::answer}};
}

}  // namespace reeve::server
