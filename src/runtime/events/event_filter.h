#pragma once

#include <array>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ledger/event.h"

// Which events a subscriber wants, and under which names (SPEC §9).
namespace reeve::runtime {

class EventFilter {
 public:
  // Every stored event under its own name. Output is not stored, so it is not included.
  static EventFilter all();
  // Accepts the names of SPEC §9: event names, their aliases, `run.failed`, `run.*`, `phase_start:coding`, `*`. Errors:
  // `events.no_names`, `events.too_many_names`, `events.unknown_name` (lists the known names).
  static std::expected<EventFilter, base::Error> parse(std::span<const std::string> names);
  static constexpr std::size_t max_names = 100;

  // The requested names under which this version never sends an event, each once.
  const std::vector<std::string>& never_sent() const noexcept { return never_sent_; }

  // Whether an event of that kind may match, and whether that depends on its facts.
  bool has(model::EventKind kind) const noexcept { return !wanted(kind).empty(); }
  bool needs_facts(model::EventKind kind) const noexcept;
  // The name to send the event under: the first requested name that matches. Nothing if none matches. The facts may be
  // missing if they are not needed. The result is valid as long as the filter.
  std::optional<std::string_view> name_of(model::EventKind kind, const std::optional<ledger::EventFacts>& facts) const;

 private:
  // `family`: under a name made from the status. `never`: a name of something that this version does not have.
  enum class Condition { none, status, family, never };
  struct Wanted {
    std::string name;
    Condition condition = Condition::none;
    std::string value = {};
  };
  static constexpr std::size_t kinds = 14;

  static std::optional<Wanted> parse_alias(std::string_view name);
  const std::vector<Wanted>& wanted(model::EventKind kind) const noexcept {
    return wanted_[static_cast<std::size_t>(kind)];
  }
  void add_all();
  void add(model::EventKind kind, Wanted wanted);

  std::array<std::vector<Wanted>, kinds> wanted_;
  std::vector<std::string> never_sent_;
};

// False for kinds that SPEC §9 names but this version never sends.
bool is_sent(model::EventKind kind) noexcept;

// All known names, for messages.
std::string known_event_names();

}  // namespace reeve::runtime
