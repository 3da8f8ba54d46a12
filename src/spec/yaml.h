#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/problem.h"
#include "base/value.h"
#include "spec/source.h"

namespace reeve::spec {

enum class YamlKind : std::uint8_t { scalar, sequence, mapping };

// A YAML node with its location. Aliases are expanded; keys are scalars and unique.
struct YamlNode {
  // Owned by the YamlDocument, which outlives the node.
  const Source* source = nullptr;
  YamlKind kind = YamlKind::scalar;
  // Written without quotes: only a plain `true` can be a boolean.
  bool is_plain = false;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::uint32_t length = 1;
  // For a scalar.
  std::string text;
  // The items of a sequence, or key, value, key, value, … of a mapping.
  std::vector<YamlNode> items;

  base::Place place() const { return source->place(line, column, length); }
  bool is_null() const noexcept;

  // For a mapping.
  std::size_t member_count() const noexcept { return items.size() / 2; }
  const YamlNode& key(std::size_t i) const { return items[2 * i]; }
  const YamlNode& value(std::size_t i) const { return items[2 * i + 1]; }
  // nullptr if this is not a mapping or has no such key.
  const YamlNode* find(std::string_view name) const noexcept;
  // The key node, to point a caret at it.
  const YamlNode* find_key(std::string_view name) const noexcept;
  // nullptr past the end or if this is not a sequence.
  const YamlNode* at(std::size_t i) const noexcept;

  // For messages: "a string", "a list".
  std::string_view kind_name() const;
};

// Resolves a scalar by the YAML 1.2 core schema: only plain scalars can be null, booleans or numbers. `.inf` and `.nan`
// stay strings, because JSON has no such numbers.
base::Value resolve_scalar(const YamlNode& node);
// Converts any node.
base::Value to_value(const YamlNode& node);

struct YamlDocument {
  std::shared_ptr<const Source> source;
  YamlNode root;
};

// Reads one YAML document within the limits of base/limits.h. Returns nothing on failure, and `problems` says why:
// syntax, invalid UTF-8, control characters, duplicate keys, nesting, size, alias expansion.
std::optional<YamlDocument> parse_yaml(std::shared_ptr<const Source> source, base::Problems& problems);

}  // namespace reeve::spec
