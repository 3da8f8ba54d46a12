#include "base/error_code.h"

#include <algorithm>
#include <array>

namespace reeve::base {

namespace {

constexpr auto rows = std::to_array<ErrorRow>({
#define REEVE_ERROR(area, word, status, exit, means) \
  {ErrorCode::area##_##word, #area "." #word, (status) == 0 ? 500 : (status), exit},
#include "base/errors.def"
});

}  // namespace

std::span<const ErrorRow> error_rows() noexcept { return rows; }

const ErrorRow& row_of(ErrorCode code) noexcept { return rows[static_cast<std::size_t>(code)]; }

const ErrorRow* find_row(std::string_view spelling) noexcept {
  const auto found = std::ranges::find(rows, spelling, &ErrorRow::spelling);
  return found != rows.end() ? &*found : nullptr;
}

}  // namespace reeve::base
