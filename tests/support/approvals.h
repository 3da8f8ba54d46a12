#pragma once

#include <functional>
#include <string>

#include "tests/support/daemon.h"

namespace reeve::testing {

// Tools that ask and leave with 90, and people who answer.
class ApprovalsTest : public DaemonTest {
 protected:
  // A run that asks this (one JSON object, without `event`) and leaves; started again with the answer it says what it
  // got. The id of its approval.
  std::string ask(const std::string& question) const;
  // The same with a yes and a no.
  std::string ask() const { return ask(R"("question":"Go on?")"); }
  // The command of such a run.
  static Words asking(const std::string& question);

  // One statement on the daemon's own database, as a person with a shell would. What it gives, its rows one a line.
  std::string sql(const std::string& statement) const;

  // A request to the daemon: head and body of the answer.
  std::string request(const std::string& method, const std::string& target, const std::string& body = {},
                      const std::string& headers = {}) const;
};

std::string make_request(const std::string& method, const std::string& target, const std::string& body,
                         const std::string& headers = {});

}  // namespace reeve::testing
