#pragma once

#include <functional>
#include <memory>

#include "server/contract/operations.h"
#include "server/request/exchange.h"

// Whether a caller is inside a managed run, and which operations it may then use (APR-11, SPEC §7).
namespace reeve::server {

class InRunPolicy {
 public:
  explicit InRunPolicy(runtime::Daemon& daemon);
  ~InRunPolicy();
  InRunPolicy(const InRunPolicy&) = delete;
  InRunPolicy& operator=(const InRunPolicy&) = delete;

  // Identifies the caller (`Exchange::in_run_caller`), then calls `go` if the operation permits it, otherwise refuses.
  // Reads use the result cached for the connection; changes and decisions inspect again. Immediate where the kernel
  // names the process; holders of a TCP connection are searched on a separate thread.
  void admit(const SharedExchange& exchange, const Operation& operation, std::function<void()> go);

 private:
  class SocketOwnerScanner;
  void find(const SharedExchange& exchange, bool is_anew, std::function<void()> go);

  runtime::Daemon& daemon_;
  // Created with the first TCP request.
  std::unique_ptr<SocketOwnerScanner> scanner_;
};

// Metadata keys of a run that was started from inside another: the parent run, or its keeper if that run belongs to
// another daemon.
inline constexpr const char* parent_run_key = "parent_run_id";
inline constexpr const char* parent_keeper_key = "parent_keeper";

}  // namespace reeve::server
