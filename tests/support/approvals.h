#pragma once

#include <functional>
#include <string>

#include "tests/support/daemon.h"

namespace reeve::testing {

// Tools that ask and exit with 90, and people who answer.
class ApprovalsTest : public DaemonTest {
 protected:
  // Starts a run that asks this (one JSON object, without `event`) and exits; restarted with the answer it prints what
  // it got. Returns the id of its approval.
  std::string ask(const std::string& question) const;
  // The same with the default question.
  std::string ask() const { return ask(R"("question":"Go on?")"); }
  // The command of such a run.
  static Words asking(const std::string& question);

  // Executes one statement on the daemon's own database, as a user with a shell would. Returns its rows, one per line.
  std::string sql(const std::string& statement) const;

  // Sends a request to the daemon; returns head and body of the response.
  std::string request(const std::string& method, const std::string& target, const std::string& body = {},
                      const std::string& headers = {}) const;
};

// The words of a decision from a script; an approval confirms medium risk (APR-3).
inline Words decision(const std::string& word, const std::string& id) {
  return word == "approve" ? Words{word, "--yes", id} : Words{word, id};
}

std::string make_request(const std::string& method, const std::string& target, const std::string& body,
                         const std::string& headers = {});

}  // namespace reeve::testing
