#include "runtime/events/event_entry.h"

#include <utility>

namespace reeve::runtime {

namespace {

// Size of an event without texts: the entry itself, the allocations of its strings, and shared_ptr control blocks.
constexpr std::size_t entry_overhead = 256;
static_assert(sizeof(EventEntry) + 64 <= entry_overhead);

}  // namespace

std::size_t EventEntry::size_of(const ledger::StoredEvent& event) noexcept {
  return entry_overhead + event.data.size();
}

std::optional<EventText> EventEntry::text(const EventFilter& filter, EventWriter write) {
  if (!filter.has(event_.kind)) return std::nullopt;
  if (!event_.facts && filter.needs_facts(event_.kind)) event_.facts = ledger::read_facts(event_);
  const auto name = filter.name_of(event_.kind, event_.facts);
  if (!name) return std::nullopt;
  for (const Made& made : made_) {
    if (made.write == write && made.name == *name) return made.text;
  }
  auto text = std::make_shared<const std::string>(write(event_, *name));
  text_bytes_ += text->size() + entry_overhead;
  // An event has few names, so this list is short.
  made_.push_back({write, std::string(*name), text});
  return text;
}

std::optional<ledger::StoredEvent> read_output_line(std::string_view line) {
  constexpr std::string_view begin = R"({"event":"tool_output","timestamp":")";
  constexpr std::string_view behind = R"(",)";
  if (!line.starts_with(begin)) return std::nullopt;
  line.remove_prefix(begin.size());
  const std::size_t end = line.find(behind);
  if (end == std::string_view::npos) return std::nullopt;
  std::string data = "{";
  data += line.substr(end + behind.size());
  return ledger::StoredEvent{0, std::string(line.substr(0, end)), model::EventKind::tool_output, std::move(data)};
}

}  // namespace reeve::runtime
