#include <charconv>
#include <limits>

#include "base/text.h"
#include "spec/yaml.h"

namespace reeve::spec {

namespace {

using base::Value;

std::optional<std::int64_t> read_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int radix = 10;
  if (!negative && (text.starts_with("0x") || text.starts_with("0o"))) {
    radix = text[1] == 'x' ? 16 : 8;
    text.remove_prefix(2);
  }
  if (text.empty() || text.front() == '-' || text.front() == '+') return std::nullopt;
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, radix);
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (error != std::errc() || end != text.data() + text.size() || magnitude > largest) return std::nullopt;
  const auto number = static_cast<std::int64_t>(magnitude);
  return negative ? -number : number;
}

std::optional<double> read_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  // from_chars would accept "inf" and "nan", which are strings in YAML.
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (!base::is_ascii_digit(digits.front()) && digits.front() != '.')) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

bool YamlNode::is_null() const noexcept {
  return kind == YamlKind::scalar && is_plain &&
         (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL");
}

const YamlNode* YamlNode::find(std::string_view name) const noexcept {
  const YamlNode* found = find_key(name);
  return found != nullptr ? found + 1 : nullptr;
}

const YamlNode* YamlNode::find_key(std::string_view name) const noexcept {
  if (kind != YamlKind::mapping) return nullptr;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].text == name) return &items[i];
  }
  return nullptr;
}

const YamlNode* YamlNode::at(std::size_t i) const noexcept {
  return kind == YamlKind::sequence && i < items.size() ? &items[i] : nullptr;
}

std::string_view YamlNode::kind_name() const {
  if (kind == YamlKind::sequence) return "a list";
  if (kind == YamlKind::mapping) return "a mapping";
  return resolve_scalar(*this).kind();
}

Value resolve_scalar(const YamlNode& node) {
  if (!node.is_plain) return Value::string(node.text);
  if (node.is_null()) return {};
  const std::string& text = node.text;
  if (text == "true" || text == "True" || text == "TRUE") return Value::boolean(true);
  if (text == "false" || text == "False" || text == "FALSE") return Value::boolean(false);
  if (const auto integer = read_integer(text)) return Value::integer(*integer);
  if (const auto number = read_number(text)) return Value::number(*number);
  return Value::string(text);
}

Value to_value(const YamlNode& node) {
  if (node.kind == YamlKind::scalar) return resolve_scalar(node);
  if (node.kind == YamlKind::sequence) {
    Value::Array array;
    array.reserve(node.items.size());
    for (const YamlNode& item : node.items) array.push_back(to_value(item));
    return Value::array(std::move(array));
  }
  Value object = Value::object();
  for (std::size_t i = 0; i < node.member_count(); ++i) object.set(node.key(i).text, to_value(node.value(i)));
  return object;
}

}  // namespace reeve::spec
