#pragma once

#include <string>
#include <vector>

namespace reeve::keeper {

// Codes with which a daemon says that it is not to be started again: it left in order, could not begin, or another one
// has the folder.
inline constexpr int daemon_refused = 75;
inline constexpr int daemon_cannot_begin = 78;

// Starts the daemon, and again after each abnormal end, with growing pauses, unless another one has had its folder
// since: `lock` names the holder. Takes in orphans, so that no keeper that ends without a daemon stays a zombie.
// Returns when the daemon left in order.
int guard_daemon(const char* lock, const std::vector<std::string>& argv, const std::vector<std::string>& environment);

}  // namespace reeve::keeper
