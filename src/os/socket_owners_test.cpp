#include "os/socket_owners.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::os {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Both ends of one local connection.
class SocketOwnersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    to_ = *local_address(listener_.get());
    client_ = connect();
    from_ = *local_address(client_.get());
  }
  Fd connect() const {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(to_.port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    return client;
  }
  SocketOwners find(const TcpAddress& from, const SocketOwnerBounds& bounds = {},
                    base::BootTime accepted = base::BootTime::max()) const {
    const TcpConnection one{from, to_, accepted};
    return find_socket_owners(std::span(&one, 1), bounds).front();
  }
  std::uint64_t inode_of(const TcpAddress& from) const {
    const TcpConnection one{from, to_};
    return find_inodes(std::span(&one, 1)).front();
  }

  Fd listener_ = listen_at(*parse_tcp_address("127.0.0.1:0"));
  Fd client_;
  TcpAddress to_;
  TcpAddress from_;
};

// APR-11: which process is at the other end of a local connection.
TEST_F(SocketOwnersTest, owner_of_the_peer_socket_is_found) {
  EXPECT_THAT(find(from_).processes, ElementsAre(::getpid()));
  EXPECT_TRUE(find(from_).is_complete);
  TcpAddress other = from_;
  ++other.port;
  EXPECT_THAT(find(other).processes, IsEmpty());
  client_ = Fd();
  EXPECT_THAT(find(from_).processes, IsEmpty()) << "no process has it open";
  EXPECT_TRUE(find(from_).is_complete);
}

TEST_F(SocketOwnersTest, every_owner_is_found_at_any_descriptor_number) {
  const pid_t child = ::fork();
  if (child == 0) {
    // As its standard input only.
    ::dup2(client_.get(), 0);
    ::close(client_.get());
    ::pause();
    ::_exit(0);
  }
  const auto is_found = [&] {
    auto found = find(from_).processes;
    std::ranges::sort(found);
    return found == std::vector<pid_t>{std::min(::getpid(), child), std::max(::getpid(), child)};
  };
  EXPECT_TRUE(is_found());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(SocketOwnersTest, one_scan_resolves_many_connections) {
  const Fd second = connect();
  const std::vector<TcpConnection> both = {{from_, to_}, {*local_address(second.get()), to_}, {to_, to_}};
  const auto found = find_socket_owners(both);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_THAT(found[0].processes, ElementsAre(::getpid()));
  EXPECT_THAT(found[1].processes, ElementsAre(::getpid()));
  EXPECT_THAT(found[2].processes, IsEmpty());
}

// A socket in flight has no owner, and no hidden process is reported as a certain owner.
TEST_F(SocketOwnersTest, socket_in_flight_has_no_owner) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  char byte = 'x';
  iovec part{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = client_.get();
  std::memcpy(CMSG_DATA(head), &number, sizeof number);
  ASSERT_EQ(::sendmsg(ends[0], &message, 0), 1);
  client_ = Fd();
  const SocketOwners found = find(from_);
  EXPECT_TRUE(found.processes.empty() || !found.is_complete);
  for (const int end : ends) ::close(end);
}

void become_nobody() {
  constexpr uid_t nobody = 65'534;
  if (::geteuid() == 0 && ::setuid(nobody) != 0) ::_exit(9);
}

// A daemon that is not root cannot inspect a process that is not dumpable: such a process counts as a possible owner.
TEST_F(SocketOwnersTest, hidden_process_is_suspected) {
  client_ = Fd();
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const pid_t hider = ::fork();
  if (hider == 0) {
    become_nobody();
    const Fd mine = connect();
    ::prctl(PR_SET_DUMPABLE, 0);
    const std::uint16_t port = local_address(mine.get())->port;
    ::_exit(::write(told[1], &port, sizeof port) == sizeof port ? ::pause() : 9);
  }
  TcpAddress from = from_;
  ASSERT_EQ(::read(told[0], &from.port, sizeof from.port), static_cast<ssize_t>(sizeof from.port));
  // An ended process owns nothing, although it cannot be inspected either.
  const pid_t ended = ::fork();
  if (ended == 0) {
    become_nobody();
    ::_exit(0);
  }
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT), 0);
  const pid_t seeker = ::fork();
  if (seeker == 0) {
    become_nobody();
    const SocketOwners found = find(from);
    if (std::ranges::find(found.processes, ended) != found.processes.end()) ::_exit(3);
    const bool is_suspected = std::ranges::find(found.processes, hider) != found.processes.end();
    // A process that started after the connection can only have received it from another.
    const auto contains = [&](const std::vector<pid_t>& all) { return std::ranges::find(all, hider) != all.end(); };
    const SocketOwners later = find(from, {}, base::BootTime(base::Milliseconds(1)));
    if (contains(later.processes) || !contains(later.latecomers) || contains(found.latecomers)) ::_exit(2);
    // The limit on visible owners does not apply to hidden ones; a search that was cut short is reported as incomplete.
    const bool is_honest = found.is_guess && find(from, {.owners = 0}).processes == found.processes &&
                           !find(from, {.processes = 1}).is_complete;
    ::_exit(is_suspected && is_honest ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(seeker, &status, 0), seeker);
  EXPECT_EQ(status, 0);
  ::kill(hider, SIGKILL);
  ::waitpid(hider, nullptr, 0);
  ::waitpid(ended, nullptr, 0);
  for (const int end : told) ::close(end);
}

// APR-11: a peer that sends a request and leaves at once. A closing connection has no identifiable owner.
TEST_F(SocketOwnersTest, connection_closed_meanwhile_is_detected) {
  const SocketOwners found = find(from_);
  EXPECT_NE(found.inode, 0U);
  EXPECT_EQ(inode_of(from_), found.inode);
  const Fd second = connect();
  EXPECT_NE(inode_of(*local_address(second.get())), found.inode);
  ASSERT_EQ(::shutdown(client_.get(), SHUT_WR), 0);
  EXPECT_EQ(inode_of(from_), 0U) << "no longer established";
  EXPECT_THAT(find(from_).processes, IsEmpty());
  const TcpAddress from = *local_address(second.get());
  {
    const Fd copy(::dup(second.get()));
  }
  EXPECT_NE(inode_of(from), 0U) << "still open in a process";
}

// Only root can create sockets that belong to other users.
TEST_F(SocketOwnersTest, socket_of_another_user_is_recognised) {
  EXPECT_FALSE(find(from_).is_of_another_user);
  const pid_t seeker = ::fork();
  if (seeker == 0) {
    const bool is_root = ::geteuid() == 0;
    become_nobody();
    ::_exit(find(from_).is_of_another_user == is_root ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(seeker, &status, 0), seeker);
  EXPECT_EQ(status, 0);
}

// Processes that were not inspected may be owners.
TEST_F(SocketOwnersTest, reached_limit_marks_the_result_incomplete) {
  EXPECT_FALSE(find(from_, {.processes = 0}).is_complete);
  EXPECT_FALSE(find(from_, {.descriptors = 0}).is_complete);
  EXPECT_FALSE(find(from_, {.time = base::Milliseconds(0)}).is_complete);
  EXPECT_FALSE(find(from_, {.owners = 0}).is_complete);
}

}  // namespace
}  // namespace reeve::os
