#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/port.h"

// APR-11 at the port, with a daemon that cannot inspect all processes: which clients can decide.
namespace reeve {
namespace {

using testing::body_of;
using ::testing::HasSubstr;
using testing::Launch;
using ::testing::Not;
using testing::Outcome;
using testing::Port;
using testing::Session;
using testing::status_of;
using testing::Words;

class PortPeers : public testing::PortTest {
 protected:
  PortPeers() { become_ordinary(); }

  // Outside any run, as the daemon's user.
  std::unique_ptr<Session> start_outside(const Words& words) const { return start_as(as_ordinary(), words); }
  std::unique_ptr<Session> start_as(const Words& prefix, const Words& words) const {
    Launch launch{.argv = prefix, .folder = "/", .environment = {{"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}}};
    launch.argv.insert(launch.argv.end(), words.begin(), words.end());
    return std::make_unique<Session>(launch);
  }
  // A process whose descriptors its own user cannot see, like a key agent or a browser process.
  std::unique_ptr<Session> start_hidden() const {
    auto hidden =
        start_outside({"python3", "-c", hide() + "import time\nprint('hidden', flush=True)\ntime.sleep(1000)\n"});
    EXPECT_TRUE(hidden->wait_for("hidden"));
    return hidden;
  }
  static std::string hide() { return "import ctypes\nassert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0\n"; }
  // Connects and sends an approval.
  std::string send_yes(Port port, const std::string& approval) const {
    return fmt::format(
        "import os, socket\n"
        "peer = socket.create_connection(('127.0.0.1', {0}))\n"
        "peer.sendall(('POST /api/approvals/{1}/approve HTTP/1.1\\r\\nHost: 127.0.0.1:{0}\\r\\nAuthorization: Bearer '"
        " + open('{2}').read().strip() + '\\r\\nContent-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{{}}')"
        ".encode())\n",
        port.number, approval, (state() / "http.token").string());
  }
  std::string yes(Port port, const std::string& approval) const {
    return compose(port, "POST", "/api/approvals/" + approval + "/approve", bearer(own_token()), "{}");
  }
  static Words as_another() {
    if (::geteuid() != 0) return {};
    return {"/usr/bin/setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"};
  }
  void expect_proxy_decides() const {
    const std::string approval = ApprovalsTest::ask();
    const Port port = open_port();
    const auto proxy = start_as(
        as_another(), {"python3", "-c",
                       fmt::format("import socket\nlistener = socket.create_server(('127.0.0.1', 0))\n"
                                   "print(listener.getsockname()[1], flush=True)\nclient, _ = listener.accept()\n"
                                   "server = socket.create_connection(('127.0.0.1', {}))\n"
                                   "server.sendall(client.recv(65536))\nclient.sendall(server.recv(65536))\n"
                                   "client.recv(1)\n",
                                   port.number)});
    ASSERT_TRUE(proxy->wait_for("\n"));
    const Port near{static_cast<std::uint16_t>(std::stoi(proxy->out()))};
    const std::string answer = ask(near, yes(port, approval));
    EXPECT_EQ(status_of(answer), 200) << answer;
    EXPECT_EQ(sql("SELECT status FROM approvals"), "approved");
    EXPECT_EQ(sql("SELECT count(*) FROM audit_log WHERE kind = 'decision_refused'"), "0");
    finish("TR-1");
  }
  static Port find_free_port() {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof name;
    EXPECT_EQ(::bind(probe, reinterpret_cast<const sockaddr*>(&name), length), 0);
    EXPECT_EQ(::getsockname(probe, reinterpret_cast<sockaddr*>(&name), &length), 0);
    ::close(probe);
    return {ntohs(name.sin_port)};
  }
};

// The tool sends an approval and disconnects, while an unrelated process hides its descriptors: the tool may be seen or
// gone, but it is never mistaken for the other process.
TEST_F(PortPeers, tool_that_disconnects_at_once_cannot_decide) {
  const std::string approval = ApprovalsTest::ask();
  const Port port = open_port();
  const auto bystander = start_hidden();
  for (const char* how : {"seen", "hidden"}) {
    const std::string script = scratch().write(
        std::string("leave-") + how + ".py",
        (how == std::string("hidden") ? hide() : "") +
            "import os, sys, time\nfor i in range(40):\n    if os.fork() == 0:\n        exec(sys.argv[1])\n"
            "        time.sleep(i * 0.0002)\n        os._exit(0)\n    os.wait()\n");
    const Outcome outcome = reeve({"run", "--", "python3", script, send_yes(port, approval)});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    // This request is checked after all of them, by the same thread.
    const std::string last = ask(port, compose(port, "POST", "/api/approvals/AP-99/reject", bearer(own_token()), "{}"));
    EXPECT_EQ(status_of(last), 404) << last;
    EXPECT_EQ(sql("SELECT status FROM approvals"), "pending") << how;
  }
  EXPECT_EQ(reeve({"reject", approval}).code, 0);
}

// A tool cannot hide behind other hidden processes: its origin is still visible.
TEST_F(PortPeers, hidden_tool_is_recognised) {
  const std::string approval = ApprovalsTest::ask();
  const Port port = open_port();
  const auto bystander = start_hidden();
  const Outcome outcome =
      reeve({"run", "--", "python3", "-c", hide() + send_yes(port, approval) + "print(peer.recv(65536).decode())\n"});
  EXPECT_THAT(outcome.out, HasSubstr("approval.inside_run")) << outcome.err;
  EXPECT_EQ(sql("SELECT status FROM approvals"), "pending");
  EXPECT_EQ(reeve({"reject", approval}).code, 0);
}

// As many browsers do.
TEST_F(PortPeers, hidden_program_of_a_person_can_decide) {
  const std::string approval = ApprovalsTest::ask();
  const Port port = open_port();
  const auto client =
      start_outside({"python3", "-c", hide() + send_yes(port, approval) + "print(peer.recv(65536).decode())\n"});
  EXPECT_EQ(client->wait(), 0) << client->err();
  EXPECT_THAT(client->out(), HasSubstr("HTTP/1.1 200 "));
  EXPECT_EQ(sql("SELECT status FROM approvals"), "approved");
  finish("TR-1");
}

// `ssh -L`: the server's process for this user owns the connection.
TEST_F(PortPeers, ssh_tunnel_can_decide) {
  const std::string approval = ApprovalsTest::ask();
  const Port port = open_port();
  const auto bystander = start_hidden();
  const std::string folder = scratch().path().string();
  const auto keys = start_outside(
      {"/bin/sh", "-c",
       fmt::format("for name in key host; do ssh-keygen -q -t ed25519 -N '' -f {0}/$name || exit; done; id -u",
                   folder)});
  ASSERT_EQ(keys->wait(), 0) << keys->err();
  const std::string user = keys->out().substr(0, keys->out().find('\n'));
  // The server sees a private /etc with this one user, not the machine's accounts and folders.
  scratch().write("passwd",
                  fmt::format("ann:x:{0}:{0}::{1}:/bin/sh\nsshd:x:65533:65533::/:/bin/false\n", user, folder));
  scratch().write("shadow", "ann:*:1::::::\n");
  scratch().write("sshd", fmt::format("HostKey {0}/host\nUsePAM no\nPidFile none\nStrictModes no\n"
                                      "AuthorizedKeysFile {0}/key.pub\nAllowTcpForwarding yes\n",
                                      folder));
  scratch().write(
      "server.sh",
      fmt::format("mount --bind {0}/passwd /etc/passwd && mount --bind {0}/shadow /etc/shadow && exec setpriv "
                  "--ambient-caps=-all --inh-caps=-all /usr/sbin/sshd -i -f {0}/sshd -E {0}/sshd.log\n",
                  folder));
  const Port near = find_free_port();
  const auto tunnel = start_outside(
      {"/usr/bin/ssh",
       "-F",
       "/dev/null",
       "-o",
       "UserKnownHostsFile=/dev/null",
       "-o",
       "StrictHostKeyChecking=no",
       "-o",
       "IdentitiesOnly=yes",
       "-o",
       "BatchMode=yes",
       "-o",
       "ExitOnForwardFailure=yes",
       "-i",
       folder + "/key",
       "-o",
       fmt::format("ProxyCommand=unshare --user --map-current-user --keep-caps --mount sh {}/server.sh", folder),
       "-L",
       fmt::format("127.0.0.1:{}:127.0.0.1:{}", near.number, port.number),
       "-N",
       "-v",
       "ann@somewhere"});
  ASSERT_TRUE(tunnel->wait_for_error("Entering interactive session")) << tunnel->err();
  const std::string answer = ask(near, yes(port, approval));
  EXPECT_EQ(status_of(answer), 200) << answer;
  EXPECT_EQ(sql("SELECT status FROM approvals"), "approved");
  finish("TR-1");
}

// A proxy of another user if the tests can create one, else of the same user: its token counts.
TEST_F(PortPeers, proxy_can_decide) {
  const auto bystander = start_hidden();
  expect_proxy_decides();
}

// Two users on one machine, each with a daemon.
TEST_F(PortPeers, runs_of_another_user_do_not_interfere) {
  // A process that carries the mark of some run (os/descent_mark.h).
  Words words = {"/usr/bin/prlimit", "--locks=5000000000000000000:5000000000000000000"};
  std::ranges::copy(as_another(), std::back_inserter(words));
  const auto theirs = start_as(words, {"python3", "-c", "import time\nprint('there', flush=True)\ntime.sleep(1000)\n"});
  ASSERT_TRUE(theirs->wait_for("there"));
  expect_proxy_decides();
}

}  // namespace
}  // namespace reeve
