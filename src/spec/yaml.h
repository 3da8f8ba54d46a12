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

// A node of a YAML text with its place. Aliases are expanded; keys are scalars and unique.
struct YamlNode {
  // Outlives the node: held by the YamlDocument.
  const Source* source = nullptr;
  YamlKind kind = YamlKind::scalar;
  // Written without quotes: only then may `true` be more than a word.
  bool is_plain = false;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::uint32_t length = 1;
  // Of a scalar.
  std::string text;
  // Of a sequence its items; of a mapping key, value, key, value …
  std::vector<YamlNode> items;

  base::Place place() const { return source->place(line, column, length); }
  bool is_null() const noexcept;

  // Of a mapping.
  std::size_t member_count() const noexcept { return items.size() / 2; }
  const YamlNode& key(std::size_t i) const { return items[2 * i]; }
  const YamlNode& value(std::size_t i) const { return items[2 * i + 1]; }
  // nullptr when this is no mapping or has no such key.
  const YamlNode* find(std::string_view name) const noexcept;
  // The key itself, for a caret beneath it.
  const YamlNode* find_key(std::string_view name) const noexcept;
  // Of a sequence; nullptr beyond its end or when it is none.
  const YamlNode* at(std::size_t i) const noexcept;

  // "a string", "a list": for messages.
  std::string_view kind_name() const;
};

// A scalar by YAML 1.2's core schema: only plain ones can be null, truth values or numbers. `.inf` and `.nan` are
// words: JSON has no such numbers.
base::Value resolve_scalar(const YamlNode& node);
// Any node as data.
base::Value to_value(const YamlNode& node);

struct YamlDocument {
  std::shared_ptr<const Source> source;
  YamlNode root;
};

// Reads one YAML document within the bounds of base/limits.h. Nothing when it cannot be read, and then `problems` says
// why: syntax, bytes that are not UTF-8, control characters, duplicate keys, nesting, size, aliases that multiply.
std::optional<YamlDocument> parse_yaml(std::shared_ptr<const Source> source, base::Problems& problems);

}  // namespace reeve::spec
