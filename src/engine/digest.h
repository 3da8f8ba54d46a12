#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// Ensures that what runs is what was approved (APR-10).
namespace reeve::engine {

// Identifies a folder by inode: a different folder under the same name is different.
struct FolderIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

struct ScriptContent {
  // As written in the command.
  std::string path;
  // Of the file contents.
  std::string sha256;
};

// Everything that a grant covers. The caller leaves out the variables that carry the decision itself.
struct LaunchFingerprint {
  std::string tool;
  std::vector<std::string> argv;
  FolderIdentity cwd;
  std::map<std::string, std::string> environment;
  // Script files named in the command, in order.
  std::vector<ScriptContent> scripts;
  // The diff under review, or the tool call's arguments as canonical JSON; empty if there is none.
  std::string diff;
  std::string arguments;
};

// "sha256:…". Digests are equal only if every part is equal: parts are length-prefixed, so that one text cannot pass
// for two.
std::string digest_of(const LaunchFingerprint& fingerprint);

// The part that changed, for the new question: "the environment", "the script `deploy.sh`"; empty if none.
std::string find_difference(const LaunchFingerprint& approved, const LaunchFingerprint& now);

}  // namespace reeve::engine
