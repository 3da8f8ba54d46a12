#include "spec/config_file.h"

#include <algorithm>
#include <filesystem>
#include <ranges>

#include "json/describe.h"
#include "spec/bind.h"
#include "spec/config_check.h"

namespace reeve::spec {

namespace {

using base::ErrorCode;
using Path = std::vector<std::string_view>;

// A policy rule is replaced as a whole: merging two rules would allow calls that neither file allows.
bool is_policy_rule(const Path& path) {
  if (path.size() < 3 || path[0] != "policies") return false;
  return path[1] == "tools" || path.size() >= 4;
}

void merge(YamlNode& below, const YamlNode& above, Path& path) {
  // An empty block has no members, so it overrides nothing.
  if (below.kind == YamlKind::mapping && above.is_null()) return;
  if (below.kind != YamlKind::mapping || above.kind != YamlKind::mapping || is_policy_rule(path)) {
    below = above;
    return;
  }
  for (std::size_t i = 0; i < above.member_count(); ++i) {
    const YamlNode& key = above.key(i);
    path.push_back(key.text);
    if (const YamlNode* old = below.find(key.text)) {
      merge(below.items[static_cast<std::size_t>(old - below.items.data())], above.value(i), path);
    } else {
      below.items.push_back(key);
      below.items.push_back(above.value(i));
    }
    path.pop_back();
  }
}

// {a: {b: value}} for "a.b".
YamlNode wrap(YamlNode value, std::string_view path) {
  const Path names = base::split(path, '.');
  for (const std::string_view name : names | std::views::reverse) {
    YamlNode key;
    key.source = value.source;
    key.text = name;
    YamlNode mapping;
    mapping.source = value.source;
    mapping.kind = YamlKind::mapping;
    mapping.items.push_back(std::move(key));
    mapping.items.push_back(std::move(value));
    value = std::move(mapping);
  }
  return value;
}

std::optional<YamlDocument> make_setting(const std::string& setting, base::Problems& problems) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    problems.add({.code = ErrorCode::config_bad_setting,
                  .message = fmt::format("{} is not a valid setting", base::quoted(setting)),
                  .fix = "write it as --set KEY=VALUE, such as --set supervision.lease=30s"});
    return std::nullopt;
  }
  const std::string path = setting.substr(0, equals);
  if (base::trim(setting.substr(equals + 1)).empty()) {
    problems.add({.code = ErrorCode::config_bad_setting,
                  .message = fmt::format("{} has no value", base::quoted(setting)),
                  .fix = "write it as --set KEY=VALUE; `off` disables a limit"});
    return std::nullopt;
  }
  auto source = std::make_shared<const Source>(fmt::format("--set {}", path), setting.substr(equals + 1));
  auto document = parse_yaml(source, problems);
  if (document) document->root = wrap(std::move(document->root), path);
  return document;
}

YamlDocument make_variable(const std::string& name, const std::string& value, std::string_view path) {
  auto source = std::make_shared<const Source>(name, value);
  YamlNode node;
  node.source = source.get();
  node.text = value;
  node.is_plain = true;
  // A variable that is set has a value: `null` is a string there.
  node.is_plain = !node.is_null();
  node.length = static_cast<std::uint32_t>(std::max<std::size_t>(base::count_characters(value), 1));
  return {source, wrap(std::move(node), path)};
}

// Visits the leaves of a config: values that are neither objects nor inside a list.
template <class Visit>
void visit_leaves(const base::Value& value, std::vector<std::string>& path, Visit visit) {
  const base::Value::Object* object = value.as_object();
  if (object == nullptr || (object->empty() && !path.empty())) return visit(path, value);
  for (const base::Member& member : *object) {
    path.push_back(member.key);
    visit_leaves(member.value, path, visit);
    path.pop_back();
  }
}

// Scalars only: a variable can neither select a tool nor hold a list.
bool can_be_variable(const std::vector<std::string>& path, const base::Value& value) {
  // REEVE_STATE names the folder itself.
  const bool is_state = path.size() == 1 && path.front() == "state";
  return value.as_array() == nullptr && value.as_object() == nullptr && !path.empty() && !is_state;
}

const base::Value* find_value(const base::Value& root, const std::vector<std::string>& path) {
  const base::Value* value = &root;
  for (const std::string& name : path) {
    if (value != nullptr) value = value->find(name);
  }
  return value;
}

// Reports the settings left out of a project's file that would make a difference. `whole` is the config with them.
void name_ignored(std::vector<LeftOut> left_out, const model::Config& config, const model::Config& whole,
                  ProjectTrust& trust, base::Problems& problems) {
  if (left_out.empty()) return;
  const base::Value mine = json::to_value(config);
  const base::Value theirs = json::to_value(whole);
  for (LeftOut& value : left_out) {
    const base::Value* here = find_value(mine, value.path);
    const base::Value* there = find_value(theirs, value.path);
    const bool is_same = here == nullptr || there == nullptr ? here == there : *here == *there;
    if (is_same) continue;
    trust.ignored.push_back(std::move(value.value));
    problems.add(std::move(value.warning));
  }
}

// A relative path in a config file is relative to that file.
void resolve_path(std::string& path, const YamlNode* node) {
  const std::filesystem::path given = path;
  if (node == nullptr || path.empty() || given.is_absolute()) return;
  const std::filesystem::path file = node->source->name();
  if (file.has_parent_path()) path = (file.parent_path() / given).lexically_normal().string();
}

void resolve_paths(model::Config& config, const YamlNode& root) {
  const YamlNode* notify = root.find("notify");
  for (std::size_t i = 0; i < config.notify.size(); ++i) {
    const YamlNode* entry = notify != nullptr ? notify->at(i) : nullptr;
    if (entry != nullptr && config.notify[i].secret_file) {
      resolve_path(*config.notify[i].secret_file, entry->find("secret_file"));
    }
  }
  if (!config.server.tls) return;
  const YamlNode* server = root.find("server");
  const YamlNode* tls = server != nullptr ? server->find("tls") : nullptr;
  if (tls == nullptr) return;
  resolve_path(config.server.tls->certificate, tls->find("certificate"));
  resolve_path(config.server.tls->key, tls->find("key"));
}

bool is_blank(const Source& source) {
  // A config file that contains only comments is valid.
  std::string_view rest = source.text();
  while (!rest.empty()) {
    const std::string_view line = base::trim(rest.substr(0, rest.find('\n')));
    if (!line.empty() && line.front() != '#') return false;
    const std::size_t end = rest.find('\n');
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return true;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> config_variables() {
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> path;
  visit_leaves(json::to_value(model::Config{}), path, [&](const std::vector<std::string>& names, const base::Value& v) {
    if (!can_be_variable(names, v)) return;
    variables.emplace_back("REEVE_" + base::to_ascii_upper(base::join(names, "_")), base::join(names, "."));
  });
  return variables;
}

base::Result<LoadedConfig> parse_config(const ConfigSources& sources) {
  base::Problems problems;
  LoadedConfig loaded;
  const auto add = [&](ConfigLayer kind, std::optional<YamlDocument> document) {
    if (document) loaded.layers_.push_back({kind, std::move(*document)});
  };
  const auto add_file = [&](ConfigLayer kind, const std::shared_ptr<const Source>& source) {
    if (source != nullptr && !is_blank(*source)) add(kind, parse_yaml(source, problems));
  };
  add_file(ConfigLayer::user, sources.user);
  add_file(ConfigLayer::project, sources.project);
  for (const auto& [variable, path] : config_variables()) {
    for (const auto& [name, value] : sources.environment) {
      if (name == variable) add(ConfigLayer::environment, make_variable(name, value, path));
    }
  }
  for (const std::string& setting : sources.settings) add(ConfigLayer::setting, make_setting(setting, problems));

  // Each layer is checked separately first, so that a later layer cannot hide a mistake.
  for (const auto& layer : loaded.layers_) {
    model::Config alone;
    Binder(config_codes, problems, Binder::Required::ignore).bind(layer.document.root, alone);
  }

  static const Source nothing("config", "");
  loaded.merged_.source = &nothing;
  loaded.merged_.kind = YamlKind::mapping;
  // Includes everything in the project's file, to find out what it would change.
  YamlNode whole = loaded.merged_;
  std::vector<LeftOut> left_out;
  const YamlNode* user = nullptr;
  for (const auto& layer : loaded.layers_) {
    const YamlNode& root = layer.document.root;
    if (root.is_null()) continue;
    Path path;
    merge(whole, root, path);
    if (layer.kind == ConfigLayer::user) user = &root;
    if (layer.kind != ConfigLayer::project) {
      merge(loaded.merged_, root, path);
      continue;
    }
    if (sources.daemon_keys == DaemonKeys::refused) refuse_daemon_keys(root, problems);
    JudgedProject judged = judge_project(root, user, sources.is_trusted, sources.daemon_keys);
    merge(loaded.merged_, judged.root, path);
    loaded.project_trust_ = std::move(judged.trust);
    left_out = std::move(judged.left_out);
  }
  // A file that contains only comments needs no trust and is judged as empty.
  if (sources.project != nullptr && loaded.project_trust_.digest.empty()) {
    YamlNode empty;
    empty.source = &nothing;
    empty.kind = YamlKind::mapping;
    loaded.project_trust_ = judge_project(empty, user, sources.is_trusted, sources.daemon_keys).trust;
  }
  // The merged config is read even if a layer has errors, so that all problems are reported at once; append_new() drops
  // duplicates.
  const auto is_from_project = [&](const YamlNode& node) { return loaded.layer_of(node) == ConfigLayer::project; };
  const auto read_whole = [&](const YamlNode& root, model::Config& config) {
    base::Problems found;
    Binder binder(config_codes, found);
    binder.bind(root, config);
    check_config(config, root, is_from_project, binder);
    return found;
  };
  // Errors in ignored settings are reported too, except loosens_deny, because an ignored setting loosens nothing.
  model::Config with_ignored;
  base::Problems of_ignored;
  if (!left_out.empty()) {
    const base::Problems found = read_whole(whole, with_ignored);
    for (const base::Problem& problem : found.list()) {
      if (problem.code != ErrorCode::config_loosens_deny) of_ignored.add(problem);
    }
  }
  problems.append_new(of_ignored);
  // Otherwise an error in an ignored setting would be reported again as a missing value.
  if (!of_ignored.has_errors()) problems.append_new(read_whole(loaded.merged_, loaded.config_));
  problems.sort();
  if (problems.has_errors()) return std::unexpected(std::move(problems));
  resolve_paths(loaded.config_, loaded.merged_);
  name_ignored(std::move(left_out), loaded.config_, with_ignored, loaded.project_trust_, problems);
  problems.sort();
  loaded.warnings_ = std::move(problems);
  return loaded;
}

ConfigLayer LoadedConfig::layer_of(const YamlNode& node) const {
  for (const Layer& layer : layers_) {
    if (layer.document.source.get() == node.source) return layer.kind;
  }
  return ConfigLayer::built_in;
}

std::vector<ConfigEntry> LoadedConfig::entries() const {
  std::vector<ConfigEntry> entries;
  std::vector<std::string> path;
  visit_leaves(json::to_value(config_), path, [&](const std::vector<std::string>& names, const base::Value& value) {
    ConfigEntry entry{base::join(names, "."), value, ConfigLayer::built_in, "default"};
    const YamlNode* node = &merged_;
    for (const std::string& name : names) {
      const YamlNode* found = node->find(name);
      if (found == nullptr && node->kind == YamlKind::mapping) return entries.push_back(std::move(entry));
      if (found == nullptr) break;
      node = found;
    }
    entry.layer = layer_of(*node);
    if (entry.layer == ConfigLayer::built_in) return entries.push_back(std::move(entry));
    const bool is_file = entry.layer == ConfigLayer::user || entry.layer == ConfigLayer::project;
    entry.origin = is_file ? fmt::format("{}:{}", node->source->name(), node->line) : node->source->name();
    entries.push_back(std::move(entry));
  });
  return entries;
}

}  // namespace reeve::spec
