#include "engine/inputs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/condition.h"

namespace reeve::engine {

namespace {

using base::Member;
using base::Value;
using graph::Graph;

Value* find_member(Value& object, std::string_view key) {
  for (Member& member : *object.as_object()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

// Returns true if the name had another value.
bool put(Value& object, std::string_view key, const Value& value) {
  if (Value* old = find_member(object, key)) {
    const bool differs = *old != value;
    *old = value;
    return differs;
  }
  object.set(key, value);
  return false;
}

void deliver(const Graph& graph, graph::NodeIndex node, const Delivery& delivery, Value& inputs,
             std::vector<Note>& notes) {
  const std::string& source = graph.edge(delivery.edge).source;
  const Value::Object* object = delivery.value.as_object();
  if (object == nullptr) {
    put(inputs, source, delivery.value);
    return;
  }
  for (const Member& member : *object) {
    const bool has_node = member.key.find('.') != std::string::npos;
    if (put(inputs, member.key, member.value) && !has_node) {
      notes.push_back({Note::Kind::field_collision, node,
                       fmt::format("{} of {} overrides the value from an earlier edge", base::quoted(member.key),
                                   base::quoted(source))});
    }
    if (!has_node) put(inputs, fmt::format("{}.{}", source, member.key), member.value);
  }
}

Value keep_common(const std::vector<Delivery>& deliveries) {
  Value common = Value::object();
  if (deliveries.empty() || deliveries.back().value.as_object() == nullptr) return common;
  for (const Member& member : *deliveries.back().value.as_object()) {
    const bool is_everywhere = std::ranges::all_of(
        deliveries, [&](const Delivery& delivery) { return delivery.value.find(member.key) != nullptr; });
    if (is_everywhere) common.set(member.key, member.value);
  }
  return common;
}

}  // namespace

Value map_fields(const Value& value, const std::map<std::string, std::string>& mapping) {
  if (mapping.empty()) return value;
  Value mapped = Value::object();
  for (const auto& [target, source] : mapping) {
    const Value* field = find_field(value, source);
    mapped.set(target, field != nullptr ? *field : Value());
  }
  return mapped;
}

Value map_output(const Graph& graph, graph::EdgeIndex edge, const Value& output) {
  return map_fields(output, graph.edge(edge).data_mapping);
}

Value collect_inputs(const Graph& graph, graph::NodeIndex node, const Value& seeds, std::vector<Delivery> deliveries,
                     std::vector<Note>& notes) {
  std::ranges::sort(deliveries, {}, &Delivery::edge);
  Value inputs = Value::object();
  if (const Value::Object* object = seeds.as_object()) {
    for (const Member& member : *object) put(inputs, member.key, member.value);
  } else if (!seeds.is_null()) {
    inputs.set("input", seeds);
  }
  for (const Delivery& delivery : deliveries) deliver(graph, node, delivery, inputs, notes);
  return inputs;
}

Value merge_inputs(const Graph& graph, graph::NodeIndex node, std::vector<Delivery> deliveries,
                   std::vector<Note>& notes) {
  const auto& config = graph.node(node).merge_config;
  const model::MergeStrategy strategy = config ? config->merge_strategy : model::MergeStrategy::union_;
  std::ranges::sort(deliveries, {}, &Delivery::edge);
  if (strategy == model::MergeStrategy::intersection) return keep_common(deliveries);
  if (strategy == model::MergeStrategy::first && !deliveries.empty()) {
    const Delivery first = *std::ranges::min_element(deliveries, {}, &Delivery::order);
    deliveries = {first};
  }
  return collect_inputs(graph, node, {}, std::move(deliveries), notes);
}

Value with_fields(Value passed, const Value& own) {
  if (passed.as_object() == nullptr) passed = Value::object();
  if (const Value::Object* fields = own.as_object()) {
    for (const Member& member : *fields) put(passed, member.key, member.value);
  }
  return passed;
}

}  // namespace reeve::engine
