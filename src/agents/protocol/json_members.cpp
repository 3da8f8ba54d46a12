#include "agents/protocol/json_members.h"

#include <algorithm>
#include <chrono>

#include "agents/protocol/agent_protocol.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_path = 4096;
// The year 2100.
constexpr std::int64_t max_seconds = 4'102'444'800;

}  // namespace

std::string id_text_of(const Value& object, std::string_view key) {
  const std::string* text = member_of(object, key).as_string();
  return text != nullptr && text->size() <= max_agent_id ? *text : std::string();
}

std::optional<std::string> find_absolute_path(const Value& object, std::string_view key) {
  const std::string* text = member_of(object, key).as_string();
  const bool is_path = text != nullptr && text->starts_with('/') && text->size() <= max_path;
  return is_path ? std::optional(*text) : std::nullopt;
}

const Value::Object& members_of(const Value& value) {
  static const Value::Object none;
  const Value::Object* members = value.as_object();
  return members != nullptr ? *members : none;
}

const Value::Array& elements_of(const Value& value) {
  static const Value::Array none;
  const Value::Array* elements = value.as_array();
  return elements != nullptr ? *elements : none;
}

std::string event_text(std::string_view text) {
  return base::replace_invalid_utf8(base::truncate_utf8(text, max_event_text));
}

std::optional<base::WallTime> time_of_seconds(std::optional<std::int64_t> seconds) {
  if (!seconds || *seconds <= 0 || *seconds > max_seconds) return std::nullopt;
  return base::WallTime(std::chrono::seconds(*seconds));
}

ValueDigest digest_of(const Value& value) {
  const std::string text = json::encode_canonical(value);
  return {.digest = "sha256:" + base::sha256_hex(text), .bytes = static_cast<std::int64_t>(text.size())};
}

}  // namespace reeve::agents
