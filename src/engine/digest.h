#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// What was approved is what runs (APR-10).
namespace reeve::engine {

// A folder by identity: another one under the same name is another one.
struct FolderIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

struct ScriptContent {
  // As the command names it.
  std::string path;
  // Of its contents.
  std::string sha256;
};

// Everything that a grant is given for. Whoever fills it leaves out the decision's own variables.
struct ApprovedThing {
  std::string tool;
  std::vector<std::string> argv;
  FolderIdentity cwd;
  std::map<std::string, std::string> environment;
  // Script files named in the command, in its order.
  std::vector<ScriptContent> scripts;
  // The diff that is asked for, or the tool call's arguments as canonical JSON; empty where there is none.
  std::string diff;
  std::string arguments;
};

// "sha256:…". Two things have the same digest only when every part is the same: parts are told apart by their lengths,
// so that no text can pass for two.
std::string digest_of(const ApprovedThing& thing);

// Which part changed, for the new question that says why: "the environment", "the script `deploy.sh`"; empty when none.
std::string find_difference(const ApprovedThing& approved, const ApprovedThing& now);

}  // namespace reeve::engine
