#pragma once

#include <map>
#include <memory>

#include "server/request/pending_requests.h"
#include "server/routing/api.h"

// The socket of each live run (RUN-8), through which its tool can ask, report, and read decisions, and nothing else.
namespace reeve::server {

class RunSockets {
 public:
  // Opens a socket for each run that this daemon starts to manage, and closes it when the run ends.
  explicit RunSockets(runtime::Daemon& daemon);
  ~RunSockets();
  RunSockets(const RunSockets&) = delete;
  RunSockets& operator=(const RunSockets&) = delete;

 private:
  void open(base::RunId run);
  void close(base::RunId run);

  runtime::Daemon& daemon_;
  PendingRequests pending_;
  std::map<base::RunId, std::unique_ptr<HttpServer>> run_sockets_;
};

// Handles one request on a run's socket. `pending` answers reads that the store does not.
void handle_run_socket_request(runtime::Daemon& daemon, PendingRequests& pending, base::RunId run, Request request,
                               std::shared_ptr<Responder> responder);

}  // namespace reeve::server
