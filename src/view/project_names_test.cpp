#include "view/project_names.h"

#include <gtest/gtest.h>

namespace reeve::view {
namespace {

using model::make_project_ref;

TEST(ProjectNames, a_project_is_called_by_its_folder) {
  ProjectNames names;
  names.add(make_project_ref("/home/me/shop"));
  names.add(make_project_ref("/home/me/site/"));
  EXPECT_EQ(names.of(make_project_ref("/home/me/shop")), "shop");
  EXPECT_EQ(names.of(make_project_ref("/home/me/site")), "site");
  EXPECT_EQ(names.of(std::nullopt), "");
}

TEST(ProjectNames, projects_of_the_same_name_are_told_apart) {
  ProjectNames names;
  names.add(make_project_ref("/home/me/work/shop"));
  names.add(make_project_ref("/home/me/play/shop"));
  names.add(make_project_ref("/home/me/play/shop"));
  EXPECT_EQ(names.of(make_project_ref("/home/me/work/shop")), "work/shop");
  EXPECT_EQ(names.of(make_project_ref("/home/me/play/shop")), "play/shop");
}

TEST(ProjectNames, names_are_unique) {
  ProjectNames names;
  names.add(make_project_ref("/a/work/shop"));
  names.add(make_project_ref("/b/work/shop"));
  names.add(make_project_ref("/shop"));
  EXPECT_EQ(names.of(make_project_ref("/a/work/shop")), "/a/work/shop");
  EXPECT_EQ(names.of(make_project_ref("/b/work/shop")), "/b/work/shop");
  EXPECT_EQ(names.of(make_project_ref("/shop")), "/shop");
}

// LOG-3
TEST(ProjectNames, control_characters_in_a_name_are_made_visible) {
  ProjectNames names;
  EXPECT_EQ(names.of(make_project_ref("/tmp/a\x1b[2Jb")).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace reeve::view
