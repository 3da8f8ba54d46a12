#include "json/parse.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

#include "base/text.h"

namespace reeve::json {

namespace {

using base::Value;
using boost::json::error_code;
using boost::json::string_view;

enum class Failure { duplicate_key = 1, too_many_values };

class FailureCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "reeve.json"; }
  std::string message(int code) const override {
    return code == static_cast<int>(Failure::duplicate_key) ? "duplicate key" : "too many values";
  }
};

const FailureCategory failure_category;

error_code make_error(Failure failure) { return {static_cast<int>(failure), failure_category}; }

// Builds a Value from the events of Boost's parser; the depth is bounded by the parser itself.
class Builder {
 public:
  constexpr static std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  constexpr static std::size_t max_array_size = max_object_size;
  constexpr static std::size_t max_key_size = max_object_size;
  constexpr static std::size_t max_string_size = max_object_size;

  explicit Builder(std::size_t values) : values_left_(values) {}

  Value take() { return std::move(root_); }
  const std::string& duplicate() const { return key_; }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code& ec) { return open(Value::object(), ec); }
  bool on_object_end(std::size_t, error_code&) { return close(); }
  bool on_array_begin(error_code& ec) { return open(Value::array(), ec); }
  bool on_array_end(std::size_t, error_code&) { return close(); }
  bool on_key_part(string_view part, std::size_t, error_code&) { return append(key_, part); }
  bool on_key(string_view part, std::size_t, error_code& ec) {
    append(key_, part);
    if (is_new_key()) return true;
    ec = make_error(Failure::duplicate_key);
    return false;
  }
  bool on_string_part(string_view part, std::size_t, error_code&) { return append(text_, part); }
  bool on_string(string_view part, std::size_t, error_code& ec) {
    append(text_, part);
    return add(Value::string(std::exchange(text_, {})), ec);
  }
  bool on_number_part(string_view part, error_code&) { return append(text_, part); }
  bool on_int64(std::int64_t number, string_view, error_code& ec) {
    text_.clear();
    return add(Value::integer(number), ec);
  }
  bool on_uint64(std::uint64_t number, string_view, error_code& ec) {
    text_.clear();
    return add(Value::number(static_cast<double>(number)), ec);
  }
  // Boost 1.81 does not always round to the nearest double; stored numbers must be read back unchanged.
  bool on_double(double number, string_view part, error_code& ec) {
    append(text_, part);
    const std::string digits = std::exchange(text_, {});
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return add(Value::number(number), ec);
  }
  bool on_bool(bool value, error_code& ec) { return add(Value::boolean(value), ec); }
  bool on_null(error_code& ec) { return add(Value(), ec); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

 private:
  struct Level {
    Value value;
    // The key of this value in the enclosing object.
    std::string key;
    // Filled only for large objects; a few keys are compared one by one.
    std::unordered_set<std::string> keys;
  };
  static constexpr std::size_t few_keys = 16;

  static bool append(std::string& text, string_view part) {
    text.append(part.data(), part.size());
    return true;
  }

  bool is_new_key() {
    Level& level = levels_.back();
    const Value::Object& members = *level.value.as_object();
    if (members.size() < few_keys) {
      return std::ranges::none_of(members, [&](const base::Member& member) { return member.key == key_; });
    }
    if (level.keys.empty()) {
      for (const base::Member& member : members) level.keys.insert(member.key);
    }
    return level.keys.insert(key_).second;
  }

  bool open(Value value, error_code& ec) {
    if (!count(ec)) return false;
    levels_.push_back({std::move(value), std::exchange(key_, {}), {}});
    return true;
  }

  bool close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    key_ = std::move(level.key);
    place(std::move(level.value));
    return true;
  }

  bool add(Value value, error_code& ec) {
    if (!count(ec)) return false;
    place(std::move(value));
    return true;
  }

  bool count(error_code& ec) {
    if (values_left_ > 0) {
      --values_left_;
      return true;
    }
    ec = make_error(Failure::too_many_values);
    return false;
  }

  void place(Value value) {
    if (levels_.empty()) {
      root_ = std::move(value);
    } else if (Value::Array* array = levels_.back().value.as_array()) {
      array->push_back(std::move(value));
    } else {
      levels_.back().value.as_object()->push_back({std::exchange(key_, {}), std::move(value)});
    }
  }

  std::size_t values_left_;
  Value root_;
  std::vector<Level> levels_;
  std::string key_;
  std::string text_;
};

ParseError error_at(std::string_view text, std::size_t offset, std::string message) {
  const base::TextPosition position = base::position_of(text, offset);
  return {std::move(message), position.line, position.column};
}

std::string describe(const error_code& ec, const Builder& builder, const ParseLimits& limits) {
  if (ec == make_error(Failure::duplicate_key)) {
    return fmt::format("duplicate key {}", base::quoted(builder.duplicate()));
  }
  if (ec == make_error(Failure::too_many_values)) return fmt::format("more than {} values", limits.values);
  if (ec == boost::json::error::too_deep) return fmt::format("nested deeper than {} levels", limits.depth);
  if (ec == boost::json::error::incomplete) return "the text ends in the middle of a value";
  return ec.message();
}

}  // namespace

std::string ParseError::text() const { return fmt::format("line {}, column {}: {}", line, column, message); }

std::expected<Value, ParseError> parse(std::string_view text, const ParseLimits& limits) {
  if (text.size() > limits.bytes) {
    return std::unexpected(ParseError{fmt::format("larger than {} bytes", limits.bytes)});
  }
  boost::json::parse_options options;
  options.max_depth = limits.depth;
  boost::json::basic_parser<Builder> parser(options, limits.values);
  error_code ec;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && used < text.size()) ec = boost::json::error::extra_data;
  if (ec) return std::unexpected(error_at(text, used, describe(ec, parser.handler(), limits)));
  return parser.handler().take();
}

}  // namespace reeve::json
