#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agents/protocol/agent_message.h"
#include "base/clock.h"
#include "base/value.h"

// Reads what agents send: nothing is trusted to be there, or to have the right type or a reasonable size.
namespace reeve::agents {

// Ids of sessions, turns, calls and options.
inline constexpr std::size_t max_agent_id = 256;

// Empty if absent, not a string, or longer than an id.
std::string id_text_of(const base::Value& object, std::string_view key);
// A string with an absolute path of at most 4 KiB.
std::optional<std::string> find_absolute_path(const base::Value& object, std::string_view key);
// The members of an object, or none.
const base::Value::Object& members_of(const base::Value& value);
// The elements of a list, or none.
const base::Value::Array& elements_of(const base::Value& value);

// For an event: bounded.
std::string event_text(std::string_view text);
// Of seconds since 1970; nothing for times that no limit can have.
std::optional<base::WallTime> time_of_seconds(std::optional<std::int64_t> seconds);
// "sha256:…" of the canonical JSON, and its size.
struct ValueDigest {
  std::string digest;
  std::int64_t bytes = 0;
};
ValueDigest digest_of(const base::Value& value);

}  // namespace reeve::agents
