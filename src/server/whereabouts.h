#pragma once

#include <functional>
#include <memory>

#include "server/api.h"
#include "server/operations.h"

// Whether those who ask are inside a managed run, and what follows for each operation (APR-11, SPEC §7).
namespace reeve::server {

class Whereabouts {
 public:
  explicit Whereabouts(runtime::Daemon& daemon);
  ~Whereabouts();
  Whereabouts(const Whereabouts&) = delete;
  Whereabouts& operator=(const Whereabouts&) = delete;

  // Finds out who asks (`Exchange::insider`) and goes on as far as the operation is theirs; else it is refused. Looking
  // is remembered for a connection, for what changes or decides something it is looked anew. Goes on at once where the
  // kernel names the process; the holders of a port's connection are looked for on a thread of its own.
  void admit(const SharedExchange& exchange, const Operation& operation, std::function<void()> go);

 private:
  class Seeker;
  void find(const SharedExchange& exchange, bool is_anew, std::function<void()> go);

  runtime::Daemon& daemon_;
  // Once somebody came by a port.
  std::unique_ptr<Seeker> seeker_;
};

// What a run that was started from inside another has in its metadata: the run that it belongs to; or its keeper, where
// that run is in the hands of another daemon.
inline constexpr const char* parent_run_key = "parent_run_id";
inline constexpr const char* parent_keeper_key = "parent_keeper";

}  // namespace reeve::server
