#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "keeper/records.h"
#include "ledger/attempts.h"
#include "os/fd.h"
#include "runtime/loop/runtime_context.h"

// What an attempt left on this machine, by which recovery decides (RUN-13). Functions throw if a file may exist but
// cannot be read now: deciding without it could start a second tool next to the first.
namespace reeve::runtime {

struct AttemptTraces {
  std::optional<std::string> launch;
  // A connection to its keeper.
  std::optional<os::Fd> socket;
  std::optional<keeper::ExitRecord> exit;
  bool is_same_boot = false;
  // Its keeper is alive.
  bool is_held = false;
  // The tool may have started.
  bool is_marked = false;
};
AttemptTraces read_traces(const RuntimeContext& context, const ledger::LiveAttempt& attempt);

// Nothing if there is no such file.
std::optional<std::string> read_record(const std::string& path, std::size_t most);
std::optional<keeper::ExecMarker> find_marker(const std::string& attempt_folder);

// The path of the keeper's lock and socket, without their endings.
std::string endpoint_of(const RuntimeContext& context, const ledger::KeeperIdentity& keeper);

}  // namespace reeve::runtime
