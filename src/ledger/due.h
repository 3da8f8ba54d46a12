#pragma once

#include <string>

#include "base/clock.h"
#include "store/session.h"

namespace reeve::ledger {

// Whether the store has something to do now that no event announces: an approval to expire or to be reminded of, a
// granted run or branch that was not continued, a node to start. Reads by indexes, outside any transaction. For the
// only daemon of a store, on this host.
bool has_due_work(store::Session& session, const std::string& host, base::WallTime now);

}  // namespace reeve::ledger
