#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/projects.h"

// SPEC §7: `--here` and `--project` limit every listing to one project, wherever its records are.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

class ProjectScope : public testing::ProjectsTest {
 protected:
  std::vector<std::string> ids(const fs::path& folder, const Words& words) const {
    const Outcome listed = in(folder, words);
    EXPECT_EQ(listed.code, 0) << listed.err;
    return first_fields(listed.out);
  }
};

TEST_F(ProjectScope, a_project_with_its_own_state_is_listed_from_there) {
  const fs::path own = make_project("lib", "state: project\n");
  ask_in(own);
  ask_in(site());
  for (const char* daemon : {"running", "stopped"}) {
    for (const std::string& name : {std::string("lib"), own.string()}) {
      EXPECT_THAT(ids("/", {"runs", "--project", name}), ElementsAre("lib/TR-1")) << name << daemon;
      EXPECT_THAT(ids("/", {"approvals", "--project", name}), ElementsAre("lib/AP-1")) << name << daemon;
      EXPECT_THAT(ids("/", {"--project", name}), ElementsAre("lib/AP-1")) << name << daemon;
    }
    ASSERT_EQ(in(own, {"stop"}).code, 0);
  }
  EXPECT_THAT(in("/", {"runs", "--project", "lib", "--json"}).out, HasSubstr(R"("lib/TR-1")"));
  EXPECT_THAT(ids(own, {"runs", "--project", "lib"}), ElementsAre("TR-1")) << "there, ids need no prefix";
  EXPECT_THAT(ids("/", {"runs", "--project", "site"}), ElementsAre("TR-1"));
  EXPECT_EQ(in("/", {"reject", "lib/AP-1"}).code, 0);
}

TEST_F(ProjectScope, commands_for_one_project_reach_its_own_state) {
  const fs::path own = make_project("lib", "state: project\n");
  EXPECT_EQ(in(own, {"run", "--", "false"}).code, 1);
  EXPECT_EQ(in(site(), {"run", "--", "false"}).code, 1);
  EXPECT_THAT(ids("/", {"--project", "lib"}), ElementsAre("lib/TR-1"));
  EXPECT_EQ(in("/", {"seen", "--all", "--project", "lib"}).out, "all failures of the project dismissed\n");
  EXPECT_THAT(ids("/", {"--project", "lib"}), IsEmpty());
  EXPECT_THAT(ids("/", {"--project", "site"}), ElementsAre("TR-1")) << "another project";
  EXPECT_THAT(in("/", {"events", "--since", "0", "--project", "lib"}).out, HasSubstr("\tlib/TR-1\t"));
}

// A folder that only says so is not opened: nothing has run there.
TEST_F(ProjectScope, a_state_folder_that_is_not_registered_is_not_used) {
  const fs::path hostile = make_project("hostile", "state: project\n");
  ask_in(site());
  EXPECT_THAT(ids("/", {"runs", "--project", hostile.string()}), IsEmpty());
  EXPECT_NE(in("/", {"events", "--since", "0", "--project", hostile.string()}).code, 0);
  EXPECT_FALSE(fs::exists(hostile / ".reeve/state"));
}

TEST_F(ProjectScope, events_can_be_narrowed_to_one_project) {
  ask_in(shop());
  ask_in(site());
  const Outcome named = in("/", {"events", "--since", "0", "--project", "shop"});
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_THAT(named.out, AllOf(HasSubstr("\tTR-1\t"), HasSubstr("\tAP-1\t"), Not(HasSubstr("TR-2"))));
  EXPECT_THAT(in(site(), {"events", "--since", "0", "--here", "--json"}).out,
              AllOf(HasSubstr(R"("TR-2")"), Not(HasSubstr(R"("TR-1")"))));
}

TEST_F(ProjectScope, patches_and_pipelines_can_be_narrowed_to_one_project) {
  ask_in(shop());
  for (const char* list : {"patch", "pipeline"}) {
    EXPECT_THAT(ids("/", {list, "list", "--project", "shop"}), IsEmpty()) << list;
    EXPECT_THAT(ids(shop(), {list, "list", "--here"}), IsEmpty()) << list;
    EXPECT_EQ(in("/", {list, "list", "--here"}).code, 2) << list;
    EXPECT_EQ(in("/", {list, "list", "--project", "shob"}).code, 3) << list;
  }
  EXPECT_EQ(in("/", {"patch", "list", "EX-1", "--project", "shop"}).code, 2);
  EXPECT_EQ(in(shop(), {"pipeline", "list", "--defined", "--here"}).code, 2);
}

}  // namespace
}  // namespace reeve
