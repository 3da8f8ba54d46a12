#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace reeve::base {

// One entry of an object. A template only because a Value contains entries and entries contain a Value.
template <class V>
struct MemberOf {
  std::string key;
  V value;

  friend bool operator==(const MemberOf&, const MemberOf&) = default;
};

// Data whose shape is only known at run time: outputs of nodes, arguments of tool calls, values in conditions. A plain
// value; members keep their order.
struct Value {
  using Null = std::monostate;
  using Array = std::vector<Value>;
  using Object = std::vector<MemberOf<Value>>;
  using Data = std::variant<Null, bool, std::int64_t, double, std::string, Array, Object>;

  Data data;

  Value() noexcept;
  ~Value();
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;

  // Named constructors, so that a pointer or an integer of another width never becomes a bool by accident.
  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  static Value number(double value);
  static Value string(std::string_view value);
  static Value array(Array value = {});
  static Value object(Object value = {});

  bool is_null() const noexcept { return std::holds_alternative<Null>(data); }
  const bool* as_bool() const noexcept { return std::get_if<bool>(&data); }
  const std::int64_t* as_integer() const noexcept { return std::get_if<std::int64_t>(&data); }
  const double* as_number() const noexcept { return std::get_if<double>(&data); }
  const std::string* as_string() const noexcept { return std::get_if<std::string>(&data); }
  const Array* as_array() const noexcept { return std::get_if<Array>(&data); }
  const Object* as_object() const noexcept { return std::get_if<Object>(&data); }
  Array* as_array() noexcept { return std::get_if<Array>(&data); }
  Object* as_object() noexcept { return std::get_if<Object>(&data); }

  // The member with that name, or nullptr if this is not an object or has no such member.
  const Value* find(std::string_view key) const noexcept;
  // Appends to an object; the key must not exist yet.
  Value& set(std::string_view key, Value value);

  // "a string", "a list": for messages.
  std::string_view kind() const noexcept;

  friend bool operator==(const Value&, const Value&) noexcept;
};

using Member = MemberOf<Value>;

}  // namespace reeve::base
