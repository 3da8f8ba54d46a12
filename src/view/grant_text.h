#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/grant.h"
#include "view/style.h"
#include "view/table.h"

// Standing grants as text for people.
namespace reeve::view {

// "TR-7", "EX-9", or the project.
std::string grant_scope(const model::Grant& grant);
// "active", "expired" or "revoked", at this time.
std::string_view grant_status(const model::Grant& grant, base::WallTime at) noexcept;

// A listing. `now` decides what is in force; with `for_terminal`, times are relative to it.
enum class TimeForm { for_terminal, for_pipe };
Table grants_table(const std::vector<model::Grant>& grants, const Style& style, base::WallTime now, TimeForm form);
// One grant in full, one field per line.
std::string grant_details(const model::Grant& grant, const Style& style, base::WallTime now, TimeForm form);

}  // namespace reeve::view
