#include "base/value.h"

#include <array>

#include "base/error.h"

namespace reeve::base {

Value::Value() noexcept = default;
Value::~Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;

namespace {

Value make(Value::Data data) {
  Value value;
  value.data = std::move(data);
  return value;
}

}  // namespace

Value Value::boolean(bool value) { return make(value); }
Value Value::integer(std::int64_t value) { return make(value); }
Value Value::number(double value) { return make(value); }
Value Value::string(std::string_view value) { return make(std::string(value)); }
Value Value::array(Array value) { return make(std::move(value)); }
Value Value::object(Object value) { return make(std::move(value)); }

const Value* Value::find(std::string_view key) const noexcept {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  for (const Member& member : *object) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

Value& Value::set(std::string_view key, Value value) {
  Object* object = as_object();
  REEVE_ASSERT(object != nullptr);
  return object->emplace_back(Member{std::string(key), std::move(value)}).value;
}

std::string_view Value::kind() const noexcept {
  static constexpr std::array<std::string_view, 7> names = {"nothing",  "true or false", "a whole number", "a number",
                                                            "a string", "a list",        "an object"};
  return names[data.index()];
}

bool operator==(const Value& left, const Value& right) noexcept { return left.data == right.data; }

}  // namespace reeve::base
