#pragma once

#include <map>
#include <memory>

#include "server/api.h"

// The socket of each live run (RUN-8): its tool asks, reports, and reads what was decided, nothing else.
namespace reeve::server {

class Doors {
 public:
  // Opens one for each run that begins to live in the daemon's hands, closes it when it does no more.
  explicit Doors(runtime::Daemon& daemon);
  ~Doors();
  Doors(const Doors&) = delete;
  Doors& operator=(const Doors&) = delete;

 private:
  void open(base::RunId run);
  void close(base::RunId run);

  runtime::Daemon& daemon_;
  std::map<base::RunId, std::unique_ptr<HttpServer>> doors_;
};

// One request on a run's own socket.
void handle_at_door(runtime::Daemon& daemon, base::RunId run, Request request, std::shared_ptr<Responder> responder);

}  // namespace reeve::server
