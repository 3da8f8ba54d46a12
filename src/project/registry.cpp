#include "project/registry.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "os/file.h"
#include "os/write.h"
#include "project/project.h"

namespace reeve::project {

namespace {

using base::ErrorCode;

namespace fs = std::filesystem;

constexpr std::size_t id_digits = 32;
constexpr std::size_t max_entry_bytes = 8'192;
constexpr std::size_t max_entries = 10'000;
constexpr std::string_view first_line = "reeve-known 1\n";

[[noreturn]] void fail(std::string_view what) {
  throw base::Error(
      ErrorCode::state_registry, fmt::format("the list of known state folders {}", what),
      "$XDG_STATE_HOME/reeve/known (default ~/.local/state/reeve/known) must be a folder that you own, mode 0700");
}

std::string encode(const KnownPlace& place) {
  // The path comes last: it may contain any byte.
  return fmt::format("{}kind {}\ninode {}\ndatabase {}\npath {}\n", first_line,
                     place.kind == KnownPlace::Kind::state ? "state" : "project", place.inode,
                     place.has_database ? "yes" : "no", place.path.string());
}

// Removes a line that begins with `word` from `text` and returns its rest.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view value = text.substr(word.size(), end - word.size());
  text.remove_prefix(end + 1);
  return value;
}

std::optional<KnownPlace> decode(std::string_view id, std::string_view text) {
  if (!text.starts_with(first_line)) return std::nullopt;
  text.remove_prefix(first_line.size());
  const auto kind = take_line(text, "kind ");
  const auto inode = take_line(text, "inode ");
  const auto database = take_line(text, "database ");
  constexpr std::string_view path_word = "path ";
  if (!kind || !inode || !database || !text.starts_with(path_word) || !text.ends_with('\n')) return std::nullopt;
  text.remove_prefix(path_word.size());
  text.remove_suffix(1);
  KnownPlace place{.id = std::string(id), .path = fs::path(text)};
  if (*kind != "state" && *kind != "project") return std::nullopt;
  place.kind = *kind == "state" ? KnownPlace::Kind::state : KnownPlace::Kind::project;
  place.has_database = *database == "yes";
  const auto [end, error] = std::from_chars(inode->data(), inode->data() + inode->size(), place.inode);
  if (error != std::errc() || end != inode->data() + inode->size() || !place.path.is_absolute()) return std::nullopt;
  return place;
}

bool is_still_there(const KnownPlace& place) {
  struct stat status{};
  return ::lstat(place.path.c_str(), &status) == 0 && status.st_ino == place.inode;
}

}  // namespace

std::string make_identity() { return base::random_hex(id_digits / 2); }

bool is_identity(std::string_view text) noexcept {
  return text.size() == id_digits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

fs::path Registry::location() {
  if (const auto state = variable("XDG_STATE_HOME")) return fs::path(*state) / "reeve" / "known";
  if (const auto home = variable("HOME")) return fs::path(*home) / ".local" / "state" / "reeve" / "known";
  throw base::Error(ErrorCode::state_registry, "there is no home folder to keep the list of known state folders in",
                    "set HOME or XDG_STATE_HOME");
}

std::optional<Registry> Registry::find() {
  const fs::path place = location();
  os::Fd folder(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && errno == ENOENT) return std::nullopt;
  if (!folder) fail(fmt::format("cannot be opened: {} is a symlink or not a folder", base::quoted(place.string())));
  struct stat status{};
  if (::fstat(folder.get(), &status) != 0 || status.st_uid != ::geteuid() || (status.st_mode & 0077U) != 0) {
    fail(fmt::format("cannot be trusted: {} belongs to another user, or other users can access it",
                     base::quoted(place.string())));
  }
  return Registry(std::move(folder));
}

Registry Registry::open() {
  const fs::path place = location();
  // $XDG_STATE_HOME/reeve may become a state folder.
  os::create_folders(place.parent_path().parent_path());
  for (const fs::path& folder : {place.parent_path(), place}) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      base::throw_errno(ErrorCode::state_registry, fmt::format("cannot create {}", base::quoted(folder.string())),
                        errno, "set XDG_STATE_HOME to a folder that you can write to");
    }
  }
  auto found = find();
  if (!found) fail("was just removed");
  return std::move(*found);
}

std::optional<KnownPlace> Registry::find(std::string_view id) const {
  if (!is_identity(id)) return std::nullopt;
  const os::Fd file(
      ::openat(folder_.get(), std::string(id).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT || errno == ELOOP) return std::nullopt;
    base::throw_errno(ErrorCode::state_registry, "cannot read the list of known state folders", errno);
  }
  struct stat status{};
  const bool is_ours = ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
                       static_cast<std::size_t>(status.st_size) <= max_entry_bytes;
  if (!is_ours) return std::nullopt;
  std::string text(max_entry_bytes, '\0');
  const ssize_t count = ::read(file.get(), text.data(), text.size());
  if (count < 0) base::throw_errno(ErrorCode::state_registry, "cannot read the list of known state folders", errno);
  text.resize(static_cast<std::size_t>(count));
  return decode(id, text);
}

std::vector<std::string> Registry::list_ids() const {
  std::vector<std::string> ids;
  const std::unique_ptr<DIR, decltype(&::closedir)> entries(
      ::fdopendir(::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), ::closedir);
  if (!entries) base::throw_errno(ErrorCode::state_registry, "cannot list the known state folders", errno);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own.
  while (const dirent* entry = ::readdir(entries.get())) {
    if (is_identity(entry->d_name) && ids.size() <= max_entries) ids.emplace_back(entry->d_name);
  }
  return ids;
}

std::vector<KnownPlace> Registry::list() const {
  std::vector<KnownPlace> places;
  for (const std::string& id : list_ids()) {
    if (auto place = find(id)) places.push_back(std::move(*place));
  }
  return places;
}

void Registry::make_room() const {
  std::size_t count = list_ids().size();
  if (count < max_entries) return;
  for (const KnownPlace& place : list()) {
    if (is_still_there(place)) continue;
    forget(place.id);
    --count;
  }
  if (count >= max_entries) fail(fmt::format("has {} entries, which is the limit", count));
}

void Registry::write(const KnownPlace& place) const {
  REEVE_ASSERT(is_identity(place.id) && place.path.is_absolute());
  const std::string text = encode(place);
  if (text.size() > max_entry_bytes) fail("cannot store a path this long");
  if (!find(place.id)) make_room();
  const auto check = [](bool is_done) {
    if (!is_done) {
      base::throw_errno(ErrorCode::state_registry, "cannot write the list of known state folders", errno,
                        "is the disk full?");
    }
  };
  const std::string draft = fmt::format("{}.draft.{}", place.id, ::getpid());
  ::unlinkat(folder_.get(), draft.c_str(), 0);
  {
    const os::Fd file(
        ::openat(folder_.get(), draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    check(static_cast<bool>(file));
    check(os::write_all(file.get(), text));
    check(::fsync(file.get()) == 0);
  }
  check(::renameat(folder_.get(), draft.c_str(), folder_.get(), place.id.c_str()) == 0);
  check(::fsync(folder_.get()) == 0);
}

void Registry::forget(std::string_view id) const noexcept {
  if (is_identity(id)) ::unlinkat(folder_.get(), std::string(id).c_str(), 0);
}

}  // namespace reeve::project
