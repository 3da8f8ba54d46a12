#pragma once

#include <array>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ledger/unit.h"

// Which events somebody wants, and under which names (SPEC §9).
namespace reeve::runtime {

// What of an event narrower names go by; empty where it has no such member.
struct EventFacts {
  std::string status;
  std::string state;
  std::string phase;
  bool is_tool_call = false;
  bool is_of_agent = false;
};
EventFacts read_facts(const ledger::StoredEvent& event);

class EventFilter {
 public:
  // Every event of the store under its own name; output, which is not stored, is no part of it.
  static EventFilter all();
  // Names of SPEC §9: of events, what they also answer to, `run.failed`, `run.*`, `phase_start:coding`, `*`. Errors:
  // `events.no_names`, `events.too_many_names`, `events.unknown_name`, which names those there are.
  static std::expected<EventFilter, base::Error> parse(std::span<const std::string> names);
  static constexpr std::size_t most_names = 100;

  // Of the names that were asked for, those that this version never sends an event under, each once.
  const std::vector<std::string>& never_sent() const noexcept { return never_sent_; }

  // Whether an event of that kind may be wanted, and whether its facts are needed to tell.
  bool has(model::EventKind kind) const noexcept { return !wanted(kind).empty(); }
  bool needs_facts(model::EventKind kind) const noexcept;
  // The name that it is told under: the first of those asked for that it answers to. Nothing when it is not wanted.
  // `facts` may be missing where they are not needed. Lives as long as the filter.
  std::optional<std::string_view> name_of(model::EventKind kind, const EventFacts* facts) const;

 private:
  enum class Condition { none, status, state, phase, tool_call, agent, family };
  struct Wanted {
    std::string name;
    Condition condition = Condition::none;
    std::string value = {};
  };
  static constexpr std::size_t kinds = 12;

  static std::optional<Wanted> parse_alias(std::string_view name);
  static bool holds(const Wanted& wanted, const EventFacts& facts);
  const std::vector<Wanted>& wanted(model::EventKind kind) const noexcept {
    return wanted_[static_cast<std::size_t>(kind)];
  }
  void add_all();
  void add(model::EventKind kind, Wanted wanted);
  static bool is_sent(model::EventKind kind, const Wanted& wanted);

  std::array<std::vector<Wanted>, kinds> wanted_;
  std::vector<std::string> never_sent_;
};

// Kinds that are known, as SPEC §9 names them, and that nothing in this version tells of.
bool is_sent(model::EventKind kind) noexcept;

// Every name there is, for messages.
std::string known_event_names();

}  // namespace reeve::runtime
