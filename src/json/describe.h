#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include "base/clock.h"
#include "base/enum.h"
#include "base/id.h"
#include "base/quantity.h"
#include "base/value.h"

// Encodes described types (BOOST_DESCRIBE_STRUCT, described enums) as data, so that no field is listed twice.
namespace reeve::json {

// How to encode members that have their default value.
enum class Defaults {
  show,
  // Omit them, so that a field added by a later version does not change what was encoded before.
  omit,
};

template <class T>
concept DescribedStruct = boost::describe::has_describe_members<T>::value && !std::is_union_v<T>;

// Members of base classes come first.
template <class T>
using MembersOf = boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;

template <class T>
base::Value to_value(const T& value, Defaults defaults = Defaults::show);

namespace detail {

inline base::Value encode_one(bool value, Defaults) { return base::Value::boolean(value); }
inline base::Value encode_one(double value, Defaults) { return base::Value::number(value); }
inline base::Value encode_one(const std::string& value, Defaults) { return base::Value::string(value); }
inline base::Value encode_one(const base::Value& value, Defaults) { return value; }
inline base::Value encode_one(base::Milliseconds value, Defaults) {
  return base::Value::string(base::format_duration(value));
}
inline base::Value encode_one(base::TimeLimit value, Defaults) {
  return base::Value::string(base::format_time_limit(value));
}
inline base::Value encode_one(base::ByteSize value, Defaults) {
  return base::Value::string(base::format_byte_size(value));
}
inline base::Value encode_one(base::WallTime value, Defaults) { return base::Value::string(base::format_time(value)); }

// A type that files write as one word, given by a function of its namespace.
template <class T>
  requires requires(const T& value) {
    { format_config_word(value) } -> std::same_as<std::string>;
  }
base::Value encode_one(const T& value, Defaults) {
  return base::Value::string(format_config_word(value));
}

template <std::integral T>
  requires(!std::same_as<T, bool>)
base::Value encode_one(T value, Defaults) {
  return base::Value::integer(static_cast<std::int64_t>(value));
}

template <base::DescribedEnum E>
base::Value encode_one(E value, Defaults) {
  return base::Value::string(base::spell(value));
}

template <class Noun>
base::Value encode_one(base::Id<Noun> id, Defaults) {
  return base::Value::string(id.text());
}

template <class T>
base::Value encode_one(const std::optional<T>& value, Defaults defaults) {
  return value ? to_value(*value, defaults) : base::Value();
}

template <class T>
base::Value encode_one(const std::vector<T>& values, Defaults defaults) {
  base::Value::Array array;
  array.reserve(values.size());
  for (const T& value : values) array.push_back(to_value(value, defaults));
  return base::Value::array(std::move(array));
}

template <class T, class Less>
base::Value encode_one(const std::map<std::string, T, Less>& values, Defaults defaults) {
  base::Value object = base::Value::object();
  for (const auto& [key, value] : values) object.set(key, to_value(value, defaults));
  return object;
}

template <DescribedStruct T>
base::Value encode_one(const T& value, Defaults defaults) {
  static const T fresh{};
  base::Value object = base::Value::object();
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
    if (defaults == Defaults::omit && value.*member.pointer == fresh.*member.pointer) return;
    object.set(base::without_keyword_mark(member.name), to_value(value.*member.pointer, defaults));
  });
  return object;
}

}  // namespace detail

template <class T>
base::Value to_value(const T& value, Defaults defaults) {
  return detail::encode_one(value, defaults);
}

}  // namespace reeve::json
