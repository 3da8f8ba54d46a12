#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "model/run.h"
#include "os/fd.h"

namespace reeve::cli {

// What `reeve run` sends to the standard input of the tool (RUN-9).
struct StdinSource {
  // The descriptor to read.
  int fd = -1;
  // If it was opened here.
  os::Fd file = {};
  // What was read already.
  std::string begun = {};
  bool has_ended = false;
  model::StandardInput use = model::StandardInput::offered;
};

// By `--stdin`; without it, standard input if it is neither a terminal nor empty. Nothing if there is nothing to send.
// Throws `file.not_found` and `file.unreadable`.
std::optional<StdinSource> find_stdin_source(const Call& call);

// Reads up to `most` bytes, waiting for them. False at the end; throws `file.unreadable`.
bool read_some(int fd, std::string& bytes, std::size_t most);

// For `--detach`: reads everything, as nobody will be there to send more later. After two seconds it says what it waits
// for. Throws `cli.usage` if there is more than the daemon keeps for a run.
void read_to_end(const Call& call, StdinSource& source);

}  // namespace reeve::cli
