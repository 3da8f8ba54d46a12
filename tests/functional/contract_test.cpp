#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// The API matches its description (SPEC §7, UX "API manners"). tests/contract has the walker.
namespace reeve {
namespace {

using testing::Outcome;

class ContractTest : public testing::DaemonTest {};

// API: each operation of /api/openapi.json behaves as described, for invalid input too, and every response matches its
// schema.
TEST_F(ContractTest, every_operation_matches_its_description) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const std::string folder = testing::source_folder().string();
  const Outcome walked = testing::run_program(
      {.argv = {folder + "/tests/contract/walk", folder + "/docs/openapi.json", socket().string(), project().string()},
       .folder = project(),
       .environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", scratch().path().string()}, {"LANG", "C.UTF-8"}}});
  EXPECT_EQ(walked.code, 0) << walked.out << walked.err;
}

}  // namespace
}  // namespace reeve
