#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

// Templates of tasks and prompts (GRF-8): `{input}`, `{field}`, `{node.field}`, `{{` and `}}` for braces.
namespace reeve::model {

struct TemplatePiece {
  enum class Kind { text, name };
  Kind kind;
  // The text with its braces single, or the name without braces.
  std::string text;
  friend bool operator==(const TemplatePiece&, const TemplatePiece&) = default;
};

struct TemplateError {
  std::string message;
  // Bytes from the start of the template.
  std::size_t offset;
};

std::expected<std::vector<TemplatePiece>, TemplateError> parse_template(std::string_view text);

// Whether the prompt names `{input}`. One that does not drops the task, what was handed over and what an approver said
// (ORC-3, GRF-8), unless they are put behind it. A broken template is told elsewhere.
bool takes_input(std::string_view prompt);

// Letters, digits, `_` and `-`, parts joined by single dots: what may stand between braces.
bool is_template_name(std::string_view name) noexcept;

}  // namespace reeve::model
