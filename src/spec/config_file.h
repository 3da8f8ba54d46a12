#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/problem.h"
#include "model/config.h"
#include "spec/config_trust.h"
#include "spec/source.h"
#include "spec/yaml.h"

// The config and where each of its values comes from (SPEC §7).
namespace reeve::spec {

// Lowest precedence first; a later layer overrides an earlier one key by key.
struct ConfigSources {
  std::shared_ptr<const Source> user;
  std::shared_ptr<const Source> project;
  // The environment variables that set a config value: REEVE_STORE, REEVE_SUPERVISION_LEASE.
  std::vector<std::pair<std::string, std::string>> environment;
  // "supervision.lease=30s", as given to --set.
  std::vector<std::string> settings;
  // Decides whether the project's file is trusted; if unset, it is not.
  TrustJudge is_trusted = {};
  DaemonKeys daemon_keys = DaemonKeys::count;
};

enum class ConfigLayer { built_in, user, project, environment, setting };

struct ConfigEntry {
  // "tools.claude.timeout".
  std::string path;
  base::Value value;
  ConfigLayer layer = ConfigLayer::built_in;
  // "file:line", a variable, a flag, or "default".
  std::string origin;
};

class LoadedConfig {
 public:
  const model::Config& config() const noexcept { return config_; }
  // Includes a warning for each setting that the project's file may not make.
  const base::Problems& warnings() const noexcept { return warnings_; }
  // Empty without a project file.
  const ProjectTrust& project_trust() const noexcept { return project_trust_; }
  // Every value, in documentation order.
  std::vector<ConfigEntry> entries() const;

 private:
  friend base::Result<LoadedConfig> parse_config(const ConfigSources& sources);

  struct Layer {
    ConfigLayer kind;
    YamlDocument document;
  };
  ConfigLayer layer_of(const YamlNode& node) const;

  model::Config config_;
  std::vector<Layer> layers_;
  YamlNode merged_;
  base::Problems warnings_;
  ProjectTrust project_trust_;
};

// All problems of all layers at once.
base::Result<LoadedConfig> parse_config(const ConfigSources& sources);

// The variables that set config values, with the paths they set: {"REEVE_STORE", "store"}.
std::vector<std::pair<std::string, std::string>> config_variables();

}  // namespace reeve::spec
