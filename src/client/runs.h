#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/daemon.h"
#include "model/run.h"

// Requests about runs.
namespace reeve::client {

struct RunRecord {
  // The response as received, so that `--json` keeps fields added by later versions.
  base::Value wire;
  model::Run run;
};

RunRecord create_run(Daemon& daemon, const base::Value& request);
RunRecord get_run(Daemon& daemon, base::RunId id);
// Newest first; all statuses if none is given. `project`: the path of the only project to list.
std::vector<RunRecord> list_runs(Daemon& daemon, const std::vector<std::string>& statuses, std::size_t limit,
                                 const std::optional<std::string>& project = {});

struct Cancel {
  std::optional<std::string> reason = {};
  // At once, without the grace time.
  bool kill = false;
};
RunRecord cancel_run(Daemon& daemon, base::RunId id, const Cancel& cancel);

enum class Until { final, final_or_waiting };
// Returns the record once `until` is reached, or the current one after the timeout.
RunRecord wait_run(Daemon& daemon, base::RunId id, Until until, base::Milliseconds time);

void send_input(Daemon& daemon, base::RunId id, std::string_view bytes);
void resize_run(Daemon& daemon, base::RunId id, int rows, int columns);

// A position in the output of a run.
struct OutputPlace {
  int attempt = 1;
  // Bytes from the beginning; negative: from the end.
  std::int64_t offset = 0;
};

// Passes every byte of an attempt to `write` exactly once, across lost connections, until the attempt ends. `write`
// returns false to stop. `place` is the position after the last frame written.
using WriteOutput = std::function<bool(model::Stream stream, std::string_view bytes)>;
// Called when the output at `place` is no longer kept.
using NoteGap = std::function<void(std::uint64_t bytes)>;
void follow_output(Daemon& daemon, base::RunId id, OutputPlace& place, const WriteOutput& write, const NoteGap& gap);

}  // namespace reeve::client
