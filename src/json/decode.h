#pragma once

#include <concepts>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json/describe.h"

// Decodes data from the database and the network into described types: the inverse of json/describe.h. A missing or
// null member keeps its default; unknown members are ignored, so that data written by a later version can be read. A
// value of the wrong type is an error that names its path.
namespace reeve::json {

template <class T>
std::expected<T, std::string> from_value(const base::Value& value);

namespace detail {

// Errors such as "expected a string"; the path is prepended while unwinding.
class Decoder {
 public:
  const std::string& error() const noexcept { return error_; }

  bool read(const base::Value& value, bool& out) {
    const bool* found = value.as_bool();
    if (found != nullptr) out = *found;
    return found != nullptr || fail("true or false", value);
  }
  bool read(const base::Value& value, double& out) {
    if (const double* number = value.as_number()) {
      out = *number;
    } else if (const std::int64_t* integer = value.as_integer()) {
      out = static_cast<double>(*integer);
    } else {
      return fail("a number", value);
    }
    return true;
  }
  bool read(const base::Value& value, std::string& out) {
    const std::string* found = value.as_string();
    if (found != nullptr) out = *found;
    return found != nullptr || fail("a string", value);
  }
  bool read(const base::Value& value, base::Value& out) {
    out = value;
    return true;
  }
  bool read(const base::Value& value, base::Milliseconds& out) {
    return read_word(value, out, base::parse_duration, base::duration_forms);
  }
  bool read(const base::Value& value, base::TimeLimit& out) {
    return read_word(value, out, base::parse_time_limit, base::duration_forms);
  }
  bool read(const base::Value& value, base::ByteSize& out) {
    return read_word(value, out, base::parse_byte_size, base::size_forms);
  }
  bool read(const base::Value& value, base::WallTime& out) {
    return read_word(value, out, base::parse_time, "a time like 2026-01-31T12:00:00.000Z");
  }

  template <std::integral T>
    requires(!std::same_as<T, bool>)
  bool read(const base::Value& value, T& out) {
    const std::int64_t* found = value.as_integer();
    if (found == nullptr || !std::in_range<T>(*found)) return fail("a whole number", value);
    out = static_cast<T>(*found);
    return true;
  }

  template <base::DescribedEnum E>
  bool read(const base::Value& value, E& out) {
    const std::string* word = value.as_string();
    const auto found = word != nullptr ? base::find_enum<E>(*word) : std::nullopt;
    if (!found) {
      error_ = fmt::format("expected one of {}", fmt::join(base::spellings<E>(), ", "));
      return false;
    }
    out = *found;
    return true;
  }

  template <class Noun>
  bool read(const base::Value& value, base::Id<Noun>& out) {
    return read_word(value, out, base::Id<Noun>::parse, base::Id<Noun>::prefix);
  }

  // A type that files write as one word, the inverse of json/describe.h.
  template <class T>
    requires requires(const T* type) {
      { parse_config_word(std::string_view(), type) } -> std::same_as<std::optional<T>>;
    }
  bool read(const base::Value& value, T& out) {
    return read_word(
        value, out, [](std::string_view word) { return parse_config_word(word, static_cast<const T*>(nullptr)); },
        "one of the accepted values");
  }

  template <class T>
  bool read(const base::Value& value, std::optional<T>& out) {
    out.reset();
    return value.is_null() || read(value, out.emplace());
  }

  template <class T>
  bool read(const base::Value& value, std::optional<base::Id<T>>& out) {
    out.reset();
    return value.is_null() || read(value, out.emplace(0));
  }

  template <class T>
  bool read(const base::Value& value, std::vector<T>& out) {
    const auto* array = value.as_array();
    if (array == nullptr) return fail("a list", value);
    out.clear();
    out.reserve(array->size());
    for (std::size_t i = 0; i < array->size(); ++i) {
      T item{};
      if (!read((*array)[i], item)) return at(fmt::format("[{}]", i));
      out.push_back(std::move(item));
    }
    return true;
  }

  template <class Noun>
  bool read(const base::Value& value, std::vector<base::Id<Noun>>& out) {
    const auto* array = value.as_array();
    if (array == nullptr) return fail("a list", value);
    out.clear();
    for (std::size_t i = 0; i < array->size(); ++i) {
      base::Id<Noun> item(0);
      if (!read((*array)[i], item)) return at(fmt::format("[{}]", i));
      out.push_back(item);
    }
    return true;
  }

  template <class T>
  bool read(const base::Value& value, std::map<std::string, T>& out) {
    const auto* object = value.as_object();
    if (object == nullptr) return fail("an object", value);
    out.clear();
    for (const base::Member& member : *object) {
      if (!read(member.value, out[member.key])) return at(member.key);
    }
    return true;
  }

  template <DescribedStruct T>
  bool read(const base::Value& value, T& out) {
    if (value.as_object() == nullptr) return fail("an object", value);
    bool is_well = true;
    boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
      if (!is_well) return;
      const std::string_view name = base::without_keyword_mark(member.name);
      const base::Value* found = value.find(name);
      if (found == nullptr || found->is_null()) return;
      is_well = read(*found, out.*member.pointer) || at(std::string(name));
    });
    return is_well;
  }

 private:
  template <class T, class Parse>
  bool read_word(const base::Value& value, T& out, Parse parse, std::string_view expected) {
    const std::string* word = value.as_string();
    const auto found = word != nullptr ? parse(*word) : std::nullopt;
    if (!found) return fail(expected, value);
    out = *found;
    return true;
  }

  bool fail(std::string_view expected, const base::Value& found) {
    error_ = fmt::format("expected {}, found {}", expected, found.kind());
    return false;
  }

  bool at(const std::string& place) {
    const bool is_inner = !place_.empty() && place_.front() != '[';
    place_ = place + (is_inner ? "." : "") + place_;
    return false;
  }

 public:
  std::string text() const { return place_.empty() ? error_ : fmt::format("{}: {}", place_, error_); }

 private:
  std::string error_;
  std::string place_;
};

}  // namespace detail

template <class T>
std::expected<T, std::string> from_value(const base::Value& value) {
  detail::Decoder decoder;
  T out{};
  if (!decoder.read(value, out)) return std::unexpected(decoder.text());
  return out;
}

}  // namespace reeve::json
