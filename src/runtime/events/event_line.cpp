#include "runtime/events/event_line.h"

#include <fmt/format.h>

#include "base/enum.h"

namespace reeve::runtime {

std::string event_line(const ledger::StoredEvent& event) {
  std::string line =
      fmt::format(R"({{"event":"{}","timestamp":"{}","seq":{})", base::spell(event.kind), event.at, event.seq);
  // The rest of the object, without its opening brace.
  const std::string_view data = event.data;
  if (data.size() > 2) {
    line += ',';
    line += data.substr(1);
  } else {
    line += '}';
  }
  line += '\n';
  return line;
}

}  // namespace reeve::runtime
