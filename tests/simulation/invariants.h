#pragma once

#include <cstdint>
#include <functional>
#include <string>

struct sqlite3;
struct sqlite3_stmt;

namespace reeve::simulation {

// What must be true after every step, asked of the database itself over a connection of its own: nothing of Reeve's own
// reading stands between.
class Invariants {
 public:
  // A store in memory, which must outlive it.
  Invariants(const std::string& memory_name, std::int64_t most_parallel_nodes);
  ~Invariants();
  Invariants(const Invariants&) = delete;
  Invariants& operator=(const Invariants&) = delete;

  struct Findings {
    bool is_alive = false;
    std::function<void(const std::string&)> broken;
    // A node that is over, how often it was reset, and how it ended.
    std::function<void(std::int64_t slot, std::int64_t resets, const std::string& status)> final;
  };
  void check(Findings& findings);

 private:
  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace reeve::simulation
