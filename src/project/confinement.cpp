#include "project/confinement.h"

#include <algorithm>
#include <array>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/file.h"
#include "project/project.h"
#include "project/registry.h"
#include "project/trust.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;

bool lies_in(const std::string& path, const std::string& folder) {
  if (folder == "/") return true;
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

std::optional<std::string> resolve(const fs::path& path) {
  std::error_code error;
  const fs::path resolved = fs::canonical(path, error);
  return error ? std::nullopt : std::optional(resolved.string());
}

void add_if_there(std::vector<std::string>& paths, const fs::path& path) {
  if (auto found = resolve(path)) paths.push_back(std::move(*found));
}

std::optional<std::string> read_line(const fs::path& path) {
  constexpr std::size_t longest = 8 * 1024;
  const auto text = os::find_file(path, longest);
  return text ? std::optional<std::string>(base::trim(*text)) : std::nullopt;
}

// In a linked worktree, git writes to the main repository: objects, branches, and the worktree's own data. Hooks and
// the config stay read-only, because they run programs for the next user of git there.
void add_worktree(Confinement& made) {
  constexpr std::string_view word = "gitdir: ";
  const fs::path link = fs::path(made.working_folder) / ".git";
  const auto text = read_line(link);
  if (!text || !text->starts_with(word)) return;
  const fs::path named = text->substr(word.size());
  const auto own = resolve(named.is_absolute() ? named : link.parent_path() / named);
  if (!own || fs::path(*own).parent_path().filename() != "worktrees") return;
  // The tool can write this file, so only a repository that points back to this worktree is accepted.
  const auto back = read_line(fs::path(*own) / "gitdir");
  if (!back || resolve(*back) != link.string()) return;
  const fs::path common = fs::path(*own).parent_path().parent_path();
  made.shown.push_back(common.string());
  made.writable.push_back(*own);
  for (const char* name : {"objects", "refs", "logs"}) add_if_there(made.writable, common / name);
}

void add_repository(Confinement& made) {
  std::error_code error;
  const fs::path git = fs::path(made.working_folder) / ".git";
  if (!fs::is_directory(fs::symlink_status(git, error))) return add_worktree(made);
  add_if_there(made.read_only, git / "config");
  // git would run these hooks for the user; a missing hooks folder must not be created.
  auto& hooks = fs::exists(git / "hooks", error) ? made.read_only : made.hidden;
  hooks.push_back((git / "hooks").string());
}

// The user's config folder. If it is missing, a tool could create it only inside the working folder, so create it
// first.
std::optional<std::string> find_user_config(const std::string& working) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(user_config_path().parent_path(), error);
  if (folder.empty()) return std::nullopt;
  if (!fs::is_directory(folder, error) && lies_in(folder.string(), working)) os::create_folders(folder);
  return resolve(folder);
}

// A tool must not be able to change what is trusted.
std::optional<std::string> find_trust_records(const std::string& working) {
  const auto state = user_state_folder();
  std::error_code error;
  const fs::path folder = state ? fs::weakly_canonical(*state / "trust", error) : fs::path();
  if (folder.empty()) return std::nullopt;
  // If the folder is missing, a tool could create it only inside the working folder.
  if (!fs::is_directory(folder, error) && lies_in(folder.string(), working)) make_trust_folder();
  return resolve(folder);
}

std::vector<KnownPlace> list_known(KnownPlace::Kind kind) try {
  const auto registry = Registry::find();
  std::vector<KnownPlace> known = registry ? registry->list() : std::vector<KnownPlace>();
  std::erase_if(known, [&](const KnownPlace& place) { return place.kind != kind; });
  return known;
} catch (const base::Error&) {
  // An unreadable registry is reported where a state folder is opened.
  return {};
}

void sort_unique(std::vector<std::string>& paths) {
  std::ranges::sort(paths);
  paths.erase(std::ranges::unique(paths).begin(), paths.end());
}

// Every folder in which a daemon of this user keeps its state: each has the database, the tokens and the sockets of
// other projects.
std::vector<std::string> find_state_folders(const StateFolder& own) {
  std::vector<std::string> found;
  add_if_there(found, own.root);
  if (const auto common = find_common_state()) add_if_there(found, common->root);
  for (const KnownPlace& place : list_known(KnownPlace::Kind::state)) add_if_there(found, place.path);
  sort_unique(found);
  return found;
}

// The `.reeve` of the projects around and beneath the working folder: their config and workflows decide what may run.
// They are not hidden, because git would report them as deleted. The copy in a linked worktree configures nothing.
std::vector<std::string> find_project_settings(const std::string& working, const StateFolder& state) {
  std::vector<std::string> found;
  if (const auto around = resolve(state.root.parent_path()); around && fs::path(*around).filename() == ".reeve") {
    found.push_back(*around);
  }
  if (const auto project = find_project(working)) add_if_there(found, *project / ".reeve");
  for (const KnownPlace& place : list_known(KnownPlace::Kind::project)) {
    if (lies_in(place.path.string(), working)) add_if_there(found, place.path / ".reeve");
  }
  sort_unique(found);
  return found;
}

std::optional<std::string> find_registry() try { return resolve(Registry::location()); } catch (const base::Error&) {
  return std::nullopt;
}

// Sockets of service managers: what they start runs outside the sandbox.
std::vector<std::string> find_services() {
  std::vector<std::string> found;
  const std::string own = fmt::format("/run/user/{}", ::getuid());
  for (const std::string& path : {own + "/bus", own + "/systemd/private", own + "/podman/podman.sock",
                                  std::string("/run/dbus/system_bus_socket"), std::string("/run/systemd/private"),
                                  std::string("/run/docker.sock"), std::string("/run/containerd/containerd.sock")}) {
    std::error_code error;
    if (fs::is_socket(path, error)) found.push_back(path);
  }
  return found;
}

// The folders between `outer` and `inner`, excluding both.
std::vector<std::string> folders_between(const std::string& outer, const std::string& inner) {
  std::vector<std::string> between;
  for (fs::path path = fs::path(inner).parent_path(); path.string() != outer && path.has_relative_path();
       path = path.parent_path()) {
    between.push_back(path.string());
  }
  std::ranges::reverse(between);
  return between;
}

// Whether only root can replace the path. In a folder with the sticky bit, others cannot touch root's files. The path
// is absolute, with symlinks resolved.
bool is_roots_alone(const fs::path& resolved) {
  for (fs::path path = resolved;; path = path.parent_path()) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0 || found.st_uid != 0) return false;
    const bool is_sticky = S_ISDIR(found.st_mode) && (found.st_mode & S_ISVTX) != 0;
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_sticky) return false;
    if (!path.has_relative_path()) return true;
  }
}

class Words {
 public:
  void add(std::initializer_list<std::string> words) { list_.insert(list_.end(), words); }
  void bind(const std::string& path) { add({"--bind", path, path}); }
  void bind_read_only(const std::string& path) { add({"--ro-bind", path, path}); }
  // A mount point cannot be renamed; otherwise a folder above a protected place could be renamed and replaced.
  void pin(const Confinement& confinement, const std::string& path) {
    if (!lies_in(path, confinement.working_folder) || path == confinement.working_folder) return;
    for (const std::string& folder : folders_between(confinement.working_folder, path)) {
      if (std::ranges::find(pinned_, folder) != pinned_.end()) continue;
      pinned_.push_back(folder);
      bind(folder);
    }
  }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
  std::vector<std::string> pinned_;
};

}  // namespace

std::optional<std::string> find_program(std::string_view name) {
  for (const std::string_view folder : base::split(variable("PATH").value_or("/usr/bin:/bin"), ':')) {
    const fs::path path = fs::path(folder) / name;
    std::error_code error;
    if (path.is_absolute() && ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error)) {
      return path.string();
    }
  }
  return std::nullopt;
}

std::expected<std::string, std::string> find_bubblewrap(std::string_view search_path) {
  constexpr std::string_view name = "bwrap";
  std::string why = "`bwrap` is not in the daemon's PATH";
  for (const std::string_view entry : base::split(search_path, ':')) {
    if (!entry.starts_with('/')) continue;
    const auto folder = resolve(entry);
    const auto program = folder ? resolve(fs::path(*folder) / name) : std::nullopt;
    if (!program || ::access(program->c_str(), X_OK) != 0) continue;
    // Checks the folder too: a symlink in it could point to any of root's programs.
    if (is_roots_alone(*folder) && is_roots_alone(*program)) return *program;
    why = fmt::format("{} is not used: users other than root can change it or a folder above it",
                      base::quoted((fs::path(entry) / name).string()));
  }
  return std::unexpected(why);
}

std::expected<std::string, std::string> find_bubblewrap() {
  return find_bubblewrap(variable("PATH").value_or("/usr/bin:/bin"));
}

std::optional<Confinement> find_confinement(const std::string& folder, const StateFolder& state) {
  const auto working = resolve(folder);
  // A confinement that can write everything is none.
  if (!working || *working == "/") return std::nullopt;
  Confinement made{.working_folder = *working, .start_folder = folder};
  std::error_code error;
  for (const char* path : {"/tmp", "/var/tmp"}) {
    const bool is_folder = fs::is_directory(fs::symlink_status(path, error));
    // A working folder above these would be partly hidden.
    if (is_folder && !lies_in(path, *working)) made.private_folders.emplace_back(path);
  }
  // bubblewrap leaves these writable for root.
  for (const char* path : {"/proc/sys", "/proc/sysrq-trigger", "/proc/fs", "/proc/acpi", "/proc/scsi"}) {
    if (fs::exists(path, error)) made.read_only.emplace_back(path);
  }
  add_repository(made);
  if (const auto config = find_user_config(*working)) made.hidden.push_back(*config);
  if (const auto records = find_trust_records(*working)) made.hidden.push_back(*records);
  for (std::string& found : find_state_folders(state)) made.hidden.push_back(std::move(found));
  // A tool that works in the home folder must not register a state folder.
  if (const auto known = find_registry(); known && lies_in(*known, *working)) made.hidden.push_back(*known);
  for (std::string& settings : find_project_settings(*working, state)) {
    if (*working == settings) return std::nullopt;
    made.read_only.push_back(std::move(settings));
  }
  for (const std::string& hidden : made.hidden) {
    if (lies_in(*working, hidden)) return std::nullopt;
  }
  made.masked = find_services();
  return made;
}

std::vector<std::string> make_bubblewrap_words(const Confinement& confinement) {
  Words words;
  // No --new-session: the terminal belongs to the keeper, so TIOCSTI cannot reach a user's shell, and a tool detached
  // from its terminal could not receive input.
  words.add({"--die-with-parent", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"});
  // No nested namespaces: most kernel vulnerabilities need full privileges in a user namespace.
  words.add({"--unshare-user", "--disable-userns"});
  words.add({"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"});
  for (const std::string& path : confinement.private_folders) words.add({"--tmpfs", path});
  for (const std::string& path : confinement.shown) words.bind_read_only(path);
  words.bind(confinement.working_folder);
  for (const std::string& path : confinement.writable) words.bind(path);
  for (const std::string& path : confinement.read_only) words.pin(confinement, path);
  for (const std::string& path : confinement.hidden) words.pin(confinement, path);
  for (const std::string& path : confinement.read_only) {
    if (!lies_in(confinement.working_folder, path)) words.bind_read_only(path);
  }
  for (const std::string& path : confinement.hidden) words.add({"--tmpfs", path});
  for (const std::string& path : confinement.masked) words.add({"--ro-bind", "/dev/null", path});
  for (const std::string& path : confinement.own_folders) words.bind(path);
  // A program that is visible anyway is not mounted again, so that a build can replace it.
  for (const std::string& path : confinement.programs) {
    const auto covers = [&](const std::string& folder) { return lies_in(path, folder); };
    const bool is_covered =
        std::ranges::any_of(confinement.private_folders, covers) || std::ranges::any_of(confinement.hidden, covers);
    if (is_covered) words.bind_read_only(path);
  }
  words.add({"--chdir", confinement.start_folder});
  return words.take();
}

}  // namespace reeve::project
