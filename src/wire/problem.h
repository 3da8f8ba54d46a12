#pragma once

#include <string_view>

#include "base/error.h"
#include "base/problem.h"
#include "base/value.h"

// Problem documents (RFC 9457): the machine form of every error, the same from the API and from `--json`.
namespace reeve::wire {

// Problems in user input; `code` names the whole (`flow.invalid`), `errors` lists each problem.
base::Value problem_document(base::ErrorCode code, std::string_view title, const base::Problems& problems);
base::Value problem_document(const base::Error& error);

// 500 for a code that this version does not know.
int http_status(const base::Error& error) noexcept;

// Only the problems, as a list.
base::Value problem_list(const base::Problems& problems);

}  // namespace reeve::wire
