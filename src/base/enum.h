#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// One description of an enum serves C++, JSON, YAML and SQL. A described enum has a function, found by ADL,
//   std::span<const EnumName<E>> enum_names(E);
// which model/describe.h generates from the list of enumerators.
namespace reeve::base {

// An enumerator that would be a C++ keyword ends in `_` in the source (`union_`, `operator_`); its spelling does not.
constexpr std::string_view without_keyword_mark(std::string_view name) noexcept {
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

template <class E>
struct EnumName {
  E value;
  std::string_view name;
};

template <class E>
concept DescribedEnum = requires(E value) {
  { enum_names(value) } -> std::same_as<std::span<const EnumName<E>>>;
};

template <DescribedEnum E>
std::span<const EnumName<E>> names_of() noexcept {
  return enum_names(E{});
}

// The spelling on the wire, in the database and in files.
template <DescribedEnum E>
std::string_view spell(E value) noexcept {
  for (const EnumName<E>& entry : names_of<E>()) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

template <DescribedEnum E>
std::optional<E> find_enum(std::string_view name) noexcept {
  for (const EnumName<E>& entry : names_of<E>()) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

template <DescribedEnum E>
std::vector<std::string> spellings() {
  std::vector<std::string> result;
  for (const EnumName<E>& entry : names_of<E>()) result.emplace_back(entry.name);
  return result;
}

// "'queued', 'running', …": for the column's CHECK constraint. The names come from the source, never from input.
template <DescribedEnum E>
std::string sql_names() {
  std::string result;
  for (const EnumName<E>& entry : names_of<E>()) {
    if (!result.empty()) result += ", ";
    result += '\'';
    result += entry.name;
    result += '\'';
  }
  return result;
}

}  // namespace reeve::base
