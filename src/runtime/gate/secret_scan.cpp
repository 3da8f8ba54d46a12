#include "runtime/gate/secret_scan.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/call_path.h"
#include "runtime/gate/real_path.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

// Programs of the system that links such as `.venv/bin/python` lead to: everybody may read them.
bool is_of_system(const std::string& path) { return is_beneath(path, "/usr"); }

}  // namespace

// By its last parts: those above have been looked at, or were judged as a part of the argument.
bool SecretScan::is_secret(const fs::path& path) {
  const std::string name = path.filename().string();
  if (engine::names_secret_file(name)) return true;
  const std::string parent = path.parent_path().filename().string();
  return parent.starts_with('.') && engine::names_secret_file(parent + "/" + name);
}

// Nothing: it is not followed. Empty: nobody can tell where it leads.
std::optional<std::string> SecretScan::follow(const std::string& link) const {
  std::string target = follow_links(link);
  if (target.empty() || is_beneath(target, root_)) return target;
  return is_of_system(target) ? std::nullopt : std::optional(std::string());
}

bool SecretScan::finds_any(const std::string& folder) {
  std::vector<std::string> folders = {folder};
  while (!folders.empty()) {
    const std::string at = std::move(folders.back());
    folders.pop_back();
    if (!seen_.insert(at).second) continue;
    std::error_code error;
    fs::directory_iterator entries(at, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      if (left_ == 0) return true;
      --left_;
      if (is_secret(entries->path())) return true;
      const std::string name = entries->path().filename().string();
      std::error_code unknown;
      bool is_folder = entries->is_directory(unknown) && name != ".git" && name != "node_modules";
      std::string path = entries->path().string();
      if (entries->is_symlink(unknown)) {
        const auto target = follow(path);
        if (!target) continue;
        // By all of its parts: nothing above it has been looked at.
        const std::string beneath = fs::path(*target).lexically_relative(root_).string();
        if (target->empty() || engine::names_secret_file(beneath)) return true;
        path = *target;
        is_folder = fs::is_directory(path, unknown);
      }
      if (is_folder) folders.push_back(std::move(path));
    }
    const bool is_hidden = error == std::errc::permission_denied || error == std::errc::no_such_file_or_directory;
    if (error && !is_hidden) return true;
  }
  return false;
}

}  // namespace reeve::runtime
