#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/unit.h"
#include "runtime/event_filter.h"
#include "runtime/event_hub.h"

namespace reeve::runtime {

// An event with what was made of it so far: each text once, for all who want it under that name.
class EventEntry {
 public:
  explicit EventEntry(ledger::StoredEvent event) : event_(std::move(event)) {}

  const ledger::StoredEvent& event() const noexcept { return event_; }
  // With its texts.
  std::size_t bytes() const noexcept { return size_of(event_) + text_bytes_; }
  // Without any.
  static std::size_t size_of(const ledger::StoredEvent& event) noexcept;

  // Nothing when the filter does not want it.
  std::optional<EventText> text(const EventFilter& filter, EventWriter write);

 private:
  struct Made {
    EventWriter write;
    std::string name;
    EventText text;
  };

  ledger::StoredEvent event_;
  std::unique_ptr<EventFacts> facts_;
  std::vector<Made> made_;
  std::size_t text_bytes_ = 0;
};

// A `tool_output` line of the log as an event without a number; nothing for other lines.
std::optional<ledger::StoredEvent> read_output_line(std::string_view line);

}  // namespace reeve::runtime
