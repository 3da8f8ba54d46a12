#include "server/resources/held_run.h"

#include <fmt/format.h>

#include "base/text.h"
#include "model/run.h"
#include "server/access/project_policy.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

// Not held by this daemon: it may be with another one, or have no process.
void refuse_not_held(const SharedExchange& exchange, const model::Run& run, const std::string& command) {
  exchange->daemon.queries().find_live_host(
      run.tool_run_id, run.attempt,
      [exchange, run, command](const std::expected<std::optional<std::string>, Error>& host) {
        const std::string id = run.tool_run_id.text();
        if (!host) return exchange->refuse(host.error());
        if (!*host) {
          return exchange->refuse(Error(ErrorCode::run_not_running,
                                        fmt::format("{} is {} and has no process", id, base::spell(run.status))));
        }
        if (**host == exchange->daemon.context().host) {
          return exchange->refuse(Error(ErrorCode::run_not_here,
                                        fmt::format("{} is not managed by this daemon right now", id),
                                        "it is being taken over: try again in a moment"));
        }
        exchange->refuse(make_not_here(*exchange, **host,
                                       {.subject = id, .act = "call", .command = fmt::format("{} {}", command, id)}));
      });
}

}  // namespace

Error make_not_here(const Exchange& exchange, const std::string& host, const WantedThere& wanted) {
  // The same command without a state folder would ask this daemon again.
  const auto state = may_name_paths(exchange) ? runtime::find_state_of_host(host) : std::nullopt;
  const std::string where =
      state ? fmt::format("it is on this machine: reeve --state {} {}", base::visible(state->string()), wanted.command)
            : fmt::format("{} there: reeve {}", wanted.act, wanted.command);
  // "name:digest of the state folder"
  const std::string name = base::visible(host.substr(0, host.rfind(':')));
  return {ErrorCode::run_not_here, fmt::format("{} is with another daemon, on the host {}", wanted.subject, name),
          where};
}

void with_live(const SharedExchange& exchange, std::string_view command,
               const std::function<void(runtime::LiveRun&)>& act) {
  if (runtime::LiveRun* live = exchange->daemon.supervisor().find(exchange->run_id())) return act(*live);
  exchange->daemon.queries().get_run(
      exchange->run_id(), [exchange, command = std::string(command)](const std::expected<model::Run, Error>& run) {
        if (!run) return exchange->refuse(run.error());
        refuse_not_held(exchange, *run, command);
      });
}

}  // namespace reeve::server
