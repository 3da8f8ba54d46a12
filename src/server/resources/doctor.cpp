#include <cerrno>
#include <sys/statvfs.h>
#include <system_error>

#include <fmt/format.h>

#include "base/limits.h"
#include "json/describe.h"
#include "project/confinement.h"
#include "server/access/tcp_endpoint.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/own_project.h"
#include "server/resources/store_health.h"
#include "wire/check.h"

// /api/doctor: the checks of this machine that the daemon can do itself. `reeve doctor` does more.
namespace reeve::server {

namespace {

using base::Error;
using base::Value;
using wire::Check;
using wire::Health;

Check check_disk(const std::filesystem::path& folder) {
  constexpr std::uint64_t little_mib = 1'024;
  constexpr std::uint64_t least_mib = 64;
  Check check{.name = "disk space", .status = Health::ok, .detail = {}, .fix = {}};
  struct statvfs info{};
  if (::statvfs(folder.c_str(), &info) != 0) {
    check.status = Health::warn;
    check.detail = std::generic_category().message(errno);
    return check;
  }
  const std::uint64_t free_mib = info.f_bavail * info.f_frsize / base::limits::mib;
  check.detail = fmt::format("{} MiB free", free_mib);
  if (free_mib >= little_mib) return check;
  check.status = free_mib < least_mib ? Health::fail : Health::warn;
  check.fix = "free some space: run output and the database are stored there";
  return check;
}

Check check_program(const char* name, const char* without) {
  const auto program = project::find_program(name);
  if (program) return {name, Health::ok, *program, {}};
  return {name, Health::warn, fmt::format("missing: {}", without), fmt::format("apt install {}", name)};
}

Check check_config(const std::expected<model::Config, Error>& config) {
  if (config) return {"config", Health::ok, "valid", {}};
  return {"config", Health::fail, config.error().message(), config.error().fix()};
}

Check check_store(const std::expected<std::int64_t, Error>& events, const ledger::Ledger::Stall& stall) {
  using Kind = ledger::Ledger::Stall::Kind;
  if (stall.kind == Kind::locked) {
    return {"store", Health::fail, "another program holds the database locked", "end its transaction"};
  }
  if (stall.kind == Kind::unreachable) {
    return {"store", Health::fail, "the PostgreSQL server does not answer", "check the server"};
  }
  if (!events) return {"store", Health::fail, events.error().message(), events.error().fix()};
  return {"store", Health::ok, fmt::format("responding; {} events so far", *events), {}};
}

Check check_sandbox(const std::optional<Error>& error) {
  if (!error) return {"sandbox", Health::ok, "`sandbox: guard` is available", {}};
  return {"sandbox", Health::warn, error->message(), error->fix()};
}

Check check_port(const TcpEndpoint* endpoint) {
  if (endpoint == nullptr || (!endpoint->is_open() && !endpoint->failure())) return {"port", Health::ok, "closed", {}};
  if (endpoint->failure()) {
    return {"port", Health::warn, fmt::format("could not be opened: {}", endpoint->failure()->message()),
            endpoint->failure()->fix()};
  }
  return {"port", Health::ok, endpoint->url(), {}};
}

void send_checks(const SharedExchange& exchange, const std::vector<Check>& checks) {
  Health worst = Health::ok;
  for (const Check& check : checks) worst = std::max(worst, check.status);
  Value document = Value::object();
  document.set("status", Value::string(base::spell(worst)));
  document.set("checks", json::to_value(checks));
  exchange->send(200, document);
}

void look(SharedExchange exchange) {
  const std::filesystem::path& folder = exchange->daemon.options().folder.root;
  auto checks = std::make_shared<std::vector<Check>>();
  *checks = {check_disk(folder),
             check_config(exchange->daemon.options().reload({})),
             check_program("git", "workflows cannot work in git repositories"),
             check_program("curl", "the webhooks of `notify` cannot be sent"),
             check_sqlite(),
             check_port(exchange->tcp_endpoint)};
  exchange->daemon.queries().get_last_event([exchange, checks](const std::expected<std::int64_t, Error>& events) {
    const auto refusal = exchange->daemon.check_files();
    checks->push_back(check_store(refusal ? std::unexpected(*refusal) : events, exchange->daemon.ledger().stall()));
    // The folder in which tools would run.
    const std::filesystem::path project = own_project(exchange->daemon);
    const auto place = project.empty() ? std::filesystem::temp_directory_path() : project;
    exchange->daemon.sandbox().ask(place.string(), [exchange, checks](const std::optional<Error>& error) {
      checks->push_back(check_sandbox(error));
      send_checks(exchange, *checks);
    });
  });
}

}  // namespace

std::vector<Operation> doctor_operations(json::Schemas& schemas) {
  const Value checks =
      json::object_schema({{"status", schemas.of<wire::Health>()}, {"checks", schemas.of<std::vector<wire::Check>>()}},
                          {"status", "checks"});
  return {{.method = "GET",
           .path = "/api/doctor",
           .handle = look,
           .name = "examine",
           .inside = InRunAccess::refused,
           .summary = "Check what runs need on this machine, as far as the daemon can tell",
           .replies = {{200, schemas.add("Examination", checks)}}}};
}

}  // namespace reeve::server
