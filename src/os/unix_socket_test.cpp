#include "os/unix_socket.h"

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::os {
namespace {

// STYLE: a socket address is limited to 107 bytes.
TEST(UnixSocket, path_may_exceed_the_address_limit) {
  const testing::ScratchFolder folder;
  const std::filesystem::path deep = folder.path() / std::string(100, 'a') / std::string(100, 'b');
  std::filesystem::create_directories(deep);
  const std::string path = (deep / "socket").string();
  const Fd listener = listen_at(path, SocketKind::packets);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const auto client = connect_to(path, SocketKind::packets);
  ASSERT_TRUE(client);
  pollfd ready{listener.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 20'000), 1);
  const Fd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_EQ(peer_of(server.get()).pid, ::getpid());
  EXPECT_EQ(peer_of(server.get()).uid, ::getuid());
}

// The umask belongs to the whole process: folders of other threads would get no permission to enter them.
TEST(UnixSocket, listening_leaves_the_umask_of_other_threads_alone) {
  const testing::ScratchFolder scratch;
  std::atomic<bool> is_over = false;
  std::thread listener([&] {
    while (!is_over) listen_at((scratch.path() / "sock").string(), SocketKind::stream, 1);
  });
  constexpr int folders = 3'000;
  for (int i = 0; i < folders; ++i) {
    const std::string folder = (scratch.path() / std::to_string(i)).string();
    ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
    struct stat status{};
    ASSERT_EQ(::stat(folder.c_str(), &status), 0);
    if ((status.st_mode & 0777U) != 0700U) {
      ADD_FAILURE() << std::oct << (status.st_mode & 0777U);
      break;
    }
  }
  is_over = true;
  listener.join();
}

TEST(UnixSocket, connect_fails_without_a_listener) {
  const testing::ScratchFolder folder;
  EXPECT_FALSE(connect_to((folder.path() / "none").string(), SocketKind::stream));
  EXPECT_EQ(errno, ENOENT);
}

TEST(UnixSocket, packets_keep_their_boundaries) {
  const SocketPair pair = make_socket_pair(SocketKind::packets);
  ASSERT_EQ(::send(pair.ours.get(), "ab", 2, 0), 2);
  ASSERT_EQ(::send(pair.ours.get(), "c", 1, 0), 1);
  std::string bytes(16, '\0');
  EXPECT_EQ(::recv(pair.theirs.get(), bytes.data(), bytes.size(), 0), 2);
  EXPECT_EQ(::recv(pair.theirs.get(), bytes.data(), bytes.size(), 0), 1);
}

}  // namespace
}  // namespace reeve::os
