#include "runtime/tools/tool_host.h"
#include "runtime/tools/tool_table.h"

namespace reeve::runtime {

namespace {

using base::Value;

Value make_property(const ToolArgument& argument) {
  Value property = Value::object();
  const auto set_string_limits = [&](Value& schema) {
    schema.set("type", Value::string("string"));
    schema.set("maxLength", Value::integer(static_cast<std::int64_t>(argument.max_bytes)));
  };
  switch (argument.kind) {
    case ArgumentKind::text:
      set_string_limits(property);
      break;
    case ArgumentKind::flag:
      property.set("type", Value::string("boolean"));
      break;
    case ArgumentKind::number:
      property.set("type", Value::string("integer"));
      property.set("minimum", Value::integer(argument.min));
      property.set("maximum", Value::integer(argument.max));
      break;
    case ArgumentKind::texts:
      property.set("type", Value::string("array"));
      set_string_limits(property.set("items", Value::object()));
      property.set("minItems", Value::integer(1));
      property.set("maxItems", Value::integer(static_cast<std::int64_t>(max_listed_texts)));
      break;
  }
  property.set("description", Value::string(argument.description));
  return property;
}

// No `oneOf` for shell_execute: several model APIs refuse schemas with a combinator at the top.
Value make_schema(const ToolShape& tool) {
  Value properties = Value::object();
  Value::Array required;
  for (const ToolArgument& argument : tool.arguments) {
    properties.set(argument.name, make_property(argument));
    if (argument.is_required) required.push_back(Value::string(argument.name));
  }
  Value schema = Value::object();
  schema.set("type", Value::string("object"));
  schema.set("properties", std::move(properties));
  if (!required.empty()) schema.set("required", Value::array(std::move(required)));
  schema.set("additionalProperties", Value::boolean(false));
  return schema;
}

}  // namespace

const std::vector<wire::HostedTool>& hosted_tools() {
  static const std::vector<wire::HostedTool> tools = [] {
    std::vector<wire::HostedTool> made;
    for (const ToolShape& tool : tool_table()) {
      made.push_back({std::string(tool.name), std::string(tool.description), make_schema(tool)});
    }
    return made;
  }();
  return tools;
}

bool is_hosted(std::string_view tool) noexcept { return find_tool_shape(tool) != nullptr; }

}  // namespace reeve::runtime
