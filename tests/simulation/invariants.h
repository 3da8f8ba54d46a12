#pragma once

#include <cstdint>
#include <functional>
#include <string>

struct sqlite3;
struct sqlite3_stmt;

namespace reeve::simulation {

// Checks invariants after every step, directly in the database over a separate connection, without Reeve's own readers.
class Invariants {
 public:
  // For a store in memory, which must outlive this object.
  Invariants(const std::string& memory_name, std::int64_t most_parallel_nodes);
  ~Invariants();
  Invariants(const Invariants&) = delete;
  Invariants& operator=(const Invariants&) = delete;

  struct Findings {
    bool is_alive = false;
    std::function<void(const std::string&)> broken;
    // Called for a node that has ended, with the number of resets and its status.
    std::function<void(std::int64_t slot, std::int64_t resets, const std::string& status)> final;
  };
  void check(Findings& findings);

 private:
  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace reeve::simulation
