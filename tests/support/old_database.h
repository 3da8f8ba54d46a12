#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

// Databases of the programs that Reeve imports from (STO-2), with their original tables.
namespace reeve::testing {

// S1: supervised tools.
extern const std::string_view s1_tables;
// S2: executions with the extra columns, approvals of executions.
extern const std::string_view s2_tables;
// S5: pipelines with approval steps.
extern const std::string_view s5_tables;
// S6: the graph engine.
extern const std::string_view s6_tables;

// A few rows of each, some of them unfinished.
extern const std::string_view s1_rows;
extern const std::string_view s2_rows;
extern const std::string_view s5_rows;
extern const std::string_view s6_rows;

// Creates the file with these statements, or runs them on an existing one.
void write_database(const std::filesystem::path& file, std::string_view sql);

// A program that keeps the file open, after these statements.
class OpenDatabase {
 public:
  OpenDatabase(const std::filesystem::path& file, std::string_view sql);
  ~OpenDatabase();
  OpenDatabase(const OpenDatabase&) = delete;
  OpenDatabase& operator=(const OpenDatabase&) = delete;

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace reeve::testing
