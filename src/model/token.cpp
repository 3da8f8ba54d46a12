#include "model/token.h"

#include <algorithm>

#include "base/id.h"
#include "base/text.h"

namespace reeve::model {

namespace {

constexpr std::size_t longest_name = 64;

bool is_taken_for_another(std::string_view text) {
  const std::string lower = base::to_ascii_lower(text);
  return lower == "reeve" || lower == "outside" || base::RunId::parse(text) || base::ApprovalId::parse(text) ||
         base::ExecutionId::parse(text) || base::AgentId::parse(text) || base::TaskId::parse(text) ||
         base::PatchId::parse(text);
}

}  // namespace

bool allows(std::span<const Scope> given, Scope needed) noexcept {
  return std::ranges::any_of(
      given, [&](Scope scope) { return scope == needed || scope == Scope::admin || (needed == Scope::read); });
}

bool is_token_name(std::string_view text) noexcept {
  const auto is_plain = [](char c) { return base::is_ascii_letter(c) || base::is_ascii_digit(c); };
  if (text.empty() || text.size() > longest_name || !is_plain(text.front())) return false;
  const bool is_clean =
      std::ranges::all_of(text, [&](char c) { return is_plain(c) || std::string_view("._@-").contains(c); });
  return is_clean && !is_taken_for_another(text);
}

}  // namespace reeve::model
