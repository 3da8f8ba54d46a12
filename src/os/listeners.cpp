#include "os/listeners.h"

#include <fstream>
#include <string_view>

#include "os/pseudo_file.h"

namespace reeve::os {

std::vector<std::uint64_t> find_listeners(const std::string& path) {
  // "…: RefCount Protocol Flags Type St Inode Path"
  constexpr std::string_view listening = " 00010000 ";
  std::vector<std::uint64_t> inodes;
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    if (!line.ends_with(" " + path) || !line.contains(listening)) continue;
    const std::string before = line.substr(0, line.size() - path.size() - 1);
    inodes.push_back(parse_unsigned(before.substr(before.rfind(' ') + 1)));
  }
  return inodes;
}

}  // namespace reeve::os
