#include "runtime/event_entry.h"

#include <utility>

namespace reeve::runtime {

namespace {

// Of an event without its texts: strings, the entry itself, the block that a text is counted in.
constexpr std::size_t entry_overhead = 256;

}  // namespace

std::size_t EventEntry::size_of(const ledger::StoredEvent& event) noexcept {
  return entry_overhead + event.data.size();
}

std::optional<EventText> EventEntry::text(const EventFilter& filter, EventWriter write) {
  if (!filter.has(event_.kind)) return std::nullopt;
  const bool needs_facts = filter.needs_facts(event_.kind);
  if (needs_facts && !facts_) facts_ = std::make_unique<EventFacts>(read_facts(event_));
  const auto name = filter.name_of(event_.kind, facts_.get());
  if (!name) return std::nullopt;
  for (const Made& made : made_) {
    if (made.write == write && made.name == *name) return made.text;
  }
  auto text = std::make_shared<const std::string>(write(event_, *name));
  text_bytes_ += text->size() + entry_overhead;
  // Few names lead to one event: this list is short.
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
