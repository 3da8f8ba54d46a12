#pragma once

#include <cstdint>
#include <string>

#include "tests/support/flow.h"
#include "tests/support/socket.h"

namespace reeve::testing {

int status_of(const std::string& answer);
Members body_of(const std::string& answer);
// The value of a response header; empty if it is missing.
std::string header_of(const std::string& answer, const std::string& name);

// A daemon with a loopback port, and requests to it.
class PortTest : public FlowTest {
 protected:
  // Opens a port unless the daemon has one.
  Port open_port() const;
  // The daemon's own token, with all scopes.
  std::string own_token() const;
  // Runs `reeve token create NAME --scope SCOPES`.
  std::string make_token(const std::string& name, const std::string& scopes) const;
  static std::string bearer(const std::string& token) { return "Authorization: Bearer " + token + "\r\n"; }

  // A well-formed request; `headers` includes line ends. A body is JSON.
  static std::string compose(Port port, const std::string& method, const std::string& target,
                             const std::string& headers = {}, const std::string& body = {});
  // Sends it and reads one response.
  static std::string ask(Port port, const std::string& bytes);

  // Everything that a request could have changed, as one text.
  std::string fingerprint() const;
};

}  // namespace reeve::testing
