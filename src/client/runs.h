#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/daemon.h"
#include "model/run.h"
#include "wire/run_process.h"
#include "wire/run_request.h"

// Requests about runs.
namespace reeve::client {

struct RunRecord {
  // The response as received, so that `--json` keeps fields added by later versions.
  base::Value wire;
  model::Run run;
};

RunRecord create_run(Daemon& daemon, const base::Value& request);
RunRecord get_run(Daemon& daemon, base::RunId id);
struct ProcessRecord {
  // Null if it has no live processes at the daemon that was asked.
  base::Value wire;
  std::optional<wire::RunProcess> process;
  // Set if another daemon holds it: where.
  std::optional<base::Error> elsewhere;
};
ProcessRecord find_process(Daemon& daemon, base::RunId id);
// Newest first; all statuses if none is given. `project`: the path of the only project to list.
std::vector<RunRecord> list_runs(Daemon& daemon, const std::vector<std::string>& statuses, std::size_t limit,
                                 const std::optional<std::string>& project = {});
// The newest runs that are wanted, among the newest `searched` with these statuses.
struct RunSearch {
  std::size_t wanted = 0;
  std::size_t searched = 0;
  std::function<bool(const model::Run&)> is_wanted;
};
std::vector<RunRecord> find_runs(Daemon& daemon, const std::vector<std::string>& statuses,
                                 const std::optional<std::string>& project, const RunSearch& search);

struct Cancel {
  std::optional<std::string> reason = {};
  // At once, without the grace time.
  bool kill = false;
};
RunRecord cancel_run(Daemon& daemon, base::RunId id, const Cancel& cancel);

RunRecord dismiss_run(Daemon& daemon, base::RunId id);
// All failures, or those of the project with this path.
void dismiss_failures(Daemon& daemon, const std::optional<std::string>& project);
// `request`: the body of POST /api/runs/ID/rerun. Returns the new run.
RunRecord rerun(Daemon& daemon, base::RunId id, const base::Value& request);
RunRecord pause_run(Daemon& daemon, base::RunId id);
RunRecord resume_run(Daemon& daemon, base::RunId id);
RunRecord limit_run(Daemon& daemon, base::RunId id, const wire::RunLimits& limits);

// `begun`: no longer queued.
enum class Until { final, final_or_waiting, begun };
// Returns the record once `until` is reached, or the current one after the timeout.
RunRecord wait_run(Daemon& daemon, base::RunId id, Until until, base::Milliseconds time);

void send_input(Daemon& daemon, base::RunId id, std::string_view bytes);
void resize_run(Daemon& daemon, base::RunId id, int rows, int columns);

// RUN-9: how much of a run's streamed standard input the daemon has stored, and how much it would take now.
struct StdinPlace {
  std::uint64_t position = 0;
  std::uint64_t limit = 0;
  bool has_ended = false;
};
StdinPlace read_stdin_place(const base::Value& document);
std::string stdin_path(base::RunId id);
// At most `max_stdin_piece` bytes. Bytes that were stored before are skipped, so that a piece can be sent again.
inline constexpr std::size_t max_stdin_piece = 128UZ * 1024;
struct StdinPiece {
  std::uint64_t offset = 0;
  std::string_view bytes = {};
  bool is_end = false;
};
StdinPlace send_stdin(Daemon& daemon, base::RunId id, const StdinPiece& piece);

// Masked text is read from this position of a stream on; `written` bytes of it were written already.
struct MaskedPlace {
  std::uint64_t from = 0;
  std::uint64_t written = 0;
};

// A position in the output of a run.
struct OutputPlace {
  int attempt = 1;
  // Bytes from the beginning; negative: from the end.
  std::int64_t offset = 0;
  // For each stream of masked output.
  std::optional<std::array<MaskedPlace, 2>> masked = {};
};

// LOG-4: byte for byte, or with `***` for each secret.
enum class OutputForm { raw, masked };

// Passes every byte of an attempt to `write` exactly once, across lost connections, until the attempt ends. `write`
// returns false to stop. `place` is the position after the last frame written.
using WriteOutput = std::function<bool(model::Stream stream, std::string_view bytes)>;
// Called when the output at `place` is no longer kept.
using NoteGap = std::function<void(std::uint64_t bytes)>;
// Further choices.
struct OutputTerms {
  OutputForm form = OutputForm::raw;
  // Called several times a second while nothing arrives; true ends the reading.
  std::function<bool()> is_over = [] { return false; };
};
void follow_output(Daemon& daemon, base::RunId id, OutputPlace& place, const WriteOutput& write, const NoteGap& gap,
                   const OutputTerms& terms = {});

}  // namespace reeve::client
