#include "os/beneath.h"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::os {
namespace {

namespace fs = std::filesystem;

TEST(Beneath, paths_that_escape_are_refused) {
  const testing::ScratchFolder folder;
  fs::create_directories(folder.path() / "inside/deep");
  folder.write("secret", "x");
  fs::create_symlink(folder.path() / "secret", folder.path() / "inside/link");
  fs::create_symlink("..", folder.path() / "inside/up");
  const Folder inside = Folder::open((folder.path() / "inside").string());
  EXPECT_EQ(inside.open_file("../secret", O_RDONLY).error(), EXDEV);
  EXPECT_EQ(inside.open_file("deep/../../secret", O_RDONLY).error(), EXDEV);
  EXPECT_EQ(inside.open_file("link", O_RDONLY).error(), ELOOP);
  EXPECT_EQ(inside.open_file("up/secret", O_RDONLY).error(), ELOOP);
  EXPECT_EQ(inside.open_file((folder.path() / "secret").string(), O_RDONLY).error(), EXDEV);
  EXPECT_EQ(inside.open_file("none", O_RDONLY).error(), ENOENT);
}

TEST(Beneath, file_is_replaced_atomically) {
  const testing::ScratchFolder folder;
  const Folder place = Folder::open(folder.path().string());
  ASSERT_TRUE(place.replace_file("record", "first"));
  ASSERT_TRUE(place.replace_file("record", "second"));
  EXPECT_EQ(testing::read_text(folder.path() / "record"), "second");
  EXPECT_FALSE(fs::exists(folder.path() / "record.new"));
  EXPECT_TRUE(place.make_folder("sub"));
  EXPECT_TRUE(place.make_folder("sub"));
  EXPECT_TRUE(place.open_folder("sub").has_value());
  EXPECT_TRUE(place.remove("record"));
  EXPECT_FALSE(place.remove("record"));
}

// STYLE: checking first and opening later loses this race thousands of times.
TEST(Beneath, swapped_symlink_is_never_followed) {
  const testing::ScratchFolder folder;
  fs::create_directories(folder.path() / "inside");
  fs::create_directories(folder.path() / "outside");
  folder.write("outside/file", "secret");
  fs::create_directories(folder.path() / "inside/real");
  folder.write("inside/real/file", "fine");
  fs::create_symlink("../outside", folder.path() / "inside/fake");
  const std::string real = (folder.path() / "inside/real").string();
  const std::string fake = (folder.path() / "inside/fake").string();
  std::atomic<bool> is_over = false;
  std::thread swapper([&] {
    while (!is_over) ::renameat2(AT_FDCWD, real.c_str(), AT_FDCWD, fake.c_str(), RENAME_EXCHANGE);
  });
  const Folder inside = Folder::open((folder.path() / "inside").string());
  constexpr int enough = 20'000;
  constexpr int most = 100 * enough;
  int opened = 0;
  int refused = 0;
  // On a busy machine the swapper may stand still for a while, so it goes on until both outcomes were seen.
  for (int i = 0; i < enough || (i < most && (opened == 0 || refused == 0)); ++i) {
    const auto file = inside.open_file("real/file", O_RDONLY);
    if (!file) {
      ++refused;
      continue;
    }
    ++opened;
    char first = 0;
    ASSERT_EQ(::read(file->get(), &first, 1), 1);
    ASSERT_EQ(first, 'f');
  }
  is_over = true;
  swapper.join();
  EXPECT_GT(opened, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace reeve::os
