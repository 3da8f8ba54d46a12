#include "model/config.h"

#include <fmt/format.h>

namespace reeve::model {

std::optional<OnPrompt> parse_on_prompt(std::string_view text) {
  constexpr std::string_view answer = "answer=";
  if (text.starts_with(answer)) return OnPrompt{PromptAction::answer, std::string(text.substr(answer.size()))};
  const auto action = base::find_enum<PromptAction>(text);
  if (!action || *action == PromptAction::answer) return std::nullopt;
  return OnPrompt{*action, {}};
}

std::optional<OnPrompt> parse_config_word(std::string_view text, const OnPrompt* /*type*/) {
  return parse_on_prompt(text);
}

std::string format_config_word(const OnPrompt& on_prompt) {
  if (on_prompt.action != PromptAction::answer) return std::string(base::spell(on_prompt.action));
  return fmt::format("answer={}", on_prompt.text);
}

}  // namespace reeve::model
