#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/scope.h"
#include "client/daemon.h"

// The user's state folders. Nearly everything is in the common one; a project may have its own (`state: project`).
namespace reeve::cli {

// A registered state folder that is not the one of this call: the common one, or that of a project.
struct OtherState {
  // Written before its ids, "shop/AP-1": the name of the project, or "common".
  std::string name;
  std::filesystem::path folder;
};
// Empty if the call names its state folder or a host: then it is meant to show only that.
std::vector<OtherState> find_other_states(const Call& call);

// "shop/AP-1" → shop, AP-1. Nothing for a word without a prefix and an id.
std::optional<std::pair<std::string, std::string>> split_prefixed_id(const std::string& word);
// The id without its prefix, if it has one.
std::string without_prefix(const std::string& word);
// The state folder that the prefix of one of the call's ids names; nothing without a prefix. Throws `cli.usage` for an
// unknown one, or if ids name several.
std::optional<std::filesystem::path> find_prefixed_state(const Call& call);

// A daemon whose records a listing includes.
struct Source {
  client::Daemon daemon;
  // Empty for the daemon of this call.
  std::string prefix;
};
// The daemons of the other state folders that are running; none if the listing is limited to one project. Reports those
// that are not on standard error, so that nothing is missing silently. Starts nothing.
std::vector<Source> find_more_sources(const Call& call, const Scope& scope);
// Says on standard error that a listing does not include that source.
void report_left_out(const Source& source, const base::Error& error);
// Calls `add` for each of find_more_sources(). One that cannot be read is reported and left out.
template <class Add>
void add_more_sources(const Call& call, const Scope& scope, Add add) {
  for (Source& source : find_more_sources(call, scope)) {
    try {
      add(source);
    } catch (const base::Error& error) {
      report_left_out(source, error);
    }
  }
}
// A record for `--json`: with its state folder, and with prefixed ids.
base::Value mark_source(base::Value record, const Source& source);

// "shop has an AP-7: reeve show shop/AP-7", for an id that was not found; empty if no other daemon has it.
std::string find_elsewhere(const Call& call);

}  // namespace reeve::cli
