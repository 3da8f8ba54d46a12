#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"

// Reads the messages of agents: JSON of another program, in which any member can be missing or of any type.
namespace reeve::agents {

// Of an id or a name that an agent makes up.
inline constexpr std::size_t max_agent_name = 256;

// Nothing if it is not JSON within the limits. Invalid UTF-8 and single halves of surrogate pairs, which programs in
// JavaScript write when they cut a text, are replaced.
std::optional<base::Value> parse_message(std::string_view text);

// The member, or null.
const base::Value& member_of(const base::Value& value, std::string_view key);
// Text of 1 to `max_agent_name` bytes.
std::optional<std::string> name_of(const base::Value& value, std::string_view key);
// A count of tokens: 0 if it is missing, negative or not a number; at most 10^12, so that sums cannot overflow.
std::int64_t count_of(const base::Value& value, std::string_view key);
bool is_true(const base::Value& value, std::string_view key);

// Valid UTF-8 of at most `max_event_text` bytes.
std::string bounded_text(std::string_view text);
// CallEnded::digest of a result.
std::string result_digest(std::string_view text);

}  // namespace reeve::agents
