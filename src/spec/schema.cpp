#include "spec/schema.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum.h"
#include "model/policy.h"
#include "model/run.h"
#include "spec/key_help.h"
#include "spec/node_blocks.h"

namespace reeve::spec {

namespace {

using base::Value;
using Kind = ValueForm::Kind;

// The grammar of base/quantity.h.
constexpr std::string_view duration_pattern = "^[0-9]+(ms|s|m|h|d)?$";
constexpr std::string_view time_limit_pattern = "^([0-9]+(ms|s|m|h|d)?|off|never)$";
constexpr std::string_view size_pattern = "^[0-9]+(B|KiB|MiB|GiB|TiB)?$";

Value object_of(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value object = Value::object();
  for (const auto& [key, value] : members) object.set(key, value);
  return object;
}

Value strings_of(const std::vector<std::string>& words) {
  Value list = Value::array();
  for (const std::string& word : words) list.as_array()->push_back(Value::string(word));
  return list;
}

// {"anyOf": […]}
Value any_of(std::vector<Value> forms) { return object_of({{"anyOf", Value::array(std::move(forms))}}); }

Value type_of(std::vector<std::string> names, bool may_be_null) {
  if (may_be_null) names.emplace_back("null");
  return names.size() == 1 ? Value::string(names.front()) : strings_of(names);
}

// A bare number counts in the smallest or usual unit: seconds, bytes.
Value quantity(std::string_view pattern, bool may_be_null) {
  return object_of({{"type", type_of({"integer", "string"}, may_be_null)},
                    {"minimum", Value::integer(0)},
                    {"pattern", Value::string(pattern)}});
}

// A policy, {policy: …, when: {…}}, or {require_approval, when: {…}}.
Value policy_rule() {
  const std::vector<std::string> policies = base::spellings<model::Policy>();
  const Value word = object_of({{"enum", strings_of(policies)}});
  const Value text = object_of({{"type", type_of({"string", "number", "boolean"}, false)}});
  const Value texts = object_of({{"type", Value::string("array")}, {"items", text}, {"minItems", Value::integer(1)}});
  const Value argvs = object_of({{"type", Value::string("array")}, {"items", texts}, {"minItems", Value::integer(1)}});
  const Value sandboxes = object_of({{"enum", strings_of(base::spellings<model::Sandbox>())}});
  const Value sandbox = any_of({sandboxes, object_of({{"type", Value::string("array")}, {"items", sandboxes}})});
  const Value conditions = object_of({{"argv", any_of({texts, argvs})}, {"sandbox", sandbox}});
  const Value when = object_of({{"type", type_of({"object"}, true)},
                                {"properties", conditions},
                                {"additionalProperties", any_of({text, texts})}});
  Value keys = object_of(
      {{"policy", word}, {"when", when}, {"even_if_denied", object_of({{"type", Value::string("boolean")}})}});
  for (const std::string& policy : policies) keys.set(policy, object_of({{"type", Value::string("null")}}));
  const Value rule = object_of({{"type", Value::string("object")},
                                {"properties", std::move(keys)},
                                {"additionalProperties", Value::boolean(false)}});
  return any_of({word, rule});
}

class SchemaWriter {
 public:
  explicit SchemaWriter(FileType type) : type_(type) {}

  // `is_whole`: no other file can add keys to this value.
  Value write(const ValueForm& form, const std::string& path, bool is_whole) const {
    const bool may_be_null = form.may_be_null;
    switch (form.kind) {
      case Kind::text:
        return object_of({{"type", type_of({"string", "number", "boolean"}, may_be_null)}});
      case Kind::boolean:
        return object_of({{"type", type_of({"boolean"}, may_be_null)}});
      case Kind::integer:
        return object_of({{"type", type_of({"integer"}, may_be_null)}});
      case Kind::number:
        return object_of({{"type", type_of({"number"}, may_be_null)}});
      case Kind::duration:
        return quantity(duration_pattern, may_be_null);
      case Kind::time_limit:
        return quantity(time_limit_pattern, may_be_null);
      case Kind::size:
        return quantity(size_pattern, may_be_null);
      case Kind::word: {
        Value words = strings_of(form.words);
        if (may_be_null) words.as_array()->emplace_back();
        return object_of({{"enum", std::move(words)}});
      }
      case Kind::on_prompt:
        return any_of({object_of({{"enum", strings_of({"approve", "fail"})}}),
                       object_of({{"type", Value::string("string")}, {"pattern", Value::string("^answer=")}})});
      case Kind::rules:
        return any_of({policy_rule(), object_of({{"type", Value::string("array")}, {"items", policy_rule()}})});
      case Kind::anything:
        return Value::object();
      case Kind::list:
        return object_of({{"type", type_of({"array"}, may_be_null)},
                          {"items", write(*form.items, path_of_items(form, path), true)}});
      case Kind::map:
        return object_of({{"type", type_of({"object"}, may_be_null)},
                          {"additionalProperties", described(*form.items, path_of_items(form, path), is_whole)}});
      case Kind::block:
        return write_block(form, path, is_whole);
    }
    return Value::object();
  }

 private:
  // With the sentence about the key.
  Value described(const ValueForm& form, const std::string& path, bool is_whole) const {
    Value schema = write(form, path, is_whole);
    if (const auto help = find_key_help(type_, path); !help.empty()) schema.set("description", Value::string(help));
    return schema;
  }

  Value write_block(const ValueForm& form, const std::string& path, bool is_whole) const {
    Value properties = Value::object();
    Value required = Value::array();
    for (const KeyEntry& key : *form.keys) {
      Value schema = described(key.form, path.empty() ? key.name : path + "." + key.name, is_whole);
      if (!key.fallback.is_null()) schema.set("default", key.fallback);
      properties.set(key.name, std::move(schema));
      if (key.is_required && is_whole) required.as_array()->push_back(Value::string(key.name));
    }
    const bool may_be_null = form.may_be_null || !is_whole;
    Value schema = object_of({{"type", type_of({"object"}, may_be_null)},
                              {"properties", std::move(properties)},
                              {"additionalProperties", Value::boolean(false)}});
    if (!required.as_array()->empty()) schema.set("required", std::move(required));
    if (type_ == FileType::workflow && path == "nodes[]") schema.set("allOf", node_rules());
    return schema;
  }

  // A node has the block of its type and no other.
  static Value node_rules() {
    Value rules = Value::array();
    for (const NodeBlock& own : node_blocks) {
      const Value word = object_of({{"const", Value::string(base::spell(own.type))}});
      // Without a type, every condition would hold.
      const Value is_type =
          object_of({{"required", strings_of({"type"})}, {"properties", object_of({{"type", word}})}});
      Value others = Value::object();
      for (const NodeBlock& other : node_blocks) {
        if (other.type != own.type) others.set(other.key, object_of({{"type", Value::string("null")}}));
      }
      Value then = object_of({{"properties", std::move(others)}});
      if (own.is_required) then.set("required", strings_of({std::string(own.key)}));
      rules.as_array()->push_back(object_of({{"if", is_type}, {"then", std::move(then)}}));
    }
    return rules;
  }

  FileType type_;
};

std::string_view title_of(FileType type) {
  switch (type) {
    case FileType::workflow:
      return "Reeve workflow";
    case FileType::pipelines:
      return "Reeve pipelines";
    case FileType::config:
      return "Reeve config";
  }
  return {};
}

}  // namespace

Value make_schema(FileType type) {
  Value schema = object_of({{"$schema", Value::string("http://json-schema.org/draft-07/schema#")},
                            {"title", Value::string(title_of(type))}});
  // The keys of one tool may be spread over your config and the project's; a list is always given as a whole.
  const bool is_whole = type != FileType::config;
  const Value root = SchemaWriter(type).write(file_form(type), "", is_whole);
  for (const base::Member& member : *root.as_object()) schema.set(member.key, member.value);
  return schema;
}

}  // namespace reeve::spec
