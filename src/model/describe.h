#pragma once

#include <array>
#include <span>
#include <string_view>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include "base/enum.h"

namespace reeve::model::detail {

template <class E>
constexpr auto make_enum_names() {
  using Enumerators = boost::describe::describe_enumerators<E>;
  std::array<base::EnumName<E>, boost::mp11::mp_size<Enumerators>::value> names{};
  std::size_t i = 0;
  boost::mp11::mp_for_each<Enumerators>(
      [&](auto enumerator) { names[i++] = {enumerator.value, base::without_keyword_mark(enumerator.name)}; });
  return names;
}

template <class E>
inline constexpr auto described_names = make_enum_names<E>();

}  // namespace reeve::model::detail

// Describes an enum of this namespace: the names of its enumerators are its spelling everywhere.
#define REEVE_DESCRIBE_ENUM(E, ...)                                           \
  BOOST_DESCRIBE_ENUM(E, __VA_ARGS__)                                         \
  inline std::span<const ::reeve::base::EnumName<E>> enum_names(E) noexcept { \
    return ::reeve::model::detail::described_names<E>;                        \
  }
