#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/event.h"
#include "runtime/events/event_filter.h"
#include "runtime/events/event_hub.h"

namespace reeve::runtime {

// An event with its rendered texts: each is rendered once and shared by all subscribers that use the same name.
class EventEntry {
 public:
  explicit EventEntry(ledger::StoredEvent event) : event_(std::move(event)) {}

  const ledger::StoredEvent& event() const noexcept { return event_; }
  // Includes the rendered texts.
  std::size_t bytes() const noexcept { return size_of(event_) + text_bytes_; }
  // Excludes rendered texts.
  static std::size_t size_of(const ledger::StoredEvent& event) noexcept;

  // Nothing if the filter excludes the event.
  std::optional<EventText> text(const EventFilter& filter, EventWriter write);

 private:
  struct Made {
    EventWriter write;
    std::string name;
    EventText text;
  };

  ledger::StoredEvent event_;
  std::vector<Made> made_;
  std::size_t text_bytes_ = 0;
};

// Parses a `tool_output` line of the log as an event without a number; nothing for other lines.
std::optional<ledger::StoredEvent> read_output_line(std::string_view line);

}  // namespace reeve::runtime
