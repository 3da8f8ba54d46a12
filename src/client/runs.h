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

// What a client asks of runs.
namespace reeve::client {

struct RunRecord {
  // As it came: what a later version knows more is not lost on the way to `--json`.
  base::Value wire;
  model::Run run;
};

RunRecord create_run(Daemon& daemon, const base::Value& wish);
RunRecord get_run(Daemon& daemon, base::RunId id);
// The newest first; all statuses when none is named.
std::vector<RunRecord> list_runs(Daemon& daemon, const std::vector<std::string>& statuses, std::size_t limit);

struct Cancel {
  std::optional<std::string> reason = {};
  // At once, without the time to end by itself.
  bool kill = false;
};
RunRecord cancel_run(Daemon& daemon, base::RunId id, const Cancel& cancel);

enum class Until { final, final_or_waiting };
// The record when that is reached, or the present one when the time is over.
RunRecord wait_run(Daemon& daemon, base::RunId id, Until until, base::Milliseconds time);

void send_input(Daemon& daemon, base::RunId id, std::string_view bytes);
void resize_run(Daemon& daemon, base::RunId id, int rows, int columns);

// How far somebody has read in the output of a run.
struct OutputPlace {
  int attempt = 1;
  // From the beginning; less than 0: so many bytes before the end.
  std::int64_t offset = 0;
};

// Every byte of an attempt exactly once, over lost connections too, until the attempt is over. `write` gives false to
// stop. `place` is after the last frame that was written out.
using WriteOutput = std::function<bool(model::Stream stream, std::string_view bytes)>;
// Called when what `place` names is not kept any more.
using NoteGap = std::function<void(std::uint64_t bytes)>;
void follow_output(Daemon& daemon, base::RunId id, OutputPlace& place, const WriteOutput& write, const NoteGap& gap);

}  // namespace reeve::client
