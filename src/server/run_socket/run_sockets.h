#pragma once

#include <map>
#include <memory>

#include "server/http/http.h"
#include "server/run_socket/run_socket_api.h"

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
  RunSocketApi api_;
  ConnectionPool pool_;
  std::map<base::RunId, std::unique_ptr<HttpServer>> run_sockets_;
};

}  // namespace reeve::server
