#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands/serve.h"
#include "cli/main.h"
#include "cli/state_survey.h"
#include "server/resources/state_survey.h"
#include "server/resources/store_health.h"
#include "server/serve.h"

int main(int count, char** words) {
  using namespace reeve;
  // The daemon is in a layer above the command line.
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
