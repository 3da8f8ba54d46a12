#include "cli/doctor/doctor_checks.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/commands/serve.h"
#include "cli/doctor/doctor_sandbox.h"
#include "os/process.h"
#include "os/spawn.h"
#include "project/confinement.h"
#include "project/daemon_holder.h"
#include "project/pipelines.h"
#include "project/project.h"
#include "project/state_identity.h"
#include "spec/dropped_input.h"
#include "view/problem_text.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

namespace fs = std::filesystem;
using base::limits::mib;

// The config that applies in the current folder.
project::FoundConfig load_config_here(const fs::path& folder) {
  return project::load_config_for({folder}, fs::current_path());
}

Check ok(std::string name, std::string detail) { return {std::move(name), Health::ok, std::move(detail), {}}; }
Check warn(std::string name, std::string detail, std::string fix) {
  return {std::move(name), Health::warn, std::move(detail), std::move(fix)};
}
Check fail(std::string name, std::string detail, std::string fix) {
  return {std::move(name), Health::fail, std::move(detail), std::move(fix)};
}

std::string words(int error) { return std::generic_category().message(error); }

// The number in a /proc file, if it exists. Such a file must be read with a single read().
std::optional<std::int64_t> read_number(const char* path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

// The cgroup of this process in the unified hierarchy, without the leading slash.
std::optional<std::string> own_cgroup() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("0::/")) return line.substr(4);
  }
  return std::nullopt;
}

Check check_state_folder(const fs::path& folder) {
  const std::string name = "state folder";
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(folder, ignored))) {
    return ok(name, fmt::format("{} (not created yet)", folder.string()));
  }
  try {
    project::check_state_place(folder);
    if (project::is_unused_folder(folder)) return ok(name, fmt::format("{} (empty)", folder.string()));
    const project::KnownPlace known = project::check_state_folder(folder);
    project::refuse_links(folder, 2);
    project::check_database_files(known);
    return ok(name, folder.string());
  } catch (const base::Error& error) {
    return fail(name, error.message(), error.fix());
  }
}

Check check_disk(fs::path folder) {
  const std::string name = "disk space";
  std::error_code ignored;
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  struct statvfs info{};
  if (::statvfs(folder.c_str(), &info) != 0) return warn(name, words(errno), "");
  const std::uint64_t free_mib = info.f_bavail * info.f_frsize / mib;
  const std::string detail = fmt::format("{} MiB free", free_mib);
  const std::string fix = "free some space, or use another location: --state DIR";
  if (free_mib < 100) return fail(name, detail, fix);
  return free_mib < 1024 ? warn(name, detail, fix) : ok(name, detail);
}

std::string member(const base::Value& document, std::string_view key) {
  const base::Value* found = document.find(key);
  const std::string* text = found != nullptr ? found->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

// Other processes that hold SQLite's write lock: byte 120 of the -shm file.
std::vector<std::int64_t> find_lockers(const fs::path& database, std::int64_t daemon) {
  constexpr std::uint64_t write_lock = 120;
  std::vector<std::int64_t> found;
  struct stat info{};
  if (::stat((database.string() + "-shm").c_str(), &info) != 0) return found;
  std::ifstream file("/proc/locks");
  for (std::string line; std::getline(file, line);) {
    // "7: POSIX  ADVISORY  WRITE 1234 fe:00:5319155 120 120"
    std::istringstream words(line);
    std::string number, family, kind, mode, place, last;
    std::int64_t pid = 0;
    std::uint64_t first = 0;
    if (!(words >> number >> family >> kind >> mode >> pid >> place >> first >> last)) continue;
    const bool is_there = place.ends_with(fmt::format(":{}", info.st_ino)) && mode == "WRITE" && first <= write_lock;
    const bool covers = last == "EOF" || std::strtoull(last.c_str(), nullptr, 10) >= write_lock;
    if (is_there && covers && pid > 0 && pid != daemon) found.push_back(pid);
  }
  return found;
}

Check check_store(const client::DaemonPlace& place, const std::optional<base::Value>& health) {
  const std::string name = "store";
  const base::Value* word = health ? health->find("store") : nullptr;
  const std::string state = word != nullptr && word->as_string() != nullptr ? *word->as_string() : std::string();
  const auto lockers = find_lockers(place.folder / "reeve.db", client::find_daemon_pid(place));
  const std::string holder = lockers.empty() ? "another program" : fmt::format("process {}", lockers.front());
  if (state == "files_removed") return fail(name, member(*health, "problem"), member(*health, "fix"));
  if (state == "locked") {
    return fail(name, fmt::format("the database is locked by {}: nothing can be changed", holder),
                "end its transaction");
  }
  if (state == "unreachable") return fail(name, "the PostgreSQL server does not respond", "check the server");
  if (state == "busy")
    return warn(name, "the daemon has been busy in it for more than a second", "run `reeve doctor` again");
  // The lock may be held only for a moment.
  if (!lockers.empty()) return warn(name, fmt::format("the database is locked by {}", holder), "end its transaction");
  if (state == "ok") return ok(name, "responds");
  return ok(name, "not locked by another program; only a running daemon can check more");
}

// Gives up on a daemon that does not respond and reports what else is known about it. `health` receives its own report.
Check check_daemon(client::DaemonPlace place, std::optional<base::Value>& told) {
  const std::string name = "daemon";
  place.no_start = "`reeve doctor` does not start one";
  place.timeout = std::chrono::seconds(2);
  place.tell = [](const client::Silence&) {};
  try {
    // The lock shows a daemon that no client can reach; its socket would show, and start, another one.
    const project::StateFolder folder{place.folder};
    if (!place.host && project::is_cut_off(folder)) {
      return fail(name,
                  fmt::format("pid {} holds the state folder, but another program listens at its socket",
                              project::find_lock_holder(folder).value_or(0)),
                  "reeve stop");
    }
    client::Daemon daemon(place);
    if (!daemon.is_running()) return ok(name, "not running; the next command that needs one starts it");
    const base::Value health = told.emplace(daemon.get("/healthz"));
    const base::Value* version = health.find("version");
    const base::Value* pid = health.find("pid");
    const base::Value* started = health.find("started_at");
    const std::string release = version != nullptr && version->as_string() != nullptr ? *version->as_string() : "?";
    std::string detail = fmt::format("version {}", release);
    if (pid != nullptr && pid->as_integer() != nullptr) detail += fmt::format(", pid {}", *pid->as_integer());
    const auto since =
        started != nullptr && started->as_string() != nullptr ? base::parse_time(*started->as_string()) : std::nullopt;
    if (since) detail += fmt::format(", up {}", view::age_text(base::SystemClock().wall_now() - *since));
    if (release == REEVE_VERSION) return ok(name, detail);
    return warn(name, fmt::format("{}; this program is {}", detail, REEVE_VERSION), "restart it: reeve stop");
  } catch (const base::Error& error) {
    return fail(name, error.message(), error.fix());
  }
}

Check check_keeper() {
  std::error_code error;
  const fs::path keeper = fs::read_symlink("/proc/self/exe", error).parent_path() / "reeve-keeper";
  if (::access(keeper.c_str(), X_OK) == 0) return ok("keeper", keeper.string());
  return fail("keeper", fmt::format("{}: {}", keeper.string(), words(errno)), "install it next to reeve");
}

Check check_processes() {
  if (os::identify(::getpid())) return ok("processes", "/proc provides pid and start time");
  return fail("processes", "/proc cannot be read", "mount -t proc proc /proc");
}

Check check_pidfd() {
  const os::Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (fd) return ok("pidfd", "processes are tracked by descriptor");
  return fail("pidfd", words(errno), "needs Linux 5.4 or later, and no seccomp filter against pidfd_open");
}

Check check_cgroup() {
  const std::string name = "cgroup";
  const std::string fallback = "process trees are found by scanning /proc; this works, but a cgroup misses nothing";
  const auto own = own_cgroup();
  if (!own) return warn(name, "no cgroup v2: " + fallback, "boot with systemd.unified_cgroup_hierarchy=1");
  for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    const fs::path procs = fs::path(mount) / *own / "cgroup.procs";
    if (::access((fs::path(mount) / "cgroup.procs").c_str(), F_OK) != 0) continue;
    if (::access(procs.c_str(), W_OK) == 0)
      return ok(name, fmt::format("v2, {} is writable", procs.parent_path().string()));
    return warn(name, fmt::format("v2, but {} is not writable: {}", procs.parent_path().string(), fallback),
                "run it in a delegated unit: systemd-run --user --scope -p Delegate=yes");
  }
  return warn(name, "cgroup v2 is not mounted: " + fallback, "mount -t cgroup2 none /sys/fs/cgroup");
}

Check check_pty() {
  try {
    const os::Pty pty(24, 80);
    return ok("terminals", fmt::format("{} works", pty.slave()));
  } catch (const base::Error& error) {
    return fail("terminals", error.message(), "mount devpts at /dev/pts; see /proc/sys/kernel/pty/max");
  }
}

Check check_descriptors() {
  const std::string name = "descriptors";
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return warn(name, words(errno), "");
  const std::string detail = fmt::format("{} open files, at most {}", limit.rlim_cur, limit.rlim_max);
  const std::string fix = "raise it: ulimit -n 65536";
  if (limit.rlim_max < 256) return fail(name, detail, fix);
  return limit.rlim_max < 4096 ? warn(name, detail, fix) : ok(name, detail);
}

Check check_pipes() {
  const auto pages = read_number("/proc/sys/fs/pipe-user-pages-soft");
  if (!pages) return ok("pipes", "no limit reported");
  const std::string detail = *pages == 0 ? "unlimited" : fmt::format("{} pages for one user", *pages);
  const bool is_small = *pages != 0 && *pages < 4096;
  return is_small ? warn("pipes", detail, "sysctl fs.pipe-user-pages-soft=16384") : ok("pipes", detail);
}

Check check_inotify() {
  const auto instances = read_number("/proc/sys/fs/inotify/max_user_instances");
  const auto watches = read_number("/proc/sys/fs/inotify/max_user_watches");
  if (!instances || !watches) {
    return warn("inotify", "cannot be read: changes by other programs are found by polling", "");
  }
  const std::string detail = fmt::format("{} instances, {} watches", *instances, *watches);
  const bool is_small = *instances < 16 || *watches < 128;
  return is_small ? warn("inotify", detail, "sysctl fs.inotify.max_user_instances=128") : ok("inotify", detail);
}

// As the daemon of this state folder would read it.
Check check_config(const fs::path& folder) {
  const std::string name = "config";
  const std::string fix = "`reeve config show` lists every error";
  try {
    const auto found = load_config_here(folder);
    base::Problems problems = found.loaded ? base::Problems() : found.loaded.error();
    if (found.loaded) {
      // The check `trust` reports untrusted keys.
      for (const base::Problem& warning : found.loaded->warnings().list()) {
        if (warning.code != ErrorCode::config_not_trusted && warning.code != ErrorCode::config_not_yours) {
          problems.add(warning);
        }
      }
    }
    if (problems.list().empty()) {
      return ok(name, found.has_project_file ? "valid" : "valid; no project config here");
    }
    const base::Problem& first = problems.list().front();
    std::string detail = first.place ? fmt::format("{}:{}: ", first.place->file, first.place->line) : std::string();
    detail += fmt::format("{} ({})", first.message, view::count_text(problems));
    return found.loaded ? warn(name, detail, fix) : fail(name, detail, fix);
  } catch (const base::Error& error) {
    return fail(name, error.message(), error.fix());
  }
}

// For the enclosing project (SPEC §7).
std::optional<Check> check_trust(const fs::path& folder) {
  const std::string name = "trust";
  const auto project = project::find_project(".");
  if (!project) return std::nullopt;
  try {
    // Not what the daemon refuses: check_config() reports it, and trust would not change it.
    const auto found = load_config_here(folder);
    if (!found.has_project_file || !found.loaded) return std::nullopt;
    const spec::ProjectTrust& trust = found.loaded->project_trust();
    constexpr std::size_t max_named = 20;
    std::vector<std::string> names;
    for (const spec::IgnoredValue& value : trust.ignored) {
      if (names.size() < max_named) names.push_back(value.path);
    }
    const std::string state =
        trust.is_trusted ? "the project's config is trusted" : "the project's config is not trusted";
    if (names.empty()) return ok(name, state + "; nothing is ignored");
    const std::string rest = trust.ignored.size() > max_named ? ", ..." : "";
    return warn(name, fmt::format("{}; ignored: {}{}", state, base::join(names, ", "), rest),
                trust.is_trusted ? "to use them, put them into your own config" : "reeve config trust");
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

// The port for programs with a token, if one is open or was meant to be.
std::optional<Check> check_port(const std::optional<base::Value>& health) {
  const auto text = [&](std::string_view name) {
    const base::Value* found = health ? health->find(name) : nullptr;
    return found != nullptr && found->as_string() != nullptr ? *found->as_string() : std::string();
  };
  if (const std::string problem = text("port_problem"); !problem.empty()) {
    return warn("port", fmt::format("could not be opened: {}", problem), text("port_fix"));
  }
  const std::string url = text("port");
  return url.empty() ? std::nullopt : std::optional(ok("port", url));
}

// ORC-3: prompts that would not contain the task.
Check check_prompts(const fs::path& folder) {
  const std::string name = "prompts";
  std::vector<std::string> dropped;
  try {
    const auto found = load_config_here(folder);
    if (found.loaded) dropped = spec::find_dropped_input(found.loaded->config());
    const auto project = project::find_project(".");
    if (project && fs::exists(project::pipelines_path(*project))) {
      const auto pipelines = project::load_pipelines(*project, nullptr);
      if (!pipelines) return fail(name, "the pipelines are not valid", "see why: reeve pipeline list --defined");
      for (std::string& who : spec::find_dropped_input(*pipelines)) dropped.push_back(std::move(who));
    }
  } catch (const std::exception&) {
    // An unreadable config is reported by another check.
  }
  if (dropped.empty()) return ok(name, "each contains `{input}` or declares that it takes none");
  return warn(name, fmt::format("no `{{input}}`, so the task is appended: {}", base::join(dropped, ", ")),
              spec::input_fix);
}

// Checked only if the config of this state folder has webhooks.
std::optional<Check> check_curl(const fs::path& folder) {
  try {
    const auto found = load_config_here(folder);
    if (!found.loaded) return std::nullopt;
    const auto& notify = found.loaded->config().notify;
    if (std::ranges::none_of(notify, [](const auto& entry) { return entry.webhook.has_value(); })) return std::nullopt;
  } catch (const base::Error&) {
    return std::nullopt;
  }
  const auto program = project::find_program("curl");
  return program ? ok("curl", *program)
                 : warn("curl", "missing: the webhooks of `notify` cannot be sent", "apt install curl");
}

// ISO-2: gates run agent-written code, even if the agents may not run a shell.
std::optional<Check> check_gates(const fs::path& folder) {
  try {
    const auto found = load_config_here(folder);
    if (!found.loaded || found.loaded->config().gates.empty()) return std::nullopt;
    const model::Config& config = found.loaded->config();
    const bool has_open_tool = std::ranges::any_of(
        config.tools, [](const auto& entry) { return entry.second.sandbox == model::Sandbox::none; });
    std::vector<std::string> open;
    for (const auto& [name, gate] : config.gates) {
      const bool is_open = gate.sandbox ? *gate.sandbox == model::Sandbox::none : has_open_tool;
      if (is_open) open.push_back(base::quoted(name));
    }
    if (open.empty()) return ok("gates", "run in a sandbox");
    return warn("gates", "run agent-written code without a sandbox: " + base::join(open, ", "),
                "give the gates, or the tools, `sandbox: guard` in the config");
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

Check check_git() {
  const auto program = project::find_program("git");
  return program ? ok("git", *program)
                 : warn("git", "missing: workflows cannot work in git repositories", "apt install git");
}

}  // namespace

std::vector<Check> check_machine(const client::DaemonPlace& place) {
  std::optional<base::Value> health;
  const Check daemon = check_daemon(place, health);
  std::vector<Check> checks = {check_state_folder(place.folder),
                               check_disk(place.folder),
                               check_config(place.folder),
                               check_prompts(place.folder),
                               daemon,
                               check_store(place, health),
                               check_keeper(),
                               check_processes(),
                               check_pidfd(),
                               check_cgroup(),
                               check_pty(),
                               check_descriptors(),
                               check_pipes(),
                               check_inotify(),
                               check_git()};
  if (auto port = check_port(health)) checks.push_back(std::move(*port));
  if (auto trust = check_trust(place.folder)) checks.push_back(std::move(*trust));
  for (Check& check : check_store_files(place.folder)) checks.push_back(std::move(check));
  if (auto curl = check_curl(place.folder)) checks.push_back(std::move(*curl));
  if (auto gates = check_gates(place.folder)) checks.push_back(std::move(*gates));
  for (Check& check : check_sandbox()) checks.push_back(std::move(check));
  return checks;
}

}  // namespace reeve::cli
