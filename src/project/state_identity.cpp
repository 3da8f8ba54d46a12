#include "project/state_identity.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "os/claim.h"
#include "os/file.h"
#include "os/user.h"
#include "os/write.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

constexpr const char* id_name = "id";
constexpr const char* ignore_name = ".gitignore";
constexpr std::string_view aside_prefix = "before-";
// Names that may be in a new folder: those of a mount point, and of the user's registry.
constexpr std::array harmless_names = {".gitignore", "known", "trust", "trusted", "lost+found",
                                       // systemd creates it before the daemon starts.
                                       "reeve.sock"};
constexpr std::array database_names = {"reeve.db", "reeve.db-wal", "reeve.db-shm", "reeve.db-journal"};
constexpr std::size_t max_names = 1'000'000;

std::string shown(const fs::path& path) { return base::quoted(path.string()); }

// Quotes the path as a word of a shell command.
std::string as_word(const fs::path& path) {
  const std::string text = path.string();
  const bool is_plain = std::ranges::all_of(text, [](char c) {
    return base::is_ascii_letter(c) || base::is_ascii_digit(c) || std::string_view("/._-+@%:=").contains(c);
  });
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char c : text) c == '\'' ? quoted += R"('\'')" : quoted += c;
  return quoted + "'";
}

[[noreturn]] void refuse_unknown(const fs::path& root) {
  throw Error(ErrorCode::state_unknown,
              fmt::format("the state folder {} is not registered for you: it came with a clone or an archive, or an "
                          "older Reeve created it",
                          shown(root)),
              fmt::format("check it, and accept it if it is yours: reeve state adopt {}", as_word(root)));
}

[[noreturn]] void refuse_moved(const fs::path& root, const KnownPlace& known) {
  const bool is_same_path = known.path == resolve_parent(root);
  const fs::path around = root.parent_path();
  const fs::path named = around.filename() == ".reeve" ? around.parent_path() : root;
  throw Error(ErrorCode::state_moved,
              is_same_path
                  ? fmt::format("the state folder {} is not the one that was there before: was it restored or copied?",
                                shown(root))
                  : fmt::format("the state folder {} is registered as {}: was it moved or copied?", shown(root),
                                shown(known.path)),
              fmt::format("reeve project moved {0}, or: reeve project copied {0}", as_word(named)));
}

void refuse_owner(const fs::path& root, const struct stat& status) {
  if (status.st_uid == ::geteuid()) return;
  throw Error(ErrorCode::state_not_yours,
              fmt::format("the state folder {} belongs to {}", shown(root), os::user_name(status.st_uid)),
              "choose another with --state DIR or REEVE_STATE");
}

void refuse_open(const fs::path& root, const struct stat& status) {
  if ((status.st_mode & 0077U) == 0) return;
  throw Error(ErrorCode::state_not_private, fmt::format("other users can access the state folder {}", shown(root)),
              fmt::format("chmod 700 {}", as_word(root)));
}

[[noreturn]] void refuse_link(const fs::path& root, int error) {
  if (error == ELOOP || error == ENOTDIR) {
    throw Error(ErrorCode::state_link, fmt::format("the state folder {} is a symlink or not a folder", shown(root)),
                "give the folder itself: --state DIR or REEVE_STATE");
  }
  base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot open the folder {}", shown(root)), error);
}

struct Opened {
  os::Fd folder;
  struct stat status{};
};

// Opens the folder itself, owned by this user. Nothing if it does not exist.
std::optional<Opened> open_own(const fs::path& root) {
  Opened opened{.folder = os::Fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))};
  if (!opened.folder) {
    if (errno == ENOENT) return std::nullopt;
    // The owner explains more than the fact that it cannot be read.
    const int error = errno;
    struct stat status{};
    const bool is_named = ::lstat(root.c_str(), &status) == 0;
    if (error == EACCES && is_named) refuse_owner(root, status);
    // A path component is not a folder.
    if (error == ENOTDIR && !is_named) return std::nullopt;
    refuse_link(root, error);
  }
  if (::fstat(opened.folder.get(), &opened.status) != 0) refuse_link(root, errno);
  refuse_owner(root, opened.status);
  return opened;
}

std::optional<std::string> read_id(int folder) {
  const os::Fd file(::openat(folder, id_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t count = file ? ::read(file.get(), text.data(), text.size()) : 0;
  const std::string_view id =
      base::trim(std::string_view(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0));
  return is_identity(id) ? std::optional(std::string(id)) : std::nullopt;
}

// Calls `take` with each name until it returns false.
void each_name(int folder, const std::function<bool(const dirent&)>& take) {
  const std::unique_ptr<DIR, decltype(&::closedir)> entries(
      ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), ::closedir);
  if (!entries) base::throw_errno(ErrorCode::file_unreadable, "cannot list the state folder", errno);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own.
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !take(*entry)) return;
  }
}

bool is_harmless(std::string_view name) { return std::ranges::find(harmless_names, name) != harmless_names.end(); }

enum class Contents { none, state, other };

Contents look_into(int folder) {
  Contents found = Contents::none;
  each_name(folder, [&](const dirent& entry) {
    const std::string_view name = entry.d_name;
    // Written by a process that creates the folder at the same moment.
    if (is_harmless(name) || name.starts_with("id.draft.")) return true;
    found = found == Contents::state || name == "reeve.db" || name == "reeve.lock" || name == id_name ? Contents::state
                                                                                                      : Contents::other;
    return true;
  });
  return found;
}

void write_name(int folder, const char* name, std::string_view text) {
  const os::Fd file(::openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || !os::write_all(file.get(), text) || ::fsync(file.get()) != 0) {
    base::throw_errno(ErrorCode::file_unwritable,
                      fmt::format("cannot write {} in the state folder", base::quoted(name)), errno,
                      "is the disk full?");
  }
}

enum class Existing { kept, replaced };

// Whether the folder now has this id; with `kept`, another process may have been faster.
bool write_id(int folder, const std::string& id, Existing existing) {
  struct stat status{};
  if (::fstatat(folder, ignore_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    try {
      write_name(folder, ignore_name, "*\n");
    } catch (const Error&) {
      if (::fstatat(folder, ignore_name, &status, AT_SYMLINK_NOFOLLOW) != 0) throw;
    }
  }
  const std::string draft = fmt::format("id.draft.{}", ::getpid());
  ::unlinkat(folder, draft.c_str(), 0);
  write_name(folder, draft.c_str(), id + "\n");
  const bool is_written = existing == Existing::replaced ? ::renameat(folder, draft.c_str(), folder, id_name) == 0
                                                         : ::linkat(folder, draft.c_str(), folder, id_name, 0) == 0;
  const int error = errno;
  ::unlinkat(folder, draft.c_str(), 0);
  if (!is_written && error != EEXIST) {
    base::throw_errno(ErrorCode::file_unwritable, "cannot write the id of the state folder", error,
                      "is the disk full?");
  }
  ::fsync(folder);
  return is_written;
}

void make_private(const fs::path& root, int folder) {
  if (::fchmod(folder, 0700) == 0) return;
  base::throw_errno(ErrorCode::daemon_state_folder, fmt::format("cannot make {} private", shown(root)), errno,
                    "choose another with --state");
}

// Registers the id before writing it, so that a folder that Reeve created never has an unknown id.
bool make_id(const Opened& opened, const fs::path& root) {
  make_private(root, opened.folder.get());
  const Registry registry = Registry::open();
  const KnownPlace made{.id = make_identity(), .path = resolve_parent(root), .inode = opened.status.st_ino};
  registry.write(made);
  if (write_id(opened.folder.get(), made.id, Existing::kept)) return true;
  registry.forget(made.id);
  return false;
}

// A folder recreated while a daemon runs with the removed one would have two daemons.
void refuse_claimed(const fs::path& root) {
  const auto holder = os::Claim::find_holder(state_claim(root));
  if (!holder) return;
  throw Error(ErrorCode::state_in_use,
              fmt::format("the state folder {} was removed while its daemon (pid {}) was running; the daemon is ending "
                          "its runs and exiting",
                          shown(root), holder->pid),
              "try again in a moment");
}

bool was_known(const fs::path& path) {
  const auto registry = Registry::find();
  if (!registry) return false;
  return std::ranges::any_of(registry->list(), [&](const KnownPlace& place) {
    return place.kind == KnownPlace::Kind::state && place.has_database && place.path == path;
  });
}

KnownPlace check_known(const Opened& opened, const fs::path& root, const std::string& id) {
  refuse_open(root, opened.status);
  const auto registry = Registry::find();
  auto known = registry ? registry->find(id) : std::nullopt;
  if (!known || known->kind != KnownPlace::Kind::state) refuse_unknown(root);
  if (known->path != resolve_parent(root) || known->inode != opened.status.st_ino) refuse_moved(root, *known);
  return std::move(*known);
}

void refuse_other_things(const fs::path& root) {
  throw Error(ErrorCode::daemon_state_folder,
              fmt::format("{} is not a Reeve state folder (it contains other files)", base::visible(root.string())),
              "choose an empty or a new folder with --state");
}

bool is_link(int folder, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_LNK;
  struct stat status{};
  return ::fstatat(folder, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

void refuse_links_in(int folder, const fs::path& path, int depth, std::size_t& count) {
  each_name(folder, [&](const dirent& entry) {
    if (++count > max_names) return false;
    if (is_link(folder, entry)) {
      throw Error(ErrorCode::state_link_inside,
                  fmt::format("{} is a symlink, which is not allowed in a state folder", shown(path / entry.d_name)),
                  "check where it points, then remove it; Reeve never creates one");
    }
    const bool is_aside = std::string_view(entry.d_name).starts_with(aside_prefix);
    if (depth <= 1 || is_harmless(entry.d_name) || is_aside) return true;
    const os::Fd inner(::openat(folder, entry.d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (inner) refuse_links_in(inner.get(), path / entry.d_name, depth - 1, count);
    return true;
  });
}

}  // namespace

std::string state_claim(const fs::path& root) {
  constexpr std::size_t digits = 32;
  return fmt::format("reeve-{}-{}", ::geteuid(), base::sha256_hex(resolve_parent(root).string()).substr(0, digits));
}

fs::path resolve_parent(const fs::path& path) {
  std::error_code error;
  const fs::path parent = fs::weakly_canonical(path.parent_path(), error);
  return error ? path : parent / path.filename();
}

void check_state_place(const fs::path& root) {
  struct stat status{};
  if (::lstat(root.c_str(), &status) != 0) return;
  if (!S_ISDIR(status.st_mode)) refuse_link(root, ENOTDIR);
  refuse_owner(root, status);
  struct stat socket{};
  if (::lstat((root / "reeve.sock").c_str(), &socket) != 0) return;
  refuse_open(root, status);
  if (S_ISSOCK(socket.st_mode)) return;
  throw Error(ErrorCode::state_link_inside, fmt::format("{} is not a socket", shown(root / "reeve.sock")),
              "check what it is, then remove it");
}

OpenedState open_state_folder(const fs::path& root) {
  OpenedState made;
  auto opened = open_own(root);
  if (!opened) {
    refuse_claimed(root);
    made.was_removed = was_known(resolve_parent(root));
    if (root.has_parent_path()) os::create_folders(root.parent_path());
    if (::mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) {
      base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot create the folder {}", shown(root)), errno);
    }
    opened = open_own(root);
    if (!opened) throw Error(ErrorCode::file_unwritable, fmt::format("{} was just removed", shown(root)));
  }
  auto id = read_id(opened->folder.get());
  if (!id) {
    const Contents contents = look_into(opened->folder.get());
    if (contents == Contents::none && !read_id(opened->folder.get())) {
      refuse_claimed(root);
      made.is_new = make_id(*opened, root);
      if (::fstat(opened->folder.get(), &opened->status) != 0) refuse_link(root, errno);
    }
    // A process that created it at the same moment writes the id before anything else.
    id = read_id(opened->folder.get());
    if (!id && contents == Contents::other) refuse_other_things(root);
    if (!id) refuse_unknown(root);
  }
  made.place = check_known(*opened, root, *id);
  return made;
}

KnownPlace check_state_folder(const fs::path& root) {
  const auto opened = open_own(root);
  if (!opened) throw Error(ErrorCode::file_not_found, fmt::format("there is no folder {}", shown(root)));
  const auto id = read_id(opened->folder.get());
  if (!id) refuse_unknown(root);
  return check_known(*opened, root, *id);
}

bool is_unused_folder(const fs::path& root) {
  const auto opened = open_own(root);
  return opened && look_into(opened->folder.get()) == Contents::none;
}

void refuse_links(const fs::path& root, int depth) {
  const auto opened = open_own(root);
  std::size_t count = 0;
  if (opened) refuse_links_in(opened->folder.get(), root, depth, count);
}

void check_database_files(const KnownPlace& place) {
  for (const char* name : database_names) {
    struct stat status{};
    const fs::path file = place.path / name;
    if (::lstat(file.c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode) && status.st_uid == ::geteuid()) continue;
    throw Error(ErrorCode::state_link_inside, fmt::format("{} is not a regular file that you own", shown(file)),
                "check what it is, remove it, and restore the database");
  }
  if (!place.has_database) return;
  struct stat status{};
  if (::lstat((place.path / "reeve.db").c_str(), &status) == 0) return;
  throw Error(ErrorCode::state_database_missing,
              fmt::format("{} is missing: it held the runs, approvals and executions of this state folder",
                          shown(place.path / "reeve.db")),
              fmt::format("restore it from a backup or a reeve.db.rescued next to it, or start with an empty one: "
                          "reeve state adopt {}",
                          as_word(place.path)));
}

void note_database(const KnownPlace& place) {
  if (place.has_database) return;
  KnownPlace changed = place;
  changed.has_database = true;
  Registry::open().write(changed);
}

KnownPlace adopt_state_folder(const fs::path& root) {
  auto opened = open_own(root);
  if (!opened) throw Error(ErrorCode::file_not_found, fmt::format("there is no folder {}", shown(root)));
  if (look_into(opened->folder.get()) != Contents::state) refuse_other_things(root);
  refuse_links(root, 3);
  make_private(root, opened->folder.get());
  const Registry registry = Registry::open();
  const auto before = read_id(opened->folder.get());
  struct stat database{};
  KnownPlace adopted{.id = make_identity(), .path = resolve_parent(root), .inode = opened->status.st_ino};
  adopted.has_database = ::fstatat(opened->folder.get(), "reeve.db", &database, AT_SYMLINK_NOFOLLOW) == 0;
  registry.write(adopted);
  write_id(opened->folder.get(), adopted.id, Existing::replaced);
  // Removes its own entry, which the new one replaces; the original of a copy keeps its id.
  const auto known = before ? registry.find(*before) : std::nullopt;
  if (known && known->path == adopted.path) registry.forget(*before);
  return adopted;
}

fs::path set_state_aside(const fs::path& root) {
  const auto opened = open_own(root);
  if (!opened) throw Error(ErrorCode::file_not_found, fmt::format("there is no folder {}", shown(root)));
  const int folder = opened->folder.get();
  std::string name = fmt::format("{}{}", aside_prefix, base::format_time(base::SystemClock().wall_now()));
  std::ranges::replace(name, ':', '-');
  if (::mkdirat(folder, name.c_str(), 0700) != 0) {
    base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot create {}", shown(root / name)), errno);
  }
  std::vector<std::string> moved;
  each_name(folder, [&](const dirent& entry) {
    const std::string_view one = entry.d_name;
    if (!is_harmless(one) && one != id_name && !one.starts_with(aside_prefix)) moved.emplace_back(one);
    return moved.size() < max_names;
  });
  for (const std::string& one : moved) {
    if (::renameat(folder, one.c_str(), folder, (name + "/" + one).c_str()) != 0) {
      base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot move {}", shown(root / one)), errno);
    }
  }
  return root / name;
}

}  // namespace reeve::project
