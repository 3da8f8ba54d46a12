#pragma once

#include <optional>
#include <string_view>

#include "model/token.h"
#include "server/http.h"

// What a caller needs for each request: one table.
namespace reeve::server {

struct Access {
  // Nothing: open to all, without a credential.
  std::optional<model::Scope> scope;
};

// Of a route, by its method and pattern ("POST", "/api/runs/*/cancel"). Reading that the table does not name needs
// `read`; a change that it does not name is none's: nothing.
std::optional<Access> access_of(std::string_view method, std::string_view pattern) noexcept;

// Throws `api.forbidden` when the caller may not use that route. The owner of the unix socket may use all.
void require_access(const Request& request, std::string_view pattern);

}  // namespace reeve::server
