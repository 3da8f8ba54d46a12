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
// Whether the call, or the environment, names a host, and whether it names a state folder or a host.
bool names_host(const Call& call);
bool names_state(const Call& call);
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
// What becomes of a state folder whose daemon does not run. `named`: it is named on standard error, so that nothing is
// missing silently. `started`: for what needs a person, its daemon is started if work in it is unfinished; without any,
// there is nothing to say.
enum class Stopped { named, started };
struct MoreSources {
  std::vector<Source> sources;
  // Folders that may hold something and could not be included.
  std::size_t left_out = 0;
};
// The daemons of the other state folders; if the listing is limited to one project, only that of its own state folder,
// which is started if necessary.
MoreSources find_more_sources(const Call& call, const Scope& scope, Stopped stopped);
// The daemon that has the records of the scope: that of the only project, if it keeps its own state, else that of the
// call.
Source find_source(const Call& call, const Scope& scope);
// The same for commands that wait indefinitely.
Source find_patient_source(const Call& call, const Scope& scope);
// Says on standard error that a listing does not include that source.
void report_left_out(const Source& source, const base::Error& error);
// Calls `add` for each of find_more_sources(). One that cannot be read is reported and left out. Returns how many were.
template <class Add>
std::size_t add_more_sources(const Call& call, const Scope& scope, Stopped stopped, Add add) {
  MoreSources more = find_more_sources(call, scope, stopped);
  for (Source& source : more.sources) {
    try {
      add(source);
    } catch (const base::Error& error) {
      report_left_out(source, error);
      ++more.left_out;
    }
  }
  return more.left_out;
}
// A record for `--json`: with its state folder, and with prefixed ids; unchanged for the daemon of this call.
base::Value mark_source(base::Value record, const Source& source);
// The same for the record that a call with a prefixed id names; unchanged without a prefix.
base::Value mark_source(base::Value record, const Call& call, const client::Daemon& daemon);

// "shop has an AP-7: reeve show shop/AP-7", for an id that was not found; empty if no other daemon has it.
std::string find_elsewhere(const Call& call, const std::string& word);
// The same for the only id of the call.
std::string find_elsewhere(const Call& call);

}  // namespace reeve::cli
