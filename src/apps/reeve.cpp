#include <filesystem>
#include <string>
#include <vector>

#include "cli/main.h"
#include "cli/serve.h"
#include "cli/state_survey.h"
#include "server/serve.h"
#include "server/state_survey.h"
#include "server/store_health.h"

int main(int count, char** words) {
  using namespace reeve;
  // The daemon lies above the command line's layer.
  cli::set_serve([](const cli::ServeOptions& options) {
    return server::serve({.folder = {options.state},
                          .store = options.store,
                          .http = options.http,
                          .is_behind_proxy = options.behind_proxy,
                          .is_background = options.background});
  });
  cli::set_check_store(server::check_store_files);
  cli::set_survey([](const std::filesystem::path& database) {
    server::PendingWork work = server::survey_database(database);
    cli::StateSurvey survey{
        .runs = work.runs, .executions = work.executions, .approvals = work.approvals, .tokens = work.tokens};
    for (auto& [id, status, what] : work.entries) {
      survey.entries.push_back({std::move(id), std::move(status), std::move(what)});
    }
    return survey;
  });
  return cli::main(std::vector<std::string>(words + (count > 0 ? 1 : 0), words + count));
}
