#pragma once

#include <cstdint>
#include <string>

#include "tests/support/flow.h"
#include "tests/support/socket.h"

namespace reeve::testing {

int status_of(const std::string& answer);
Members body_of(const std::string& answer);
// The value of a header of an answer; empty when it has none.
std::string header_of(const std::string& answer, const std::string& name);

// A daemon with a loopback port, and what comes in there.
class PortTest : public FlowTest {
 protected:
  // Lets the daemon open one, if it has none.
  Port open_port() const;
  // The daemon's own token, for everything.
  std::string own_token() const;
  // Makes one: `reeve token create NAME --scope SCOPES`.
  std::string make_token(const std::string& name, const std::string& scopes) const;
  static std::string bearer(const std::string& token) { return "Authorization: Bearer " + token + "\r\n"; }

  // A well-formed request; `headers` with their line ends. A body is JSON.
  static std::string compose(Port port, const std::string& method, const std::string& target,
                             const std::string& headers = {}, const std::string& body = {});
  // Sends it and reads one answer.
  static std::string ask(Port port, const std::string& bytes);

  // All that could have been changed, in one text.
  std::string fingerprint() const;
};

}  // namespace reeve::testing
