#include "os/holders.h"

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

// Two ends of one connection on this machine.
class HoldersTest : public ::testing::Test {
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
  Holders find(const TcpAddress& from, const HolderBounds& bounds = {},
               base::BootTime accepted = base::BootTime::max()) const {
    const TcpConnection one{from, to_, accepted};
    return find_holders(std::span(&one, 1), bounds).front();
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

// APR-11: who is at the other end of a connection on this machine.
TEST_F(HoldersTest, the_other_end_is_found) {
  EXPECT_THAT(find(from_).processes, ElementsAre(::getpid()));
  EXPECT_TRUE(find(from_).is_complete);
  TcpAddress other = from_;
  ++other.port;
  EXPECT_THAT(find(other).processes, IsEmpty());
  client_ = Fd();
  EXPECT_THAT(find(from_).processes, IsEmpty()) << "nobody holds it any more";
  EXPECT_TRUE(find(from_).is_complete);
}

TEST_F(HoldersTest, all_who_hold_it_are_found_at_whatever_number) {
  const pid_t child = ::fork();
  if (child == 0) {
    // As its standard input, and nowhere else.
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

TEST_F(HoldersTest, one_look_serves_many) {
  const Fd second = connect();
  const std::vector<TcpConnection> both = {{from_, to_}, {*local_address(second.get()), to_}, {to_, to_}};
  const auto found = find_holders(both);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_THAT(found[0].processes, ElementsAre(::getpid()));
  EXPECT_THAT(found[1].processes, ElementsAre(::getpid()));
  EXPECT_THAT(found[2].processes, IsEmpty());
}

// On its way through another socket it is nobody's, and nobody who cannot be seen is taken for its holder.
TEST_F(HoldersTest, what_is_on_its_way_is_nobodys) {
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
  const Holders found = find(from_);
  EXPECT_TRUE(found.processes.empty() || !found.is_complete);
  for (const int end : ends) ::close(end);
}

void become_nobody() {
  constexpr uid_t nobody = 65'534;
  if (::geteuid() == 0 && ::setuid(nobody) != 0) ::_exit(9);
}

// A daemon that is not root cannot look into one that made itself not dumpable: it is suspected, not overlooked.
TEST_F(HoldersTest, one_that_hides_is_suspected) {
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
  // One that has ended holds nothing, though nobody may look into it either.
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
    const Holders found = find(from);
    if (std::ranges::find(found.processes, ended) != found.processes.end()) ::_exit(3);
    const bool is_suspected = std::ranges::find(found.processes, hider) != found.processes.end();
    // What began after the connection has it from somebody else, if at all.
    const auto contains = [&](const std::vector<pid_t>& all) { return std::ranges::find(all, hider) != all.end(); };
    const Holders later = find(from, {}, base::BootTime(base::Milliseconds(1)));
    if (contains(later.processes) || !contains(later.latecomers) || contains(found.latecomers)) ::_exit(2);
    // However few may be told of those who are seen; of those who were not looked at nobody knows.
    const bool is_honest = found.is_guess && find(from, {.holders = 0}).processes == found.processes &&
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

// APR-11: one who says something and leaves at once. What is being closed has no holder that could be asked about.
TEST_F(HoldersTest, what_is_closed_meanwhile_is_noticed) {
  const Holders found = find(from_);
  EXPECT_NE(found.inode, 0U);
  EXPECT_EQ(inode_of(from_), found.inode);
  const Fd second = connect();
  EXPECT_NE(inode_of(*local_address(second.get())), found.inode);
  ASSERT_EQ(::shutdown(client_.get(), SHUT_WR), 0);
  EXPECT_EQ(inode_of(from_), 0U) << "it is not established any more";
  EXPECT_THAT(find(from_).processes, IsEmpty());
  const TcpAddress from = *local_address(second.get());
  {
    const Fd copy(::dup(second.get()));
  }
  EXPECT_NE(inode_of(from), 0U) << "somebody still has it";
}

// Root makes sockets that belong to others, nobody else does.
TEST_F(HoldersTest, a_socket_of_another_user_is_known) {
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

// What was not looked at may be anybody.
TEST_F(HoldersTest, a_bound_that_is_reached_is_told) {
  EXPECT_FALSE(find(from_, {.processes = 0}).is_complete);
  EXPECT_FALSE(find(from_, {.descriptors = 0}).is_complete);
  EXPECT_FALSE(find(from_, {.time = base::Milliseconds(0)}).is_complete);
  EXPECT_FALSE(find(from_, {.holders = 0}).is_complete);
}

}  // namespace
}  // namespace reeve::os
