#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ledger/unit.h"
#include "store/foreign_file.h"
#include "wire/import_record.h"

// Copies the records of a project's own Reeve database into this store (SPEC §7, `reeve state move`).
namespace reeve::import {

struct StateMoveOrder {
  // The identity of the state folder: its rows are copied once, however often the move is repeated.
  std::string identity;
  // Where the records came from, written into them: "shop".
  std::string name;
  // The project of records that name none.
  std::string project;
  std::string actor;
};

struct CopiedState {
  std::vector<wire::ImportKind> kinds;
  // "TR-1" → "TR-41": of this copy and of interrupted earlier ones, in the order of the old ids.
  std::vector<std::pair<std::string, std::string>> ids;
  // The same for runs only, as numbers: their output files follow.
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
};

// Copies every row that no earlier move from the same folder has copied. The file is only read and nothing in it is
// executed. Grants that were not used are void here, and what was unfinished is refused: `execution.not_completed`.
// Throws `store.too_old` or `store.newer` unless the database has the schema of this program, and `import.damaged` for
// a reference to a row that does not exist.
CopiedState copy_state(ledger::Transaction& transaction, store::ForeignFile& file, const StateMoveOrder& order);

}  // namespace reeve::import
