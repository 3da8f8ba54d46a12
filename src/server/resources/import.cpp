#include <future>

#include <fmt/format.h>

#include "base/text.h"
#include "import/importer.h"
#include "json/decode.h"
#include "json/describe.h"
#include "ledger/group_commit.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "store/store.h"
#include "wire/import_record.h"

// /api/import (STO-2)
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using Result = std::expected<wire::ImportRecord, Error>;

constexpr std::size_t longest_path = 4'096;
// The error that rolls a dry run back.
constexpr ErrorCode dry_run_over = ErrorCode::import_dry_run;

struct Job {
  std::filesystem::path path;
  import::ImportOrder order;
  bool is_dry_run = false;
};

// The whole import as one unit. The file and its survey must outlive it.
class ImportUnit final : public ledger::Unit {
 public:
  struct Matter {
    const Job& job;
    store::ForeignFile& file;
    const import::ImportSurvey& survey;
    std::function<void(const char*)> crash_point;
  };
  ImportUnit(Matter matter, std::promise<Result> promise) : matter_(std::move(matter)), promise_(std::move(promise)) {}

  void run(ledger::Transaction& transaction) override {
    record_ = import::import_rows(transaction, matter_.file, matter_.survey, matter_.job.order);
    record_.dry_run = matter_.job.is_dry_run;
    if (record_.already_imported) return;
    matter_.crash_point("import.before_commit");
    if (matter_.job.is_dry_run) throw Error(dry_run_over, "a dry run keeps nothing");
  }
  void finish(const std::optional<Error>& error) override {
    const bool is_good = !error || (matter_.job.is_dry_run && error->is(dry_run_over));
    promise_.set_value(is_good ? Result(std::move(record_)) : std::unexpected(*error));
  }

 private:
  Matter matter_;
  std::promise<Result> promise_;
  wire::ImportRecord record_;
};

// Runs on the side thread. A SQLite file has one writer, the store thread; on PostgreSQL a separate connection blocks
// nobody else, so that the lease is renewed meanwhile.
Result commit(runtime::Daemon& daemon, const ImportUnit::Matter& matter) {
  std::promise<Result> promise;
  auto result = promise.get_future();
  auto unit = std::make_unique<ImportUnit>(matter, std::move(promise));
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

Result perform(runtime::Daemon& daemon, const Job& job, const std::stop_token& stop) {
  try {
    store::ForeignFile file(job.path, [stop] { return stop.stop_requested(); });
    const import::ImportSurvey survey = import::survey_import(file);
    const ImportUnit::Matter matter{job, file, survey, daemon.context().crash_point};
    Result result = commit(daemon, matter);
    // Another daemon imported the same rows meanwhile, which the retry will find.
    const bool was_refused = !result && result.error().is(ErrorCode::store_refused);
    return was_refused ? commit(daemon, matter) : result;
  } catch (const Error& error) {
    return std::unexpected(error);
  } catch (const std::exception& error) {
    return std::unexpected(Error(ErrorCode::import_failed, fmt::format("import failed: {}", error.what())));
  }
}

Job decode_job(const Exchange& exchange) {
  const auto request = json::from_value<wire::ImportRequest>(exchange.body());
  if (!request) throw Error(ErrorCode::api_bad_request, request.error());
  const std::string& path = request->path;
  if (path.size() > longest_path || path.find('\0') != std::string::npos ||
      !std::filesystem::path(path).is_absolute()) {
    throw Error(ErrorCode::api_bad_request, "`path` must be the absolute path of a file");
  }
  return {.path = path,
          .order = {.path = base::replace_invalid_utf8(path), .actor = exchange.actor()},
          .is_dry_run = request->dry_run};
}

void create(SharedExchange exchange) {
  // The daemon can read whatever its user can, so only that user, as identified by the kernel, may name a file.
  if (exchange->request.peer.pid < 0) {
    throw Error(ErrorCode::import_not_here,
                "databases can be imported only on the daemon's machine, through its unix socket",
                "run `reeve import` there");
  }
  refuse_from_inside(exchange, "import a database");
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
    throw Error(ErrorCode::import_busy, "another import is running", "wait until it ends, then try again");
  }
}

}  // namespace

std::vector<Operation> import_operations(json::Schemas& schemas) {
  return {
      {.method = "POST",
       .path = "/api/import",
       .handle = create,
       .name = "importDatabase",
       .inside = InRunAccess::reported,
       .summary = "Import another program's SQLite file from the daemon's machine, or report what would be imported",
       .scope = Scope::admin,
       .body = schemas.of_request<wire::ImportRequest>({"path"}),
       .replies = {{200, schemas.of<wire::ImportRecord>()}},
       .errors = {ErrorCode::import_not_found, ErrorCode::import_unreadable, ErrorCode::import_not_a_database,
                  ErrorCode::import_damaged, ErrorCode::import_too_large, ErrorCode::import_too_slow,
                  ErrorCode::import_no_tables, ErrorCode::import_own_database, ErrorCode::import_busy,
                  ErrorCode::import_not_here, ErrorCode::import_stopped, ErrorCode::execution_inside_run,
                  ErrorCode::api_peer_gone},
       .idempotency = IdempotencyMode::answer}};
}

}  // namespace reeve::server
