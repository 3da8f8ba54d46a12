#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace reeve::cli {

// What a daemon would take up in a state folder: read from its database, which is not trusted.
struct StateSurvey {
  struct Entry {
    // "TR-17".
    std::string id;
    std::string status;
    // The command, the question, the label.
    std::string what;
  };
  std::int64_t runs = 0;
  std::int64_t executions = 0;
  std::int64_t approvals = 0;
  std::int64_t tokens = 0;
  // The first of each.
  std::vector<Entry> entries;
};

// Of the database at that path; the store lies above this layer, so whoever starts the program hands it in. Starts and
// changes nothing. Throws base::Error for a file that cannot be read.
using Survey = std::function<StateSurvey(const std::filesystem::path& database)>;
void set_survey(Survey survey);

}  // namespace reeve::cli
