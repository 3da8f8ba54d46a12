#include "runtime/gate/real_path.h"

#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

bool is_changeable(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return true;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return true;
  if (::geteuid() == 0) return status.st_uid != 0;
  return status.st_uid == ::geteuid() || ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

}  // namespace

std::string follow_links(const std::string& path) {
  constexpr int max_links = 40;
  fs::path at = "/";
  std::deque<fs::path> rest;
  const auto put_first = [&](const fs::path& parts) { rest.insert(rest.begin(), parts.begin(), parts.end()); };
  put_first(fs::path(path).relative_path());
  for (int links = 0; !rest.empty();) {
    const fs::path part = rest.front();
    rest.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      at = at.parent_path();
      continue;
    }
    std::error_code error;
    const fs::file_status status = fs::symlink_status(at / part, error);
    if (status.type() == fs::file_type::none) return {};
    if (!fs::is_symlink(status)) {
      at /= part;
      continue;
    }
    const fs::path target = fs::read_symlink(at / part, error);
    if (error || ++links > max_links) return {};
    if (target.is_absolute()) at = "/";
    put_first(target.relative_path());
  }
  return at.string();
}

bool is_beneath(const std::string& path, const std::string& folder) {
  return folder.empty() || path == folder || path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

bool is_replaceable(const std::string& file) {
  for (fs::path at = file;; at = at.parent_path()) {
    if (is_changeable(at.string())) return true;
    if (at == at.root_path()) return false;
  }
}

}  // namespace reeve::runtime
