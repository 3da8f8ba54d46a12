#include "tests/support/projects.h"

namespace reeve::testing {

namespace fs = std::filesystem;

void ProjectsTest::TearDown() {
  std::vector<fs::path> states;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(scratch().path())) {
    if (entry.path().filename() == "reeve.sock") states.push_back(entry.path().parent_path());
  }
  for (const fs::path& state : states) in("/", {"--state", state.string(), "stop"});
  DaemonTest::TearDown();
}

fs::path ProjectsTest::make_project(const std::string& name, const std::string& config) const {
  const fs::path folder = scratch().path() / name;
  fs::create_directories(folder / ".reeve");
  if (!config.empty()) scratch().write(name + "/.reeve/config.yaml", config);
  return folder;
}

Launch ProjectsTest::launch_in(const fs::path& folder, const Words& words, const Variables& more) const {
  Launch made = launch(words);
  made.folder = folder;
  std::erase_if(made.environment, [](const auto& variable) { return variable.first == "REEVE_STATE"; });
  made.environment.insert(made.environment.end(), more.begin(), more.end());
  return made;
}

Outcome ProjectsTest::in(const fs::path& folder, const Words& words, const Variables& more) const {
  return run_program(launch_in(folder, words, more));
}

std::string ProjectsTest::ask_in(const fs::path& folder) const {
  const Outcome started = in(folder, {"run", "--detach", "--", "sh", "-c", "exit 90"});
  EXPECT_EQ(started.code, 0) << started.err;
  const std::string id = started.out.substr(0, started.out.find('\n'));
  EXPECT_TRUE(eventually([&] { return in(folder, {"show", id}).out.contains("status\twaiting_approval"); }));
  return id;
}

std::vector<std::string> ProjectsTest::first_fields(const std::string& listing) {
  std::vector<std::string> fields;
  for (const std::string& line : lines_of(listing)) fields.push_back(line.substr(0, line.find('\t')));
  return fields;
}

}  // namespace reeve::testing
