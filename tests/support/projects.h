#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/daemon.h"

namespace reeve::testing {

// A user with several projects and no state folder named by anything.
class ProjectsTest : public DaemonTest {
 protected:
  void TearDown() override;

  std::filesystem::path home() const { return scratch().path() / "home"; }
  std::filesystem::path common() const { return home() / ".local/state/reeve"; }
  std::filesystem::path shop() const { return make_project("shop"); }
  std::filesystem::path site() const { return make_project("site"); }
  std::filesystem::path make_project(const std::string& name, const std::string& config = "") const;
  Launch launch_in(const std::filesystem::path& folder, const Words& words, const Variables& more = {}) const;
  Outcome in(const std::filesystem::path& folder, const Words& words, const Variables& more = {}) const;
  // The id of a run that asks and waits.
  std::string ask_in(const std::filesystem::path& folder) const;
  static std::vector<std::string> first_fields(const std::string& listing);
};

}  // namespace reeve::testing
