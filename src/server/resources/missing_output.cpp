#include "server/resources/missing_output.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "runtime/daemon.h"

namespace reeve::server {

namespace {

constexpr std::size_t max_runs = 10;
constexpr std::size_t max_hosts = 5;

std::string list_runs(const std::set<base::RunId>& runs) {
  std::vector<std::string> names;
  for (const base::RunId run : runs) {
    if (names.size() == max_runs) break;
    names.push_back(run.text());
  }
  if (runs.size() > max_runs) names.push_back(fmt::format("{} more", runs.size() - max_runs));
  if (names.size() == 1) return names.front();
  const std::string last = std::move(names.back());
  names.pop_back();
  return base::join(names, ", ") + " and " + last;
}

}  // namespace

std::size_t MissingOutput::size() const noexcept {
  std::size_t size = 0;
  for (const auto& [_, runs] : runs_) size += runs.size();
  return size;
}

base::Error MissingOutput::describe() const {
  std::vector<std::string> parts;
  std::string where = "read it there: reeve logs " + id_;
  for (const auto& [host, runs] : runs_) {
    if (parts.size() == max_hosts) {
      parts.push_back(fmt::format("and that of other runs on {} more", runs_.size() - max_hosts));
      break;
    }
    // "name:digest of the state folder"
    const std::string name = base::visible(host.substr(0, host.rfind(':')));
    parts.push_back(parts.empty()
                        ? fmt::format("the output of {} is with another daemon, on the host {}", list_runs(runs), name)
                        : fmt::format("that of {} on the host {}", list_runs(runs), name));
    if (parts.size() > 1) continue;
    // The same command would ask this daemon again.
    const auto state = may_name_paths_ ? runtime::find_state_of_host(host) : std::nullopt;
    if (state) {
      where = fmt::format("it is on this machine: reeve --state {} logs {}", base::visible(state->string()), id_);
    }
  }
  return {base::ErrorCode::run_not_here, base::join(parts, ", "), where};
}

}  // namespace reeve::server
