#include "json/schema.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace reeve::json {

using base::Value;

namespace {

constexpr std::string_view reference_start = "#/components/schemas/";

Value names(const std::vector<std::string>& words) {
  Value::Array array;
  for (const std::string& word : words) array.push_back(Value::string(word));
  return Value::array(std::move(array));
}

Value* find_member(Value& object, std::string_view key) {
  for (base::Member& member : *object.as_object()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

}  // namespace

Value extended(Value object, std::string_view key, Value value) {
  object.set(key, std::move(value));
  return object;
}

Value string_schema(std::string_view pattern) {
  Value schema = Value::object();
  schema.set("type", Value::string("string"));
  if (!pattern.empty()) schema.set("pattern", Value::string(pattern));
  return schema;
}

Value word_schema(const std::vector<std::string>& words) { return extended(string_schema(), "enum", names(words)); }

Value array_schema(Value items) {
  Value schema = Value::object();
  schema.set("type", Value::string("array"));
  schema.set("items", std::move(items));
  return schema;
}

Value reference_schema(std::string_view name) {
  return extended(Value::object(), "$ref", Value::string(std::string(reference_start) + std::string(name)));
}

Value nullable_schema(Value schema) {
  Value* type = find_member(schema, "type");
  if (type != nullptr && type->as_string() != nullptr) {
    *type = Value::array({*type, Value::string("null")});
    if (Value* words = find_member(schema, "enum")) words->as_array()->emplace_back();
    return schema;
  }
  // A schema with several types already includes null, and an empty schema allows anything.
  if (type != nullptr || schema.as_object()->empty() || schema.find("anyOf") != nullptr) return schema;
  Value null = Value::object();
  null.set("type", Value::string("null"));
  return extended(Value::object(), "anyOf", Value::array({std::move(schema), std::move(null)}));
}

Value object_schema(Value::Object properties, const std::vector<std::string>& required) {
  Value schema = Value::object();
  schema.set("type", Value::string("object"));
  schema.set("properties", Value::object(std::move(properties)));
  if (!required.empty()) schema.set("required", names(required));
  return schema;
}

Value Schemas::typed(std::string_view type) { return extended(Value::object(), "type", Value::string(type)); }

bool Schemas::is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Value Schemas::add(std::string_view name, Value schema) {
  named_.insert_or_assign(std::string(name), std::move(schema));
  return reference_schema(name);
}

const Value& Schemas::resolve(const Value& schema) const {
  const Value* reference = schema.find("$ref");
  if (reference == nullptr) return schema;
  const auto found = named_.find(reference->as_string()->substr(reference_start.size()));
  REEVE_ASSERT(found != named_.end());
  return found->second;
}

Value Schemas::without(const Value& record, std::string_view name, const std::vector<std::string>& left_out) {
  Value copy = resolve(record);
  std::erase_if(*find_member(copy, "properties")->as_object(),
                [&](const base::Member& member) { return is_among(left_out, member.key); });
  std::erase_if(*find_member(copy, "required")->as_array(),
                [&](const Value& word) { return is_among(left_out, *word.as_string()); });
  return add(name, std::move(copy));
}

Value Schemas::with(const Value& record, std::string_view name, Value::Object more) {
  Value copy = resolve(record);
  for (base::Member& member : more) {
    find_member(copy, "required")->as_array()->push_back(Value::string(member.key));
    find_member(copy, "properties")->as_object()->push_back(std::move(member));
  }
  return add(name, std::move(copy));
}

Value Schemas::closed(const Value& object) {
  Value copy = resolve(object);
  if (find_member(copy, "properties") == nullptr) return object;
  copy.set("additionalProperties", Value::boolean(false));
  const Value* reference = object.find("$ref");
  return reference != nullptr ? add(reference->as_string()->substr(reference_start.size()), std::move(copy)) : copy;
}

}  // namespace reeve::json
