#include "engine/condition.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/enum.h"
#include "base/text.h"

namespace reeve::engine {

namespace {

using base::Value;
using model::Operator;

std::optional<double> as_double(const Value& value) {
  if (const std::int64_t* integer = value.as_integer()) return static_cast<double>(*integer);
  if (const double* number = value.as_number()) return *number;
  return std::nullopt;
}

// Negative, zero or positive for less, equal or greater; nothing if the values do not compare. Integers are compared as
// integers: as doubles, neighbours beyond 2^53 would be equal.
std::optional<int> compare(const Value& left, const Value& right) {
  if (left.as_integer() != nullptr && right.as_integer() != nullptr) {
    const std::int64_t a = *left.as_integer();
    const std::int64_t b = *right.as_integer();
    return a < b ? -1 : a > b ? 1 : 0;
  }
  const auto a = as_double(left);
  const auto b = as_double(right);
  if (a && b) return *a < *b ? -1 : *a > *b ? 1 : 0;
  if (left.as_string() != nullptr && right.as_string() != nullptr) return left.as_string()->compare(*right.as_string());
  return std::nullopt;
}

// Nothing if the values do not compare.
std::optional<bool> equals(const Value& left, const Value& right) {
  if (left.as_bool() != nullptr && right.as_bool() != nullptr) return *left.as_bool() == *right.as_bool();
  if (left.as_array() != nullptr && right.as_array() != nullptr) return left == right;
  const auto order = compare(left, right);
  return order ? std::optional(*order == 0) : std::nullopt;
}

// Nothing if `value` compares with no item. An empty list contains nothing.
std::optional<bool> is_among(const Value& value, const Value::Array& list) {
  bool is_comparable = list.empty();
  for (const Value& item : list) {
    const auto equal = equals(value, item);
    if (equal.value_or(false)) return true;
    is_comparable = is_comparable || equal.has_value();
  }
  return is_comparable ? std::optional(false) : std::nullopt;
}

std::optional<bool> negate(std::optional<bool> result) { return result ? std::optional(!*result) : std::nullopt; }

std::optional<bool> contains(const Value& whole, const Value& part) {
  if (whole.as_array() != nullptr) return is_among(part, *whole.as_array());
  if (whole.as_string() == nullptr || part.as_string() == nullptr) return std::nullopt;
  return whole.as_string()->find(*part.as_string()) != std::string::npos;
}

template <class Test>
std::optional<bool> test_texts(const Value& left, const Value& right, Test test) {
  if (left.as_string() == nullptr || right.as_string() == nullptr) return std::nullopt;
  return test(*left.as_string(), *right.as_string());
}

template <class Test>
std::optional<bool> test_order(const Value& left, const Value& right, Test test) {
  const auto order = compare(left, right);
  return order ? std::optional<bool>(test(*order)) : std::nullopt;
}

std::optional<bool> apply(Operator op, const Value& field, const Value& value) {
  switch (op) {
    case Operator::equal:
      return equals(field, value);
    case Operator::not_equal:
      return negate(equals(field, value));
    case Operator::greater:
      return test_order(field, value, [](int order) { return order > 0; });
    case Operator::less:
      return test_order(field, value, [](int order) { return order < 0; });
    case Operator::greater_or_equal:
      return test_order(field, value, [](int order) { return order >= 0; });
    case Operator::less_or_equal:
      return test_order(field, value, [](int order) { return order <= 0; });
    case Operator::in:
      return value.as_array() != nullptr ? is_among(field, *value.as_array()) : std::nullopt;
    case Operator::not_in:
      return value.as_array() != nullptr ? negate(is_among(field, *value.as_array())) : std::nullopt;
    case Operator::contains:
      return contains(field, value);
    case Operator::starts_with:
      return test_texts(field, value, [](const auto& text, const auto& start) { return text.starts_with(start); });
    case Operator::ends_with:
      return test_texts(field, value, [](const auto& text, const auto& end) { return text.ends_with(end); });
  }
  return std::nullopt;
}

}  // namespace

const Value* find_field(const Value& data, std::string_view field) {
  if (const Value* exact = data.find(field)) return exact;
  // Longest prefix first: inputs carry `node.field` as a single name next to nested objects.
  for (std::size_t dot = field.rfind('.'); dot != std::string_view::npos && dot > 0; dot = field.rfind('.', dot - 1)) {
    if (const Value* inner = data.find(field.substr(0, dot))) {
      if (const Value* found = find_field(*inner, field.substr(dot + 1))) return found;
    }
  }
  return nullptr;
}

ConditionResult evaluate(const model::Condition& condition, const Value& data) {
  const Value* field = find_field(data, condition.field);
  if (field == nullptr || field->is_null()) {
    return {false, fmt::format("there is no field {}", base::quoted(condition.field))};
  }
  const auto result = apply(condition.operator_, *field, condition.value);
  if (result) return {*result, {}};
  return {false, fmt::format("{} is {}, which `{}` cannot compare with {}", base::quoted(condition.field),
                             field->kind(), base::spell(condition.operator_), condition.value.kind())};
}

}  // namespace reeve::engine
