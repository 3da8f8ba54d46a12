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
  // Literal text with braces unescaped, or a name without its braces.
  std::string text;
  friend bool operator==(const TemplatePiece&, const TemplatePiece&) = default;
};

struct TemplateError {
  std::string message;
  // Bytes from the start of the template.
  std::size_t offset;
};

std::expected<std::vector<TemplatePiece>, TemplateError> parse_template(std::string_view text);

// Whether the prompt contains `{input}`. A prompt without it drops the task, the hand-over and the approver's comment
// (ORC-3, GRF-8), unless they are appended to it. Invalid templates are reported elsewhere.
bool takes_input(std::string_view prompt);

// Letters, digits, `_` and `-`, in parts joined by single dots: the syntax of names between braces.
bool is_template_name(std::string_view name) noexcept;

}  // namespace reeve::model
