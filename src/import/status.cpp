#include "import/status.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::import {

namespace {

using model::ApprovalStatus;
using model::ExecutionStatus;
using model::NodeStatus;
using model::PatchState;
using model::RunStatus;
using model::TaskStatus;

template <class T, std::size_t N>
std::optional<T> find_word(const std::array<std::pair<std::string_view, T>, N>& words, std::string_view word) {
  const std::string lower = base::to_ascii_lower(base::trim(word));
  const auto found = std::ranges::find(words, std::string_view(lower), &std::pair<std::string_view, T>::first);
  return found != words.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace

std::optional<OldEnd> find_old_end(std::string_view word) {
  static constexpr auto words = std::to_array<std::pair<std::string_view, OldEnd>>({
      {"completed", OldEnd::completed},
      {"complete", OldEnd::completed},
      {"done", OldEnd::completed},
      {"success", OldEnd::completed},
      {"succeeded", OldEnd::completed},
      {"failed", OldEnd::failed},
      {"error", OldEnd::failed},
      {"rejected", OldEnd::failed},
      {"failed_timeout", OldEnd::timed_out},
      {"timeout", OldEnd::timed_out},
      {"timed_out", OldEnd::timed_out},
      {"cancelled", OldEnd::cancelled},
      {"canceled", OldEnd::cancelled},
      {"aborted", OldEnd::cancelled},
      {"skipped", OldEnd::skipped},
      {"running", OldEnd::unfinished},
      {"in_progress", OldEnd::unfinished},
      {"stalled", OldEnd::unfinished},
      {"paused", OldEnd::unfinished},
      {"waiting_approval", OldEnd::unfinished},
      {"waiting_for_approval", OldEnd::unfinished},
      {"hooked", OldEnd::unfinished},
      {"queued", OldEnd::waiting},
      {"pending", OldEnd::waiting},
      {"ready", OldEnd::waiting},
      {"slung", OldEnd::waiting},
  });
  return find_word(words, word);
}

std::string describe_unknown(const std::optional<std::string>& word) {
  constexpr std::size_t longest = 40;
  return word ? fmt::format("unknown status {}", base::quoted(base::truncate_utf8(*word, longest)))
              : "it has no status";
}

RunEnd run_end(OldEnd end, std::optional<int> exit_code) {
  switch (end) {
    case OldEnd::completed:
      return {RunStatus::completed, {}};
    case OldEnd::failed:
      // The wording of RUN-6.
      if (exit_code.value_or(0) != 0) return {RunStatus::failed, fmt::format("exit_code != 0 ({})", *exit_code)};
      return {RunStatus::failed, {}};
    case OldEnd::timed_out:
      return {RunStatus::failed_timeout, "timeout"};
    case OldEnd::cancelled:
    case OldEnd::skipped:
      return {RunStatus::cancelled, {}};
    case OldEnd::unfinished:
    case OldEnd::waiting:
      break;
  }
  return {RunStatus::failed, std::string(imported_reason)};
}

ExecutionEnd execution_end(OldEnd end, const std::optional<std::string>& error) {
  switch (end) {
    case OldEnd::completed:
    case OldEnd::skipped:
      return {ExecutionStatus::completed, {}};
    case OldEnd::failed:
      return {ExecutionStatus::failed, error};
    case OldEnd::timed_out:
      return {ExecutionStatus::failed, error ? error : "timeout"};
    case OldEnd::cancelled:
      return {ExecutionStatus::cancelled, error};
    case OldEnd::unfinished:
    case OldEnd::waiting:
      break;
  }
  return {ExecutionStatus::failed, std::string(imported_reason)};
}

NodeEnd node_end(OldEnd end, const std::optional<std::string>& error, ExecutionStatus whole) {
  switch (end) {
    case OldEnd::completed:
      return {NodeStatus::completed, {}};
    case OldEnd::failed:
      return {NodeStatus::failed, error};
    case OldEnd::timed_out:
      return {NodeStatus::failed, error ? error : "timeout"};
    case OldEnd::cancelled:
      return {NodeStatus::cancelled, error};
    case OldEnd::skipped:
      return {NodeStatus::skipped, {}};
    case OldEnd::unfinished:
      return {NodeStatus::failed, std::string(imported_reason)};
    case OldEnd::waiting:
      break;
  }
  return {whole == ExecutionStatus::completed ? NodeStatus::skipped : NodeStatus::cancelled, {}};
}

TaskStatus task_end(OldEnd end) {
  switch (end) {
    case OldEnd::completed:
    case OldEnd::skipped:
      return TaskStatus::done;
    case OldEnd::failed:
    case OldEnd::timed_out:
    case OldEnd::unfinished:
      return TaskStatus::failed;
    case OldEnd::cancelled:
    case OldEnd::waiting:
      break;
  }
  return TaskStatus::cancelled;
}

std::optional<ApprovalStatus> find_old_decision(std::string_view word) {
  static constexpr auto words = std::to_array<std::pair<std::string_view, ApprovalStatus>>({
      {"pending", ApprovalStatus::pending},
      {"approved", ApprovalStatus::approved},
      {"granted", ApprovalStatus::approved},
      {"rejected", ApprovalStatus::rejected},
      {"denied", ApprovalStatus::rejected},
      {"expired", ApprovalStatus::expired},
      {"timeout", ApprovalStatus::expired},
  });
  return find_word(words, word);
}

std::optional<PatchState> find_old_patch_state(std::string_view word) {
  static constexpr auto others = std::to_array<std::pair<std::string_view, PatchState>>({
      {"pending", PatchState::created},
      {"failed", PatchState::apply_failed},
      {"conflict", PatchState::conflicted},
      {"rolledback", PatchState::rolled_back},
      {"reverted", PatchState::rolled_back},
  });
  const std::string lower = base::to_ascii_lower(base::trim(word));
  auto found = base::find_enum<PatchState>(lower);
  if (!found) found = find_word(others, lower);
  return found == PatchState::queued ? PatchState::apply_failed : found;
}

}  // namespace reeve::import
