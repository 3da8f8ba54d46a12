#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "server/request/exchange.h"

// Runs and the daemon that holds them; with a shared store that may be another one.
namespace reeve::server {

// What the caller wanted and should ask the other daemon for.
struct WantedThere {
  // "the output of TR-7"
  std::string subject;
  // "read it"
  std::string_view act;
  // Without `reeve`: "logs TR-7".
  std::string command;
};
// `run.not_here`: another daemon of the same store has it. `host` is named as in the store.
base::Error make_not_here(const Exchange& exchange, const std::string& host, const WantedThere& wanted);

// Calls `act` with the request's run if this daemon holds it, before it returns; otherwise refuses: `run.not_here` if
// it has a process elsewhere, else `run.not_running`. `command`: the one to call at the other daemon.
void with_live(const SharedExchange& exchange, std::string_view command,
               const std::function<void(runtime::LiveRun&)>& act);

}  // namespace reeve::server
