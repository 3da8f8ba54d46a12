#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/describe.h"

// API tokens and their scopes.
namespace reeve::model {

// Every other scope includes `read`; `admin` includes all.
enum class Scope { read, operate, approve, admin };
REEVE_DESCRIBE_ENUM(Scope, read, operate, approve, admin)

bool allows(std::span<const Scope> given, Scope needed) noexcept;

// A token's record, without the secret. Actions are recorded under its name (APR-12), so names are never reused.
struct Token {
  std::string name;
  std::vector<Scope> scopes;
  base::WallTime created_at;
  std::string created_by;
  // Unset: valid until revoked.
  std::optional<base::WallTime> expires_at;
  // Updated at most once a minute.
  std::optional<base::WallTime> last_used_at;
  std::optional<base::WallTime> revoked_at;
  // The path of the only project that it may use; unset: all projects.
  std::optional<std::string> project;
  friend bool operator==(const Token&, const Token&) = default;
};
BOOST_DESCRIBE_STRUCT(Token, (), (name, scopes, created_at, created_by, expires_at, last_used_at, revoked_at, project))

// Letters, digits and `. _ @ -`, 1 to 64 of them, beginning with a letter or digit. `reeve`, `outside` and ids such as
// TR-17 are excluded, because they would be ambiguous in the audit trail.
bool is_token_name(std::string_view text) noexcept;

}  // namespace reeve::model
