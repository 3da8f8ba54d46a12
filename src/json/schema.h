#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "json/describe.h"

// Described types as JSON Schema 2020-12: the shape that json/describe.h writes and json/decode.h reads, so that no
// field is described twice.
namespace reeve::json {

// {"type": "string"}, with a pattern if one is given.
base::Value string_schema(std::string_view pattern = {});
// {"type": "string", "enum": […]}
base::Value word_schema(const std::vector<std::string>& words);
base::Value array_schema(base::Value items);
// {"$ref": "#/components/schemas/NAME"}
base::Value reference_schema(std::string_view name);
// The object with one more member.
base::Value extended(base::Value object, std::string_view key, base::Value value);
// The same schema, or null.
base::Value nullable_schema(base::Value schema);
// An object with these members, in their order; those in `required` are mandatory.
base::Value object_schema(base::Value::Object properties, const std::vector<std::string>& required);

namespace detail {

// "Run" of reeve::model::Run.
template <class T>
constexpr std::string_view short_type_name() {
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("T = ") + 4);
  name.remove_suffix(name.size() - name.find_first_of(";]"));
  return name.substr(name.rfind(':') + 1);
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class T, class Less>
inline constexpr bool is_map<std::map<std::string, T, Less>> = true;
template <class T>
inline constexpr bool is_id = false;
template <class Noun>
inline constexpr bool is_id<base::Id<Noun>> = true;

template <class T>
concept ConfigWord = requires(const T& value) {
  { format_config_word(value) } -> std::same_as<std::string>;
};

}  // namespace detail

// Schemas of described structs by the short names of their types, each defined once. Two types with the same short name
// must not be used in one set.
class Schemas {
 public:
  // For responses: every member is present. A struct becomes a reference to its name.
  template <class T>
  base::Value of() {
    if constexpr (DescribedStruct<T>) {
      const std::string name(detail::short_type_name<T>());
      if (!named_.contains(name)) {
        // Registered first, because a type may contain itself.
        named_.emplace(name, base::Value());
        named_[name] = members_of<T>(nullptr);
      }
      return reference_schema(name);
    } else {
      return of_value<T>();
    }
  }

  // For requests: only `required` members are mandatory; null means absent.
  template <DescribedStruct T>
  base::Value of_request(const std::vector<std::string>& required) {
    const std::string name(detail::short_type_name<T>());
    named_[name] = members_of<T>(&required);
    return reference_schema(name);
  }

  // Adds a custom schema under the given name.
  base::Value add(std::string_view name, base::Value schema);
  // The schema behind a reference, or the schema itself.
  const base::Value& resolve(const base::Value& schema) const;
  // A variant of a record under a new name: without some members, or with additional ones.
  base::Value without(const base::Value& record, std::string_view name, const std::vector<std::string>& left_out);
  base::Value with(const base::Value& record, std::string_view name, base::Value::Object more);
  // The object, or the one that it refers to, closed to additional members.
  base::Value closed(const base::Value& object);

  const std::map<std::string, base::Value, std::less<>>& named() const noexcept { return named_; }

 private:
  template <class T>
  base::Value of_value() {
    if constexpr (std::same_as<T, bool>) {
      return typed("boolean");
    } else if constexpr (std::integral<T>) {
      return typed("integer");
    } else if constexpr (std::floating_point<T>) {
      return typed("number");
    } else if constexpr (std::same_as<T, std::string>) {
      return string_schema();
    } else if constexpr (std::same_as<T, base::Value>) {
      // Any value.
      return base::Value::object();
    } else if constexpr (std::same_as<T, base::Milliseconds>) {
      return string_schema("^[0-9]+(ms|s|m|h|d)?$");
    } else if constexpr (std::same_as<T, base::TimeLimit>) {
      return string_schema("^([0-9]+(ms|s|m|h|d)?|off|never)$");
    } else if constexpr (std::same_as<T, base::ByteSize>) {
      return string_schema("^[0-9]+(KiB|MiB|GiB|TiB)?$");
    } else if constexpr (std::same_as<T, base::WallTime>) {
      return extended(typed("string"), "format", base::Value::string("date-time"));
    } else if constexpr (base::DescribedEnum<T>) {
      return word_schema(base::spellings<T>());
    } else if constexpr (detail::is_id<T>) {
      return string_schema("^" + std::string(T::prefix) + "-[1-9][0-9]*$");
    } else if constexpr (detail::is_optional<T>) {
      return nullable_schema(of<typename T::value_type>());
    } else if constexpr (detail::is_vector<T>) {
      return array_schema(of<typename T::value_type>());
    } else if constexpr (detail::is_map<T>) {
      return extended(typed("object"), "additionalProperties", of<typename T::mapped_type>());
    } else {
      static_assert(detail::ConfigWord<T>, "no schema is known for this type");
      return string_schema();
    }
  }

  // `required` is null for responses, in which all members are mandatory.
  template <DescribedStruct T>
  base::Value members_of(const std::vector<std::string>* required) {
    base::Value::Object properties;
    std::vector<std::string> needed;
    boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
      using Member = std::remove_cvref_t<decltype(std::declval<T>().*member.pointer)>;
      const std::string name(base::without_keyword_mark(member.name));
      const bool must_be = required == nullptr || is_among(*required, name);
      base::Value schema = of<Member>();
      properties.push_back({name, must_be ? std::move(schema) : nullable_schema(std::move(schema))});
      if (must_be) needed.push_back(name);
    });
    return object_schema(std::move(properties), needed);
  }

  static base::Value typed(std::string_view type);
  static bool is_among(const std::vector<std::string>& names, const std::string& name);

  std::map<std::string, base::Value, std::less<>> named_;
};

}  // namespace reeve::json
