#include "runtime/event_filter.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/enum.h"
#include "base/limits.h"
#include "base/text.h"
#include "json/fields.h"
#include "json/parse.h"
#include "model/event.h"
#include "model/run.h"

namespace reeve::runtime {

namespace {

using base::Error;
using model::EventKind;

constexpr std::string_view run_prefix = "run.";

// The name that `run.*` tells a status under.
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

bool has(const base::Value& data, std::string_view key) {
  const base::Value* found = data.find(key);
  return found != nullptr && !found->is_null();
}

Error unknown(std::string_view name) {
  return {"events.unknown_name",
          fmt::format("no event answers to {}", base::quoted(base::truncate_utf8(name, base::limits::name_bytes))),
          "known: " + known_event_names()};
}

}  // namespace

EventFacts read_facts(const ledger::StoredEvent& event) {
  const auto data = json::parse(event.data);
  if (!data) return {};
  return {.status = json::text_of(*data, "status"),
          .state = json::text_of(*data, "state"),
          .phase = json::text_of(*data, "phase"),
          .is_tool_call = json::text_of(*data, "kind") == "tool_call",
          .is_of_agent = has(*data, "agent_id")};
}

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
      "run.STATUS, approval_requested, tool_approval_pending, approval_resolved, approval_granted, approval_rejected, "
      "agent_spawned, agent_failed, agent_output, phase_start:PHASE, phase_complete:PHASE";
  return names;
}

// What a name asks of the event beside its kind. Nothing: it is one of a run's statuses that there is not.
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
      {"tool_approval_pending", tool_call, ""},
      {"approval_granted", status, "approved"},
      {"approval_rejected", status, "rejected"},
      {"agent_spawned", state, "active"},
      {"agent_failed", state, "failed"},
      {"agent_output", agent, ""},
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
  } else if (const std::size_t colon = name.find(':'); colon < name.size()) {
    wanted.condition = phase;
    wanted.value = name.substr(colon + 1);
  }
  return wanted;
}

// Nothing runs as an agent or asks about a tool call yet.
bool EventFilter::is_sent(EventKind kind, const Wanted& wanted) {
  if (wanted.condition == Condition::tool_call || wanted.condition == Condition::agent) return false;
  return runtime::is_sent(kind);
}

void EventFilter::add(EventKind kind, Wanted wanted) {
  const bool is_new = std::ranges::find(never_sent_, wanted.name) == never_sent_.end();
  if (!is_sent(kind, wanted) && is_new) never_sent_.push_back(wanted.name);
  wanted_[static_cast<std::size_t>(kind)].push_back(std::move(wanted));
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
    return std::unexpected(Error("events.no_names", "no events are named", "\"*\" for all; " + known_event_names()));
  }
  if (names.size() > most_names) {
    return std::unexpected(
        Error("events.too_many_names", fmt::format("at most {} names are taken", most_names), "\"*\" for all"));
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
  // Whoever stands first without a condition decides alone.
  return !list.empty() && list.front().condition != Condition::none;
}

bool EventFilter::holds(const Wanted& wanted, const EventFacts& facts) {
  switch (wanted.condition) {
    case Condition::none:
      return true;
    case Condition::family:
      return true;
    case Condition::status:
      return facts.status == wanted.value;
    case Condition::state:
      return facts.state == wanted.value;
    case Condition::phase:
      return facts.phase == wanted.value;
    case Condition::tool_call:
      return facts.is_tool_call;
    case Condition::agent:
      return facts.is_of_agent;
  }
  return false;
}

std::optional<std::string_view> EventFilter::name_of(EventKind kind, const EventFacts* facts) const {
  static const EventFacts none;
  for (const Wanted& one : wanted(kind)) {
    if (!holds(one, facts != nullptr ? *facts : none)) continue;
    return one.condition == Condition::family ? run_name(facts != nullptr ? facts->status : "") : one.name;
  }
  return std::nullopt;
}

}  // namespace reeve::runtime
