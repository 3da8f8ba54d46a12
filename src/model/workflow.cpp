#include "model/workflow.h"

namespace reeve::model {

std::span<const base::EnumName<Operator>> enum_names(Operator) noexcept {
  static constexpr std::array<base::EnumName<Operator>, 11> names = {{
      {Operator::equal, "=="},
      {Operator::not_equal, "!="},
      {Operator::greater, ">"},
      {Operator::less, "<"},
      {Operator::greater_or_equal, ">="},
      {Operator::less_or_equal, "<="},
      {Operator::in, "in"},
      {Operator::not_in, "not_in"},
      {Operator::contains, "contains"},
      {Operator::starts_with, "starts_with"},
      {Operator::ends_with, "ends_with"},
  }};
  return names;
}

}  // namespace reeve::model
