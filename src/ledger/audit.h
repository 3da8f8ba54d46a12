#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ledger/unit.h"

// The audit trail (APR-14): each entry carries the hash of the one before, so that nothing can be changed, taken out or
// put in without breaking the chain.
namespace reeve::ledger {

// What the first entry carries.
inline constexpr std::string_view first_previous;

std::string hash_entry(std::string_view previous, std::int64_t seq, std::string_view at, std::string_view kind,
                       std::string_view actor, std::string_view data);

// Numbers the transaction's entries and appends them. Within the transaction, after its last unit.
void append_audit(Transaction& transaction);

struct AuditVerdict {
  std::int64_t entries = 0;
  // The first entry that is not as it was written, and what is wrong with it.
  std::optional<std::int64_t> broken_at;
  std::string reason;

  bool is_whole() const noexcept { return !broken_at; }
};

AuditVerdict verify_audit(store::Session& session);

}  // namespace reeve::ledger
