#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/describe.h"

// Who may come in from outside, and for what.
namespace reeve::model {

// `read` is a part of each of the others; `admin` is all of them.
enum class Scope { read, operate, approve, admin };
REEVE_DESCRIBE_ENUM(Scope, read, operate, approve, admin)

bool allows(std::span<const Scope> given, Scope needed) noexcept;

// A secret that somebody shows, without the secret. Its name is who does what is done with it (APR-12), so a name is
// given once and never again.
struct Token {
  std::string name;
  std::vector<Scope> scopes;
  base::WallTime created_at;
  std::string created_by;
  // Nothing: until it is revoked.
  std::optional<base::WallTime> expires_at;
  // To the minute.
  std::optional<base::WallTime> last_used_at;
  std::optional<base::WallTime> revoked_at;
  friend bool operator==(const Token&, const Token&) = default;
};
BOOST_DESCRIBE_STRUCT(Token, (), (name, scopes, created_at, created_by, expires_at, last_used_at, revoked_at))

// Letters, digits and `. _ @ -`, 1 to 64 of them, beginning with a letter or digit; no id of Reeve's and not `reeve`,
// which would be taken for others in the audit trail.
bool is_token_name(std::string_view text) noexcept;

}  // namespace reeve::model
