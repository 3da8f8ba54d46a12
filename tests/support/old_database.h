#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

// Databases of the programs that Reeve takes over from (STO-2): the tables as the seeds have them.
namespace reeve::testing {

// S1: supervised tools.
extern const std::string_view s1_tables;
// S2: executions with the extra columns, approvals of executions.
extern const std::string_view s2_tables;
// S5: pipelines with approval steps.
extern const std::string_view s5_tables;
// S6: the graph engine.
extern const std::string_view s6_tables;

// A few rows of each, among them some that were not over.
extern const std::string_view s1_rows;
extern const std::string_view s2_rows;
extern const std::string_view s5_rows;
extern const std::string_view s6_rows;

// Makes the file by these statements, or runs them on the one that is there.
void write_database(const std::filesystem::path& file, std::string_view sql);

// A program that has the file open, after these statements.
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
