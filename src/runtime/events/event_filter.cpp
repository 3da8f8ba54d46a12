#include "runtime/events/event_filter.h"

#include <algorithm>
#include <map>
#include <variant>

#include <fmt/format.h>

#include "base/enum.h"
#include "base/limits.h"
#include "base/text.h"
#include "model/event.h"
#include "model/run.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using model::EventKind;

constexpr std::string_view run_prefix = "run.";

// The name under which `run.*` sends a status.
std::string_view run_name(std::string_view status) {
  static const auto names = [] {
    std::map<std::string, std::string, std::less<>> made;
    for (const std::string& word : base::spellings<model::RunStatus>())
      made.emplace(word, std::string(run_prefix) + word);
    return made;
  }();
  const auto found = names.find(status);
  return found != names.end() ? std::string_view(found->second) : "run";
}

// Empty if there is none.
std::string_view spell_status(const std::optional<ledger::EventFacts>& facts) {
  if (!facts) return {};
  const auto spell = []<class Status>(Status status) -> std::string_view {
    if constexpr (base::DescribedEnum<Status>) {
      return base::spell(status);
    } else {
      return {};
    }
  };
  return std::visit(spell, facts->status);
}

Error unknown(std::string_view name) {
  return {ErrorCode::events_unknown_name,
          fmt::format("unknown event name {}", base::quoted(base::truncate_utf8(name, base::limits::name_bytes))),
          "known: " + known_event_names()};
}

}  // namespace

bool is_sent(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::agent_state_change:
    case EventKind::phase_start:
    case EventKind::phase_complete:
    case EventKind::task_complete:
      return false;
    default:
      return true;
  }
}

std::string known_event_names() {
  std::string names = "*";
  for (const std::string& name : base::spellings<EventKind>()) names += ", " + name;
  names +=
      ", task_execution_start, task_execution_complete, task_execution_failed, task_execution_timeout, run.*, "
      "run.STATUS, approval_requested, approval_resolved, approval_granted, approval_rejected, agent_spawned, "
      "agent_failed, agent_output, phase_start:PHASE, phase_complete:PHASE";
  return names;
}

// The condition that a name adds to the event's kind. Nothing if it names an unknown run status.
std::optional<EventFilter::Wanted> EventFilter::parse_alias(std::string_view name) {
  struct Narrow {
    std::string_view name;
    Condition condition;
    std::string_view value;
  };
  using enum Condition;
  constexpr auto narrow = std::to_array<Narrow>({
      {"task_execution_start", status, "running"},
      {"task_execution_complete", status, "completed"},
      {"task_execution_failed", status, "failed"},
      {"task_execution_timeout", status, "failed_timeout"},
      {"approval_granted", status, "approved"},
      {"approval_rejected", status, "rejected"},
      {"agent_spawned", never, ""},
      {"agent_failed", never, ""},
      {"agent_output", never, ""},
  });
  Wanted wanted{std::string(name)};
  const auto* found = std::ranges::find(narrow, name, &Narrow::name);
  if (found != narrow.end()) {
    wanted.condition = found->condition;
    wanted.value = found->value;
  } else if (name == "run.*") {
    wanted.condition = family;
  } else if (name.starts_with(run_prefix)) {
    wanted.condition = status;
    wanted.value = name.substr(run_prefix.size());
    if (!base::find_enum<model::RunStatus>(wanted.value)) return std::nullopt;
  } else if (name.contains(':')) {
    wanted.condition = never;
  }
  return wanted;
}

void EventFilter::add(EventKind kind, Wanted wanted) {
  const bool can_match = wanted.condition != Condition::never;
  const bool is_new = std::ranges::find(never_sent_, wanted.name) == never_sent_.end();
  if (!(can_match && is_sent(kind)) && is_new) never_sent_.push_back(wanted.name);
  if (can_match) wanted_[static_cast<std::size_t>(kind)].push_back(std::move(wanted));
}

void EventFilter::add_all() {
  for (const auto& entry : base::names_of<EventKind>()) {
    if (entry.value == EventKind::tool_output) continue;
    wanted_[static_cast<std::size_t>(entry.value)].push_back({std::string(entry.name)});
  }
}

EventFilter EventFilter::all() {
  EventFilter filter;
  filter.add_all();
  return filter;
}

std::expected<EventFilter, Error> EventFilter::parse(std::span<const std::string> names) {
  static_assert(static_cast<std::size_t>(EventKind::policy_denied) + 1 == kinds);
  if (names.empty()) {
    return std::unexpected(Error(ErrorCode::events_no_names, "no event names were given",
                                 "use \"*\" for all; known: " + known_event_names()));
  }
  if (names.size() > max_names) {
    return std::unexpected(Error(ErrorCode::events_too_many_names,
                                 fmt::format("at most {} event names are allowed", max_names), "use \"*\" for all"));
  }
  EventFilter filter;
  for (const std::string& name : names) {
    if (name == "*") {
      filter.add_all();
      continue;
    }
    const auto kind = name.size() <= base::limits::name_bytes ? model::find_event_kind(name) : std::nullopt;
    auto wanted = kind ? parse_alias(name) : std::nullopt;
    if (!wanted) return std::unexpected(unknown(name));
    filter.add(*kind, std::move(*wanted));
  }
  return filter;
}

bool EventFilter::needs_facts(EventKind kind) const noexcept {
  const auto& list = wanted(kind);
  // A first entry without a condition always matches.
  return !list.empty() && list.front().condition != Condition::none;
}

std::optional<std::string_view> EventFilter::name_of(EventKind kind,
                                                     const std::optional<ledger::EventFacts>& facts) const {
  for (const Wanted& one : wanted(kind)) {
    if (one.condition == Condition::family) return run_name(spell_status(facts));
    if (one.condition == Condition::none || spell_status(facts) == one.value) return one.name;
  }
  return std::nullopt;
}

}  // namespace reeve::runtime
