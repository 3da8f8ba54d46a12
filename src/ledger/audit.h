#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ledger/unit.h"

// The audit trail (APR-14): each entry carries the hash of the previous one, so that nothing can be changed, removed or
// inserted without breaking the chain.
namespace reeve::ledger {

// The previous hash of the first entry.
inline constexpr std::string_view first_previous;

std::string hash_entry(std::string_view previous, std::int64_t seq, std::string_view at, std::string_view kind,
                       std::string_view actor, std::string_view data);

// Numbers and appends the transaction's entries. Call it within the transaction, after its last unit.
void append_audit(Transaction& transaction);

}  // namespace reeve::ledger
