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

constexpr auto area_names = std::to_array<std::string_view>({"file.", "state.", "store."});

}  // namespace

std::span<const ErrorRow> error_rows() noexcept { return rows; }

const ErrorRow& row_of(ErrorCode code) noexcept { return rows[static_cast<std::size_t>(code)]; }

const ErrorRow* find_row(std::string_view spelling) noexcept {
  const auto found = std::ranges::find(rows, spelling, &ErrorRow::spelling);
  return found != rows.end() ? &*found : nullptr;
}

bool AnyErrorCode::is_in(ErrorArea area) const noexcept {
  return text_.starts_with(area_names[static_cast<std::size_t>(area)]);
}

}  // namespace reeve::base
