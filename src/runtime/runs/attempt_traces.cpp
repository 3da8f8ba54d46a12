#include "runtime/runs/attempt_traces.h"

#include <sys/stat.h>

#include "keeper/launch.h"
#include "keeper/message.h"
#include "os/file.h"
#include "os/lock.h"
#include "os/unix_socket.h"

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;

std::optional<std::string> read_record(const std::string& path, std::size_t most) {
  try {
    return os::read_file(path, most);
  } catch (const Error& error) {
    struct stat status{};
    const bool is_file = ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (error.is(ErrorCode::file_unreadable) && is_file) throw;
    return std::nullopt;
  }
}

std::optional<keeper::ExecMarker> find_marker(const std::string& attempt_folder) {
  const auto bytes = read_record(attempt_folder + "/" + keeper::marker_name, keeper::record_bytes);
  return bytes ? keeper::decode_marker(*bytes) : std::nullopt;
}

std::string endpoint_of(const RuntimeContext& context, const ledger::KeeperIdentity& keeper) {
  return (context.folder.keepers() /
          keeper::endpoint_name(static_cast<std::int32_t>(keeper.pid), static_cast<std::uint64_t>(keeper.started)))
      .string();
}

AttemptTraces read_traces(const RuntimeContext& context, const ledger::LiveAttempt& attempt) {
  const std::string folder = attempt_folder(context, attempt.run, attempt.claim.attempt);
  AttemptTraces traces;
  traces.launch =
      read_record(run_folder(context, attempt.run) + "/" + std::string(keeper::launch_name), keeper::launch_bytes);
  const std::string endpoint = endpoint_of(context, attempt.keeper);
  traces.is_same_boot = attempt.keeper.boot_id == context.boot_id;
  traces.is_held = traces.is_same_boot && os::FileLock::query(endpoint + ".lock") == os::FileLock::State::held;
  if (traces.is_held) traces.socket = os::connect_to(endpoint + ".sock", os::SocketKind::packets);
  // Read after the lock, because a keeper writes its record before it releases it.
  const auto exit = read_record(folder + "/" + keeper::exit_name, keeper::record_bytes);
  traces.exit = exit ? keeper::decode_exit(*exit) : std::nullopt;
  if (traces.exit && traces.exit->nonce != attempt.nonce) traces.exit.reset();
  const auto marker = find_marker(folder);
  traces.is_marked = traces.is_same_boot && marker && marker->nonce == attempt.nonce;
  return traces;
}

}  // namespace reeve::runtime
