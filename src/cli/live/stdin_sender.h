#pragma once

#include <memory>

#include "base/id.h"
#include "cli/command.h"
#include "cli/live/stdin_source.h"
#include "client/daemon.h"

namespace reeve::cli {

// Streams standard input to a run as fast as the tool reads it, until its end or the end of the run. Uses its own
// thread and connections; continues where it was after the daemon was restarted.
class StdinSender {
 public:
  // `call` must outlive it.
  StdinSender(const Call& call, const client::DaemonPlace& place, base::RunId run, StdinSource source);
  // Ends the thread, whatever it is waiting for.
  ~StdinSender();
  StdinSender(const StdinSender&) = delete;
  StdinSender& operator=(const StdinSender&) = delete;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

// For `--detach`: sends everything that was read.
void send_all(client::Daemon& daemon, base::RunId run, const StdinSource& source);

}  // namespace reeve::cli
