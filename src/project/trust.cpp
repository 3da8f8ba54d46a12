#include "project/trust.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/beneath.h"
#include "os/file.h"
#include "project/project.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Value;

constexpr std::size_t longest_record = 16 * base::limits::kib;
// The file name is derived from the project's path, so that no record can pass for another project's.
constexpr std::string_view trust_ending = ".trust";
constexpr std::string_view shown_ending = ".shown";

bool is_ours(int fd, mode_t kind) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == kind && info.st_uid == ::geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The canonical path of a project, whatever symlinks it was reached by.
std::optional<std::string> canonical_path(const fs::path& project) {
  std::error_code error;
  const fs::path path = fs::canonical(project, error);
  return error ? std::nullopt : std::optional(path.string());
}

std::string record_name(std::string_view path, std::string_view ending) {
  return fmt::format("{}{}", base::sha256_hex(path), ending);
}

enum class Missing { leave, make };

// Opens folder by folder, starting at one that the user owns, without following symlinks.
std::optional<os::Folder> open_records(Missing missing) {
  const auto root = user_state_folder();
  if (!root) return std::nullopt;
  if (missing == Missing::make) os::create_folders(root->parent_path());
  std::optional<os::Folder> folder;
  try {
    folder = os::Folder::open(root->parent_path().string());
  } catch (const base::Error&) {
    return std::nullopt;
  }
  for (const std::string name : {"reeve", "trust"}) {
    if (missing == Missing::make) folder->make_folder(name, 0700);
    auto next = folder->open_folder(name);
    if (!next || !is_ours(next->fd(), S_IFDIR)) return std::nullopt;
    folder = std::move(*next);
  }
  return folder;
}

std::string read_text(const os::Folder& folder, const std::string& name) {
  // Never blocks on a pipe, whatever the file is.
  const auto file = folder.open_file(name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (!file || !is_ours(file->get(), S_IFREG)) return {};
  std::string text;
  std::array<char, 4096> block{};
  while (text.size() <= longest_record) {
    const ssize_t count = ::read(file->get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  return text.size() <= longest_record ? text : std::string();
}

bool is_recorded(const fs::path& project, std::string_view ending, std::string_view digest) {
  const auto path = canonical_path(project);
  const auto folder = path ? open_records(Missing::leave) : std::nullopt;
  if (!folder) return false;
  const auto record = json::parse(read_text(*folder, record_name(*path, ending)));
  const auto says = [&](std::string_view key, std::string_view wanted) {
    const Value* found = record ? record->find(key) : nullptr;
    return found != nullptr && found->as_string() != nullptr && *found->as_string() == wanted;
  };
  return says("project", base::replace_invalid_utf8(*path)) && says("digest", digest);
}

[[noreturn]] void refuse(std::string_view what) {
  throw base::Error(
      ErrorCode::config_trust_unwritable,
      fmt::format("cannot {} in {}/trust", what, user_state_folder().value_or("$XDG_STATE_HOME/reeve").string()),
      "it must be a folder, not a symlink, that you own and only you can write to");
}

void record(const fs::path& project, std::string_view ending, std::string_view digest) {
  const auto path = canonical_path(project);
  const auto folder = path ? open_records(Missing::make) : std::nullopt;
  Value document = Value::object();
  document.set("project", Value::string(base::replace_invalid_utf8(path.value_or(""))));
  document.set("digest", Value::string(digest));
  if (!folder || !folder->replace_file(record_name(*path, ending), json::encode(document) + "\n")) {
    refuse("record what you trust");
  }
}

}  // namespace

std::optional<fs::path> user_state_folder() {
  std::optional<fs::path> folder;
  if (const auto state = variable("XDG_STATE_HOME")) folder = fs::path(*state) / "reeve";
  if (const auto home = variable("HOME"); home && !folder) folder = fs::path(*home) / ".local" / "state" / "reeve";
  return folder && folder->is_absolute() ? folder : std::nullopt;
}

std::optional<fs::path> make_trust_folder() {
  return open_records(Missing::make) ? std::optional(*user_state_folder() / "trust") : std::nullopt;
}

bool is_trusted(const fs::path& project, std::string_view digest) { return is_recorded(project, trust_ending, digest); }

void record_trust(const fs::path& project, std::string_view digest) { record(project, trust_ending, digest); }

bool revoke_trust(const fs::path& project) {
  const auto path = canonical_path(project);
  const auto folder = path ? open_records(Missing::leave) : std::nullopt;
  if (!folder) return false;
  if (folder->remove(record_name(*path, trust_ending))) return true;
  if (errno != ENOENT) refuse("revoke your trust");
  return false;
}

bool were_commands_shown(const fs::path& project, std::string_view digest) {
  return is_recorded(project, shown_ending, digest);
}

void record_commands_shown(const fs::path& project, std::string_view digest) noexcept {
  try {
    record(project, shown_ending, digest);
  } catch (const std::exception&) {
    // Then they are shown again next time.
  }
}

}  // namespace reeve::project
