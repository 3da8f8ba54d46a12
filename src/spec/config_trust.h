#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/problem.h"
#include "base/value.h"
#include "spec/yaml.h"

// What a project's config file may decide for the person who cloned it (SPEC §7, "Trust").
namespace reeve::spec {

// A value as the project's file has it.
struct ProjectValue {
  // "tools.claude.pass_env".
  std::string path;
  base::Value value;
  // "file:line".
  std::string origin;
};

struct IgnoredValue : ProjectValue {
  // "this project's config is not trusted".
  std::string reason;
};

struct ProjectTrust {
  // Somebody has looked at exactly these keys and trusted them.
  bool is_trusted = false;
  // SHA-256 over `keys`.
  std::string digest;
  // All that counts only for whoever trusts the project.
  std::vector<ProjectValue> keys;
  // What does not count, and would change something.
  std::vector<IgnoredValue> ignored;
  // The programs that the project's file brings along, as far as it counts, and SHA-256 over them; empty for none.
  std::vector<ProjectValue> commands;
  std::string commands_digest;
};

// Whether `store`, `server`, `log`, `notify` and `supervision` of a project count once it is trusted: they belong to a
// daemon, and count only where that daemon is the project's own.
enum class DaemonKeys { count, ignored };

// Asked once, with the digest of the keys that need trust.
using TrustJudge = std::function<bool(const std::string& digest)>;

struct LeftOut {
  std::vector<std::string> path;
  IgnoredValue value;
  base::Problem warning;
};

// The project's file without what does not count, and with what the user's file adds to its lists of secrets.
struct JudgedProject {
  YamlNode root;
  // Its `ignored` is empty: what was left out need not change anything.
  ProjectTrust trust;
  std::vector<LeftOut> left_out;
};
// A missing judge trusts nothing.
JudgedProject judge_project(const YamlNode& project, const YamlNode* user, const TrustJudge& judge, DaemonKeys daemon);

}  // namespace reeve::spec
