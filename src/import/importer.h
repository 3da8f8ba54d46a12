#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ledger/unit.h"
#include "store/foreign_file.h"
#include "wire/import_record.h"

// Imports the rows of a database with the seeds' tables (STO-2).
namespace reeve::import {

// What a file contains, read once to its end before anything is written.
struct ImportSurvey {
  // Hash of every row of the known tables, independent of the file's layout on disk.
  std::string content_hash;
  // Row counts by table name.
  std::map<std::string, std::int64_t> rows;
};
// Throws `import.own_database`, `import.no_tables`, `import.too_large`, and whatever ForeignFile throws.
ImportSurvey survey_import(store::ForeignFile& file);

struct ImportOrder {
  // As reported to the user.
  std::string path;
  // The user who requested the import.
  std::string actor;
};
// Imports everything in this transaction. The same rows are imported once: a repetition changes nothing and returns the
// first report. Imported work is never started: whatever was unfinished has failed, with the reason `imported`.
wire::ImportRecord import_rows(ledger::Transaction& transaction, store::ForeignFile& file, const ImportSurvey& survey,
                               const ImportOrder& order);

}  // namespace reeve::import
