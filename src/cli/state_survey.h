#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace reeve::cli {

// What a daemon would resume in a state folder, read from its untrusted database.
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
  // The first few of each.
  std::vector<Entry> entries;
};

// Surveys the database at a path; the store is in a higher layer, so main() passes it in. Starts and changes nothing.
// Throws base::Error for an unreadable file.
using Survey = std::function<StateSurvey(const std::filesystem::path& database)>;
void set_survey(Survey survey);
// The survey of that database; empty without a survey.
StateSurvey survey_state(const std::filesystem::path& database);

}  // namespace reeve::cli
