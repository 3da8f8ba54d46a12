#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/tools/command_folder.h"
#include "tests/support/files.h"
#include "tests/support/git_repository.h"
#include "tests/support/hosted_call.h"

// TOOL-4: a process of the agent swaps names between check and use. The files outside are never read or changed.
namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;

// Exchanges two names until it is destroyed.
class Swapper {
 public:
  Swapper(fs::path one, fs::path other) : one_(std::move(one)), other_(std::move(other)), thread_([this] { work(); }) {}
  ~Swapper() {
    is_over_ = true;
    thread_.join();
  }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;

 private:
  void work() const {
    while (!is_over_) ::renameat2(AT_FDCWD, one_.c_str(), AT_FDCWD, other_.c_str(), RENAME_EXCHANGE);
  }

  fs::path one_;
  fs::path other_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

class ToolSwap : public ::testing::Test {
 protected:
  // Calls until both outcomes were seen often enough: on a busy machine the swapper may stand still for a while.
  template <class Call>
  void repeat(int enough, Call call) {
    constexpr int patience = 100;
    int done = 0;
    int refused = 0;
    for (int i = 0; i < enough || (i < patience * enough && (done == 0 || refused == 0)); ++i) {
      const wire::CallResult result = call(i);
      (result.is_error ? refused : done)++;
      ASSERT_EQ(result.content.find("SECRET"), std::string::npos) << result.content;
    }
    EXPECT_GT(done, 0);
    EXPECT_GT(refused, 0);
  }

  testing::ScratchFolder scratch;
  fs::path root = scratch.path() / "tree";
  fs::path outside = scratch.path() / "outside";
};

TEST_F(ToolSwap, a_swapped_folder_never_leads_outside) {
  scratch.write("tree/real/file", "fine\n");
  scratch.write("outside/file", "SECRET\n");
  fs::create_symlink("../outside", root / "fake");
  const testing::HostedTools tools(root, scratch.path() / "scratch");
  const Swapper swapper(root / "real", root / "fake");
  repeat(3'000, [&](int) { return tools.call("file_read", R"({"path": "real/file"})"); });
  repeat(300, [&](int i) {
    return tools.call("file_write",
                      fmt::format(R"({{"path": "real/new{}", "content": "x", "create_folders": true}})", i));
  });
  repeat(300, [&](int) { return tools.call("search_files", R"({"pattern": ".", "path": "real"})"); });
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(outside)) names.push_back(entry.path().filename().string());
  EXPECT_EQ(names, std::vector<std::string>{"file"});
  EXPECT_EQ(testing::read_text(outside / "file"), "SECRET\n");
}

TEST_F(ToolSwap, a_swapped_file_never_leads_outside) {
  scratch.write("tree/file", "fine\n");
  scratch.write("outside/file", "SECRET\n");
  fs::create_symlink("../outside/file", root / "link");
  const testing::HostedTools tools(root, scratch.path() / "scratch");
  {
    const Swapper swapper(root / "file", root / "link");
    repeat(3'000, [&](int) { return tools.call("file_read", R"({"path": "file"})"); });
  }
  // Writing may replace the link, so it is made again.
  const fs::path spare = root / "spare";
  for (int i = 0; i < 100; ++i) {
    fs::remove(root / "file");
    fs::remove(root / "link");
    scratch.write("tree/file", "fine\n");
    fs::create_symlink("../outside/file", root / "link");
    const Swapper swapper(root / "file", root / "link");
    for (int j = 0; j < 3; ++j) tools.call("file_write", R"({"path": "file", "content": "changed"})");
  }
  EXPECT_EQ(testing::read_text(outside / "file"), "SECRET\n");
}

TEST_F(ToolSwap, a_swapped_folder_of_a_command_never_leads_outside) {
  scratch.write("tree/real/file", "fine\n");
  scratch.write("outside/file", "SECRET\n");
  fs::create_symlink("../outside", root / "fake");
  struct stat inside{};
  ASSERT_EQ(::stat((root / "real").c_str(), &inside), 0);
  const os::KnownFolder known = find_command_folder(root.string(), (root / "real").string());
  EXPECT_EQ(known.inode, inside.st_ino);
  const Swapper swapper(root / "real", root / "fake");
  repeat(3'000, [&](int) {
    try {
      const auto found = find_command_folder(root.string(), (root / "real").string());
      EXPECT_EQ(found, known);
      const auto opened = os::open_known(known);
      struct stat status{};
      if (opened) EXPECT_TRUE(::fstat(opened->fd(), &status) == 0 && status.st_ino == inside.st_ino);
      return wire::CallResult{.is_error = !opened};
    } catch (const base::Error&) {
      return wire::CallResult{.is_error = true};
    }
  });
}

// git opens files by name, which is why it only sees copies.
TEST_F(ToolSwap, git_tools_never_read_outside) {
  const testing::GitRepository made;
  made.write("real/file", "committed\n");
  made.commit("with a folder");
  made.write("real/file", "fine\n");
  made.write("../outside/file", "SECRET\n");
  fs::create_symlink("../outside", made.root() / "fake");
  made.git({"config", "user.name", "Agent"});
  made.git({"config", "user.email", "agent@example.com"});
  const testing::HostedTools tools(made.root(), made.beside("scratch"));
  {
    const Swapper swapper(made.root() / "real", made.root() / "fake");
    for (int i = 0; i < 15; ++i) {
      const wire::CallResult diff = tools.call("git_diff", R"({"against": "HEAD"})");
      ASSERT_EQ(diff.content.find("SECRET"), std::string::npos) << diff.content;
      tools.call("git_add", R"({"paths": ["."]})");
      const wire::CallResult staged = tools.call("git_diff", R"({"staged": true})");
      ASSERT_EQ(staged.content.find("SECRET"), std::string::npos) << staged.content;
    }
  }
  EXPECT_EQ(testing::read_text(made.beside("outside/file")), "SECRET\n");
}

}  // namespace
}  // namespace reeve::runtime
