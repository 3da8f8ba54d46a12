#include "runtime/runs/launch_fingerprint.h"

#include <filesystem>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class LaunchFingerprintTest : public ::testing::Test {
 protected:
  LaunchFingerprintTest() {
    fs::create_directories(scratch_.path() / "work");
    fs::create_directories(scratch_.path() / "run");
    scratch_.write("work/deploy.sh", "echo one\n");
    plan_.tool = "deploy";
    plan_.argv = {"sh", "deploy.sh", "--fast"};
    plan_.cwd = (scratch_.path() / "work").string();
    plan_.environment = {{"PATH", "/usr/bin:/bin"}, {"TARGET", "staging"}};
  }
  engine::LaunchFingerprint describe() const { return take_fingerprint(plan_, (scratch_.path() / "run").string()); }
  // The change that a later question would name; empty if there is none, and then the digest is the same too.
  std::string change_since(const engine::LaunchFingerprint& before) const {
    const engine::LaunchFingerprint now = describe();
    const auto kept = decode_fingerprint(encode_fingerprint(before));
    EXPECT_TRUE(kept);
    const std::string change = find_change(*kept, now);
    EXPECT_EQ(change.empty(), engine::digest_of(before) == engine::digest_of(now)) << change;
    return change;
  }

  testing::ScratchFolder scratch_;
  RunPlan plan_;
};

// APR-10
TEST_F(LaunchFingerprintTest, change_is_reported_by_name) {
  const engine::LaunchFingerprint before = describe();
  EXPECT_EQ(change_since(before), "");
  scratch_.write("work/deploy.sh", "echo two\n");
  EXPECT_EQ(change_since(before), "the script `deploy.sh`");
  scratch_.write("work/deploy.sh", "echo one\n");
  EXPECT_EQ(change_since(before), "") << "nothing has changed";
  plan_.environment["TARGET"] = "production";
  EXPECT_EQ(change_since(before), "the variable `TARGET`");
  plan_.environment.erase("TARGET");
  EXPECT_EQ(change_since(before), "the environment");
  plan_.environment["TARGET"] = "staging";
  plan_.argv[2] = "--slow";
  EXPECT_EQ(change_since(before), "the command");
  plan_.argv[2] = "--fast";
  plan_.tool = "other";
  EXPECT_EQ(change_since(before), "the tool");
  plan_.tool = "deploy";
  scratch_.write("run/prompt", "delete everything");
  EXPECT_EQ(change_since(before), "the arguments");
}

// The working folder counts by identity, not by name.
TEST_F(LaunchFingerprintTest, replaced_folder_is_detected_by_identity) {
  const engine::LaunchFingerprint before = describe();
  fs::rename(scratch_.path() / "work", scratch_.path() / "gone");
  fs::create_directories(scratch_.path() / "work");
  fs::copy_file(scratch_.path() / "gone/deploy.sh", scratch_.path() / "work/deploy.sh");
  EXPECT_EQ(change_since(before), "the working folder");
}

TEST_F(LaunchFingerprintTest, command_found_by_path_is_fingerprinted) {
  const fs::path bin = scratch_.path() / "bin";
  scratch_.write("bin/tool", "#!/bin/sh\n");
  fs::permissions(bin / "tool", fs::perms::owner_all);
  plan_.environment["PATH"] = bin.string();
  plan_.argv = {"tool"};
  const engine::LaunchFingerprint before = describe();
  ASSERT_EQ(before.scripts.size(), 1U);
  scratch_.write("bin/tool", "#!/bin/sh\nrm -rf /\n");
  EXPECT_EQ(change_since(before), "the script `tool`");
  fs::remove(bin / "tool");
  EXPECT_EQ(change_since(before), "the scripts");
}

// A pipe, device or folder among the arguments does not block, and a large file is not read.
TEST_F(LaunchFingerprintTest, reads_only_small_regular_files) {
  ASSERT_EQ(::mkfifo((scratch_.path() / "work/pipe").c_str(), 0600), 0);
  scratch_.write("work/large", "x");
  fs::resize_file(scratch_.path() / "work/large", 8U << 20U);
  plan_.argv = {"/nowhere/tool", "pipe", "/dev/zero", ".", "", std::string(10'000, 'x'), "large"};
  const engine::LaunchFingerprint before = describe();
  ASSERT_EQ(before.scripts.size(), 1U);
  EXPECT_EQ(before.scripts[0].path, "large");
  EXPECT_THAT(before.scripts[0].sha256, ::testing::StartsWith("file:"));
  fs::resize_file(scratch_.path() / "work/large", 9U << 20U);
  EXPECT_EQ(change_since(before), "the script `large`");
  plan_.cwd = "/nowhere";
  EXPECT_EQ(describe().cwd.inode, 0U);
}

// LOG-4: the saved fingerprint contains no secret.
TEST_F(LaunchFingerprintTest, stores_no_environment_values_or_secrets) {
  plan_.environment["API_TOKEN"] = "hunter2";
  plan_.argv.emplace_back("--password=hunter2");
  const std::string text = encode_fingerprint(describe());
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  EXPECT_THAT(text, HasSubstr("API_TOKEN"));
}

TEST_F(LaunchFingerprintTest, damaged_file_decodes_to_nothing) {
  for (const char* text : {"", "{", "[]", R"({"tool": 3})", "\xff"}) EXPECT_FALSE(decode_fingerprint(text)) << text;
  EXPECT_EQ(fingerprint_file("sha256:0123456789abcdef0123456789abcdef"), "approved-0123456789abcdef01234567");
  EXPECT_EQ(fingerprint_file("x"), "approved-x");
}

}  // namespace
}  // namespace reeve::runtime
