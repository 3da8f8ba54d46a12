#include "engine/call_path.h"

#include <algorithm>
#include <array>

#include "base/glob.h"
#include "base/text.h"

namespace reeve::engine {

namespace {

constexpr auto path_arguments = std::to_array<std::string_view>(
    {"path",          "paths",     "file",          "files",    "file_path", "filePath", "filename",
     "directory",     "dir",       "folder",        "root",     "cwd",       "glob",     "include",
     "notebook_path", "filepath",  "absolute_path", "abs_path", "dir_path",  "workdir",  "working_directory",
     "target_file",   "move_path", "movePath"});

constexpr auto secret_names = std::to_array<std::string_view>(
    {".ssh",         ".gnupg",          ".aws",       ".azure",  ".kube",     ".docker",
     ".gcloud",      ".password-store", ".env*",      "*.pem",   "*.key",     "*.p12",
     "*.pfx",        "*.jks",           "*.keystore", "*.kdbx",  "*.token",   "*_rsa",
     "*_dsa",        "*_ecdsa",         "*_ed25519",  "id_*",    ".netrc",    "_netrc",
     ".npmrc",       ".pypirc",         ".pgpass",    ".my.cnf", ".htpasswd", ".git-credentials",
     ".vault-token", "credentials*"});

// Removes `.`, `..` and empty parts. `..` at the root stays at the root, as in the kernel.
std::string normalise(std::string_view absolute) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : base::split(absolute, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string result;
  for (const std::string_view part : parts) result.append("/").append(part);
  return result.empty() ? "/" : result;
}

std::optional<std::string> find_beneath(std::string_view folder, std::string_view absolute) {
  if (!folder.starts_with('/')) return std::nullopt;
  std::string root = normalise(folder);
  if (absolute == root) return ".";
  if (root != "/") root += '/';
  if (!absolute.starts_with(root)) return std::nullopt;
  return std::string(absolute.substr(root.size()));
}

bool add_path(const base::Value& value, std::vector<std::string>& paths) {
  const std::string* text = value.as_string();
  if (text == nullptr || text->empty()) return false;
  paths.push_back(*text);
  return true;
}

}  // namespace

bool names_path(std::string_view argument) noexcept {
  return std::ranges::find(path_arguments, argument) != path_arguments.end();
}

std::optional<std::vector<std::string>> find_paths(const base::Value& arguments) {
  std::vector<std::string> paths;
  const base::Value::Object* members = arguments.as_object();
  if (members == nullptr) return std::nullopt;
  for (const base::Member& member : *members) {
    if (!names_path(member.key)) continue;
    if (const base::Value::Array* list = member.value.as_array()) {
      const auto add = [&](const base::Value& value) { return add_path(value, paths); };
      if (list->empty() || !std::ranges::all_of(*list, add)) return std::nullopt;
    } else if (!add_path(member.value, paths)) {
      return std::nullopt;
    }
  }
  return paths;
}

namespace {

// Braces are expanded before a pattern is a path: "{../..,src}/x".
bool has_hidden_path(std::string_view path) {
  return path.contains('{') && (path.contains("..") || path.contains("{/") || path.contains(",/"));
}

// `**` may stand for no folder at all, and `*` for a link: "a/**/../../x" may be beside "a".
bool climbs_after_wildcard(std::string_view path) {
  bool is_after = false;
  for (const std::string_view part : base::split(path, '/')) {
    if (is_after && part == "..") return true;
    is_after = is_after || has_wildcard(part);
  }
  return false;
}

}  // namespace

bool has_wildcard(std::string_view text) noexcept {
  if (text.find_first_of("*?[{\\") != std::string_view::npos) return true;
  return text.contains("!(") || text.contains("@(") || text.contains("+(");
}

CallPath locate_path(const CallPlace& place, std::string_view path) {
  const bool is_unclear = path.empty() || path.starts_with('~') || path.find('\0') != std::string_view::npos ||
                          has_hidden_path(path) || climbs_after_wildcard(path);
  if (is_unclear || !place.folder.starts_with('/')) return {std::string(path), std::nullopt, is_unclear};
  CallPath located;
  located.absolute = normalise(path.starts_with('/') ? std::string(path) : place.folder + "/" + std::string(path));
  located.beneath = find_beneath(place.folder, located.absolute);
  if (!located.beneath) located.beneath = find_beneath(place.real_folder, located.absolute);
  return located;
}

std::vector<CallPath> locate_all(const CallPlace& place, const std::string& path) {
  std::vector<CallPath> all = {locate_path(place, path)};
  const auto real = place.real_paths.find(path);
  if (real != place.real_paths.end()) {
    all.push_back({real->second, find_beneath(place.real_folder, real->second), real->second.empty()});
  }
  return all;
}

bool names_secret_file(std::string_view path) {
  const std::string lower = base::to_ascii_lower(path);
  std::string_view before;
  for (const std::string_view part : base::split(lower, '/')) {
    if (before == ".git" && part == "config") return true;
    if (before == ".reeve" && part == "state") return true;
    const auto matches = [&](std::string_view pattern) { return base::matches_glob(pattern, part); };
    if (std::ranges::any_of(secret_names, matches)) return true;
    before = part;
  }
  return false;
}

}  // namespace reeve::engine
