#pragma once

#include <string>
#include <vector>

namespace reeve::keeper {

// Exit codes of a daemon that must not be restarted: another daemon owns the folder, or it could not start.
inline constexpr int daemon_refused = 75;
inline constexpr int daemon_cannot_begin = 78;

// Starts the daemon and restarts it after each abnormal end, with growing pauses, unless another daemon has owned its
// folder since, as recorded in `lock`. Acts as a subreaper, so that no keeper that ends without a daemon stays a
// zombie. Returns when the daemon exits normally.
int guard_daemon(const char* lock, const std::vector<std::string>& argv, const std::vector<std::string>& environment);

}  // namespace reeve::keeper
