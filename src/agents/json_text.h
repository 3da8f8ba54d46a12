#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

// Edits the text of a JSON document and leaves every other byte of it as it is. Pure. Requires valid JSON within the
// limits of json::parse().
namespace reeve::agents {

// A part of the text.
struct JsonSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const JsonSpan&, const JsonSpan&) = default;
};

// A member or an element: of a member, `item` begins with its key.
struct JsonItem {
  std::string key;
  JsonSpan item;
  JsonSpan value;
};

// The span of the document's value.
JsonSpan find_root(std::string_view text);
// The members of an object, or the elements of an array, in their order; none for any other value.
std::vector<JsonItem> list_items(std::string_view text, JsonSpan container);
// The value of a member.
std::optional<JsonSpan> find_member(std::string_view text, JsonSpan object, std::string_view key);

// Appends to an array, or with a key to an object, in the style of the document: its indentation, or one line.
std::string append_item(std::string_view text, JsonSpan container, const std::optional<std::string>& key,
                        const base::Value& value);
// Removes that item and the comma that separates it from its neighbour.
std::string remove_item(std::string_view text, JsonSpan container, std::size_t index);

}  // namespace reeve::agents
