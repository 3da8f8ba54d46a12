#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "model/describe.h"

// The inputs that a workflow declares, and their check before anything starts (GRF-8).
namespace reeve::model {

enum class InputType { string, integer, number, boolean, choice };
REEVE_DESCRIBE_ENUM(InputType, string, integer, number, boolean, choice)

struct WorkflowInput {
  std::string name;
  InputType type = InputType::string;
  std::optional<std::string> description;
  // Used if the input is not given.
  std::optional<base::Value> default_;
  // Unset: required unless there is a default. An input that is neither given nor required does not exist.
  std::optional<bool> required;
  // The accepted values of a choice.
  std::vector<std::string> options;
  // Bounds of an integer or number.
  std::optional<double> min;
  std::optional<double> max;
  // Bounds of a string, in characters.
  std::optional<std::int64_t> min_length;
  std::optional<std::int64_t> max_length;
  friend bool operator==(const WorkflowInput&, const WorkflowInput&) = default;
};
BOOST_DESCRIBE_STRUCT(WorkflowInput, (),
                      (name, type, description, default_, required, options, min, max, min_length, max_length))

bool is_required(const WorkflowInput& input) noexcept;

// The value as the declared type. Text that spells one becomes it, because `--input tries=3` and forms send text.
// Otherwise says what is wrong: "must be a whole number, not `many`".
std::expected<base::Value, std::string> read_input(const WorkflowInput& input, const base::Value& given);

// "integer from 1 to 10", "fast or thorough".
std::string describe_type(const WorkflowInput& input);

struct InputMistake {
  enum class Kind { unknown, missing, bad_value };
  Kind kind = Kind::unknown;
  std::string name;
  std::string message;
  std::string hint;
};

// What to do with values that are not declared.
enum class Undeclared { refuse, drop };

// The declared inputs in their order, with defaults; null counts as not given. Otherwise all mistakes.
std::expected<base::Value, std::vector<InputMistake>> check_inputs(const std::vector<WorkflowInput>& declared,
                                                                   const base::Value& given, Undeclared undeclared);

}  // namespace reeve::model
