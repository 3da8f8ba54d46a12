#include "os/process_stat.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "os/pseudo_file.h"

namespace reeve::os {

std::optional<ProcessStat> read_process_stat(pid_t pid) {
  const std::string line = read_pseudo_file(proc_path(pid, "stat").c_str());
  // The name in parentheses may contain any character: fields are counted from the last parenthesis.
  const std::size_t end = line.rfind(") ");
  if (end == std::string::npos) return std::nullopt;
  std::vector<std::string_view> fields;
  std::string_view rest = std::string_view(line).substr(end + 2);
  while (!rest.empty()) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    fields.push_back(rest.substr(0, space));
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  // The first field here is the state, field 3 of proc(5).
  constexpr std::size_t parent = 1;
  constexpr std::size_t group = 2;
  constexpr std::size_t terminal = 4;
  constexpr std::size_t first_time = 11;
  constexpr std::size_t last_time = 14;
  constexpr std::size_t threads = 17;
  constexpr std::size_t started = 19;
  constexpr std::size_t resident = 21;
  if (fields.size() <= resident || fields[0].empty()) return std::nullopt;
  const auto number = [&](std::size_t field) { return parse_unsigned(fields[field]); };
  std::uint64_t ticks = 0;
  for (std::size_t field = first_time; field <= last_time; ++field) ticks += number(field);
  return ProcessStat{{pid, number(started)},
                     static_cast<pid_t>(number(parent)),
                     static_cast<pid_t>(number(group)),
                     number(terminal),
                     fields[0][0],
                     ticks,
                     number(threads),
                     number(resident)};
}

}  // namespace reeve::os
