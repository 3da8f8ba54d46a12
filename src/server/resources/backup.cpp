#include "runtime/upkeep/backup.h"

#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "wire/backup_record.h"

// /api/backup
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using Result = std::expected<runtime::BackupResult, Error>;

constexpr std::size_t longest_path = 4'096;

std::filesystem::path decode_path(const Exchange& exchange) {
  const auto request = json::from_value<wire::BackupRequest>(exchange.body());
  if (!request) throw Error(ErrorCode::api_bad_request, request.error());
  const std::filesystem::path path = request->path;
  const bool is_valid = request->path.size() <= longest_path && request->path.find('\0') == std::string::npos &&
                        path.is_absolute() && path.has_filename();
  if (!is_valid) throw Error(ErrorCode::api_bad_request, "`path` must be the absolute path of a file");
  return path.lexically_normal();
}

Result perform(const runtime::BackupOrder& order, const std::stop_token& stop) {
  try {
    return runtime::write_backup(order, stop);
  } catch (const Error& error) {
    return std::unexpected(error);
  } catch (const std::exception& error) {
    return std::unexpected(Error(ErrorCode::backup_failed, fmt::format("the backup failed: {}", error.what())));
  }
}

void create(SharedExchange exchange) {
  // The daemon can write wherever its user can, so only that user, as identified by the kernel, may name a file.
  if (exchange->request.peer.pid < 0) {
    throw Error(ErrorCode::backup_not_here,
                "a backup can be made only on the daemon's machine, through its unix socket",
                "run `reeve backup` there");
  }
  deny_in_run_caller(exchange, "make a backup");
  runtime::Daemon& daemon = exchange->daemon;
  if (!daemon.database()) {
    throw Error(ErrorCode::backup_not_sqlite, "the store is not a SQLite file",
                "for PostgreSQL: pg_dump --file=reeve.sql 'postgresql://…'");
  }
  const runtime::BackupOrder order{.folder = daemon.options().folder,
                                   .database = *daemon.database(),
                                   .target = decode_path(*exchange),
                                   .now = base::SystemClock().wall_now()};
  // The exchange must be released on the loop's thread.
  auto held = std::make_shared<SharedExchange>(exchange);
  const bool has_begun = daemon.side().begin([held, &daemon,
                                              order](const std::stop_token& stop) -> std::function<void()> {
    auto result = std::make_shared<Result>(perform(order, stop));
    return [&daemon, held, result, order] {
      daemon.loop().post([exchange = std::move(*held), result, order] {
        if (!*result) return exchange->refuse(result->error());
        exchange->send(201, json::to_value(wire::BackupRecord{.path = base::replace_invalid_utf8(order.target.string()),
                                                              .digest = (*result)->digest,
                                                              .bytes = static_cast<std::int64_t>((*result)->bytes),
                                                              .files = (*result)->files,
                                                              .created_at = order.now}));
      });
    };
  });
  if (!has_begun) {
    throw Error(ErrorCode::backup_busy, "an import or another backup is running", "try again when it has ended");
  }
}

}  // namespace

std::vector<Operation> backup_operations(json::Schemas& schemas) {
  return {{.method = "POST",
           .path = "/api/backup",
           .handle = create,
           .name = "createBackup",
           .inside = InRunAccess::reported,
           .summary = "Write a backup of the state folder to a new file on the daemon's machine",
           .scope = Scope::admin,
           .body = schemas.of_request<wire::BackupRequest>({"path"}),
           .replies = {{201, schemas.of<wire::BackupRecord>()}},
           .errors = {ErrorCode::backup_not_sqlite, ErrorCode::backup_exists, ErrorCode::backup_unwritable,
                      ErrorCode::backup_busy, ErrorCode::backup_not_here, ErrorCode::backup_stopped,
                      ErrorCode::approval_inside_run, ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::answer}};
}

}  // namespace reeve::server
