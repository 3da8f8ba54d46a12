#include "tests/support/port.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::testing {

int status_of(const std::string& answer) {
  const std::size_t blank = answer.find(' ');
  return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(blank + 1)) : 0;
}

Members body_of(const std::string& answer) {
  return parse_object(answer.substr(answer.find("\r\n\r\n") + 4)).value_or(Members());
}

std::string header_of(const std::string& answer, const std::string& name) {
  const std::string head = answer.substr(0, answer.find("\r\n\r\n") + 2);
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t from = at + name.size() + 4;
  return head.substr(from, head.find("\r\n", from) - from);
}

Port PortTest::open_port() const {
  const Outcome outcome = reeve({"web", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string address = parse_object(outcome.out).value_or(Members())["address"];
  EXPECT_TRUE(address.starts_with("127.0.0.1:")) << outcome.out;
  return {static_cast<std::uint16_t>(std::stoi("0" + address.substr(address.find(':') + 1)))};
}

std::string PortTest::own_token() const {
  const std::string text = read_text(state() / "http.token");
  return text.substr(0, text.find('\n'));
}

std::string PortTest::make_token(const std::string& name, const std::string& scopes) const {
  const Outcome outcome = reeve({"token", "create", name, "--scope", scopes});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out.substr(0, outcome.out.find('\n'));
}

std::string PortTest::compose(Port port, const std::string& method, const std::string& target,
                              const std::string& headers, const std::string& body) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}", method, target, port.number, headers);
  if (method != "GET") {
    text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  }
  return text + "\r\n" + body;
}

std::string PortTest::ask(Port port, const std::string& bytes) {
  RawSocket peer(port);
  // A client that is refused early need not send all of it.
  peer.send(bytes);
  return peer.read_answer();
}

std::string PortTest::fingerprint() const {
  return sql(
      "SELECT (SELECT COALESCE(max(seq), 0) FROM events), (SELECT COALESCE(max(seq), 0) FROM audit_log), "
      "(SELECT count(*) FROM tool_runs), (SELECT group_concat(status) FROM approvals), "
      "(SELECT count(*) FROM tokens), (SELECT count(*) FROM tokens WHERE revoked_at IS NOT NULL)");
}

}  // namespace reeve::testing
