#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ledger/unit.h"
#include "store/foreign_file.h"
#include "wire/import_record.h"

// Takes over the rows of a database with the seeds' tables (STO-2).
namespace reeve::server {

// What of a file there is to take, read to its end once, before anything is written.
struct ImportSurvey {
  // Of every row of the tables that are known: how the file lies on the disk does not count.
  std::string content_hash;
  // By the names of the tables.
  std::map<std::string, std::int64_t> rows;
};
// Throws `import.own_database`, `import.no_tables`, `import.too_large`, and what ForeignFile throws.
ImportSurvey survey_import(store::ForeignFile& file);

struct ImportOrder {
  // As it is told.
  std::string path;
  // Who asked for it.
  std::string actor;
};
// All of it in this transaction. The same rows are taken once: again, nothing is changed, and what was told the first
// time is told. Nothing that is imported is ever started: what was not over comes in as failed, reason `imported`.
wire::ImportRecord import_rows(ledger::Transaction& transaction, store::ForeignFile& file, const ImportSurvey& survey,
                               const ImportOrder& order);

}  // namespace reeve::server
