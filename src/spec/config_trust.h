#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/problem.h"
#include "base/value.h"
#include "model/config.h"
#include "spec/yaml.h"

// Which settings a project's config file may make for the user who cloned it (SPEC §7, "Trust").
namespace reeve::spec {

// A value in the project's file.
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
  // The user has reviewed and trusted exactly these keys.
  bool is_trusted = false;
  // SHA-256 over `keys`.
  std::string digest;
  // Settings that take effect only if the user trusts the project.
  std::vector<ProjectValue> keys;
  // Settings that are ignored although they would change something.
  std::vector<IgnoredValue> ignored;
  // The commands defined by the effective part of the project's file, and SHA-256 over them; empty for none.
  std::vector<ProjectValue> commands;
  std::string commands_digest;
};

// Whether `store`, `server`, `log`, `notify`, `supervision` and `retention` of a trusted project take effect: they
// configure a daemon, so they apply only to the project's own daemon. `ignored`: the project has one, but another
// daemon reads the file. `refused`: the project has none, so they are errors.
enum class DaemonKeys { count, ignored, refused };

// Called once, with the digest of the keys that need trust.
using TrustJudge = std::function<bool(const std::string& digest)>;

struct LeftOut {
  std::vector<std::string> path;
  IgnoredValue value;
  base::Problem warning;
};

// The project's file without its ignored settings, and with the user's lists of secrets merged in.
struct JudgedProject {
  YamlNode root;
  // `ignored` is left empty: a setting that was left out need not change anything.
  ProjectTrust trust;
  std::vector<LeftOut> left_out;
};
// Reports each key of a project's file that configures the daemon.
void refuse_daemon_keys(const YamlNode& project, base::Problems& problems);
// The value of the top-level key `state`, as far as the text can be parsed: needed before anything else is known.
std::optional<model::StatePlace> find_state_place(std::shared_ptr<const Source> source);

// An empty judge trusts nothing.
JudgedProject judge_project(const YamlNode& project, const YamlNode* user, const TrustJudge& judge, DaemonKeys daemon);

}  // namespace reeve::spec
