#include "cli/state_survey.h"

#include <utility>

namespace reeve::cli {

namespace {

Survey& the_survey() {
  static Survey survey;
  return survey;
}

}  // namespace

void set_survey(Survey survey) { the_survey() = std::move(survey); }

StateSurvey survey_state(const std::filesystem::path& database) {
  return the_survey() ? the_survey()(database) : StateSurvey();
}

}  // namespace reeve::cli
