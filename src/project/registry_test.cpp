#include "project/registry.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "project/project.h"
#include "tests/support/files.h"

namespace reeve::project {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() : before_(variable("XDG_STATE_HOME")) {
    ::setenv("XDG_STATE_HOME", (scratch_.path() / "state").c_str(), 1);
  }
  ~RegistryTest() override {
    if (before_) {
      ::setenv("XDG_STATE_HOME", before_->c_str(), 1);
    } else {
      ::unsetenv("XDG_STATE_HOME");
    }
  }
  testing::ScratchFolder scratch_;

 private:
  std::optional<std::string> before_;
};

TEST_F(RegistryTest, entries_round_trip) {
  EXPECT_FALSE(Registry::find());
  const Registry registry = Registry::open();
  KnownPlace place{.id = make_identity(), .path = "/a b/\"c\"\nd", .inode = 17};
  registry.write(place);
  EXPECT_EQ(registry.find(place.id), place);
  place.has_database = true;
  place.kind = KnownPlace::Kind::project;
  registry.write(place);
  EXPECT_EQ(Registry::find()->find(place.id), place);
  EXPECT_THAT(registry.list(), ElementsAre(place));
  registry.forget(place.id);
  EXPECT_FALSE(registry.find(place.id));
}

TEST_F(RegistryTest, ids_are_random_and_never_paths) {
  EXPECT_NE(make_identity(), make_identity());
  EXPECT_TRUE(is_identity(make_identity()));
  const Registry registry = Registry::open();
  for (const char* id : {"", "..", "../../x", "0123456789ABCDEF0123456789ABCDEF", "0123"}) {
    EXPECT_FALSE(is_identity(id)) << id;
    EXPECT_FALSE(registry.find(id)) << id;
  }
}

TEST_F(RegistryTest, symlinked_or_broken_entry_is_unknown) {
  const Registry registry = Registry::open();
  const KnownPlace place{.id = make_identity(), .path = "/x", .inode = 1};
  registry.write(place);
  const fs::path file = Registry::location() / place.id;
  const fs::path other = scratch_.path() / "other";
  fs::rename(file, other);
  fs::create_symlink(other, file);
  EXPECT_FALSE(registry.find(place.id));
  fs::remove(file);
  for (const char* text : {"", "reeve-known 1\n", "reeve-known 1\nkind state\ninode x\ndatabase no\npath /x\n",
                           "reeve-known 1\nkind state\ninode 1\ndatabase no\npath x\n",
                           "reeve-known 1\nkind state\ninode 1\ndatabase no\npath /x"}) {
    std::ofstream(file) << text;
    EXPECT_FALSE(registry.find(place.id)) << text;
  }
}

}  // namespace
}  // namespace reeve::project
