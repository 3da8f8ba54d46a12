#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reeve::os {

// The inodes of the unix sockets of this network namespace that listen at that path. One whose path another socket has
// taken still counts: it keeps its name. Connects to none, which would start the service of a socket unit.
std::vector<std::uint64_t> find_listeners(const std::string& path);

}  // namespace reeve::os
