#pragma once

#include <memory>
#include <string>

// The floor: the rows that one unit writes (a run, the counter, an event), committed one by one through the database's
// C API with prepared statements. Uses nothing from Reeve except the tables.
namespace reeve::bench {

class RawCommits {
 public:
  virtual ~RawCommits() = default;
  virtual void commit_one() = 0;
};

// The database must have Reeve's schema.
std::unique_ptr<RawCommits> open_raw_sqlite(const std::string& path);
std::unique_ptr<RawCommits> open_raw_postgresql(const std::string& url);

}  // namespace reeve::bench
