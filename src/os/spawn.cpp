#include "os/spawn.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <linux/sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

namespace reeve::os {

namespace {

using base::ErrorCode;

class FileActions {
 public:
  FileActions() { check(::posix_spawn_file_actions_init(&actions_)); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void open(int fd, const char* path, int flags) {
    check(::posix_spawn_file_actions_addopen(&actions_, fd, path, flags, 0));
  }
  void duplicate(int from, int to) { check(::posix_spawn_file_actions_adddup2(&actions_, from, to)); }
  void close_from(int fd) { check(::posix_spawn_file_actions_addclosefrom_np(&actions_, fd)); }
  void change_folder(const char* path) { check(::posix_spawn_file_actions_addchdir_np(&actions_, path)); }
  const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

 private:
  static void check(int error) {
    if (error != 0) base::throw_errno(ErrorCode::os_failed, "cannot prepare a process", error);
  }
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t all;
    ::sigfillset(&all);
    sigset_t none;
    ::sigemptyset(&none);
    // Signals that this program ignores or blocks must not be ignored or blocked in the child.
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const noexcept { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool is_executable_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// Like execvp, but with the child's PATH. A file that exists but is not executable is reported as such.
std::expected<std::string, int> look_up(const SpawnPlan& plan) {
  const std::string& name = plan.argv.front();
  if (name.find('/') != std::string::npos) {
    // posix_spawn reports the same error for this and for a missing interpreter.
    const std::string path = name.starts_with('/') ? name : plan.folder + '/' + name;
    const bool is_missing = ::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
    return is_missing ? std::unexpected(ENOENT) : std::expected<std::string, int>(name);
  }
  constexpr std::string_view variable = "PATH=";
  std::string_view folders = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& entry : plan.environment) {
    if (entry.starts_with(variable)) folders = std::string_view(entry).substr(variable.size());
  }
  int error = ENOENT;
  while (true) {
    const std::size_t colon = std::min(folders.find(':'), folders.size());
    const std::string_view folder = folders.substr(0, colon);
    std::string program(folder.empty() ? "." : folder);
    program.append("/").append(name);
    // Relative to the child's folder, not to this program's.
    const std::string path = folder.starts_with('/') ? program : plan.folder + '/' + program;
    if (is_executable_file(path)) return program;
    if (::access(path.c_str(), F_OK) == 0) error = EACCES;
    if (colon == folders.size()) return std::unexpected(error);
    folders.remove_prefix(colon + 1);
  }
}

// Everything needed for exec, prepared before the fork: afterwards only system calls are allowed.
struct Program {
  const char* path;
  char* const* argv;
  char* const* environment;
  pid_t parent;
};

// Does the same as posix_spawn with FileActions and Attributes below. Returns the error number.
int become(const SpawnPlan& plan, const Program& program) noexcept {
  if (plan.dies_with_parent) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return errno;
    // It may have ended before.
    if (::getppid() != program.parent) return ECHILD;
  }
  ::setsid();
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);
  const std::array<int, 3> wanted = {plan.input, plan.output, plan.error};
  for (int fd = 0; fd < 3; ++fd) {
    const int given = wanted[static_cast<std::size_t>(fd)];
    if (!plan.terminal.empty() && fd > 0) {
      if (::dup2(STDIN_FILENO, fd) < 0) return errno;
    } else if (plan.terminal.empty() && given >= 0) {
      // dup2 onto itself would not clear close-on-exec.
      if (given == fd ? ::fcntl(fd, F_SETFD, 0) != 0 : ::dup2(given, fd) < 0) return errno;
    } else {
      const bool is_terminal = !plan.terminal.empty();
      const int opened = ::open(is_terminal ? plan.terminal.c_str() : "/dev/null", is_terminal          ? O_RDWR
                                                                                   : fd == STDIN_FILENO ? O_RDONLY
                                                                                                        : O_WRONLY);
      if (opened < 0 || (opened != fd && ::dup2(opened, fd) < 0)) return errno;
    }
  }
  // Before the descriptors are closed: the folder may be named by one.
  if (::chdir(plan.folder.c_str()) != 0) return errno;
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(program.path, program.argv, program.environment);
  return errno;
}

// An int shared between a child and its parent.
class SharedNumber {
 public:
  SharedNumber() : at_(::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) base::throw_errno(ErrorCode::os_failed, "cannot prepare a process", errno);
  }
  ~SharedNumber() { ::munmap(at_, sizeof(int)); }
  SharedNumber(const SharedNumber&) = delete;
  SharedNumber& operator=(const SharedNumber&) = delete;
  volatile int& value() noexcept { return *static_cast<volatile int*>(at_); }

 private:
  void* at_;
};

// What posix_spawn cannot do. Starts the child inside its cgroup: moving it there later, or moving the parent first,
// would block every fork and exit on the machine for an RCU grace period (10 ms and more).
std::expected<Process, SpawnFailure> clone_child(const SpawnPlan& plan, const Program& program) {
  using Stage = SpawnFailure::Stage;
  SharedNumber error;
  clone_args how{};
  how.flags = CLONE_VFORK;
  how.exit_signal = SIGCHLD;
  if (plan.group >= 0) {
    how.flags |= CLONE_INTO_CGROUP;
    how.cgroup = static_cast<std::uint64_t>(plan.group);
  }
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  // No signal handler of this program may run in the child.
  ::sigprocmask(SIG_BLOCK, &all, &before);
  // Without CLONE_VM: the child has a copy of the memory.
  const long child = ::syscall(SYS_clone3, &how, sizeof(how));
  if (child == 0) {
    error.value() = become(plan, program);
    ::_exit(127);
  }
  const int refused = child < 0 ? errno : 0;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return std::unexpected(SpawnFailure{refused, plan.group >= 0 ? Stage::group : Stage::exec});
  Process process(static_cast<pid_t>(child));
  // CLONE_VFORK: the child has by now either executed the program or ended.
  if (error.value() == 0) return process;
  process.wait();
  return std::unexpected(SpawnFailure{error.value(), Stage::exec});
}

}  // namespace

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) base::throw_errno(ErrorCode::os_failed, "cannot create a pipe", errno);
  return {Fd(ends[0]), Fd(ends[1])};
}

Pty::Pty(int rows, int columns) : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  std::array<char, 128> name{};
  const bool is_ready = master_ && ::grantpt(master_.get()) == 0 && ::unlockpt(master_.get()) == 0 &&
                        ::ptsname_r(master_.get(), name.data(), name.size()) == 0;
  if (!is_ready) base::throw_errno(ErrorCode::os_failed, "cannot create a terminal", errno, "mount /dev/pts");
  slave_ = name.data();
  resize(rows, columns);
}

void Pty::resize(int rows, int columns) noexcept {
  const winsize size{static_cast<unsigned short>(rows), static_cast<unsigned short>(columns), 0, 0};
  // Fails only for a closed terminal, whose size no longer matters.
  ::ioctl(master_.get(), TIOCSWINSZ, &size);
}

std::expected<Process, SpawnFailure> spawn(const SpawnPlan& plan) {
  REEVE_ASSERT(!plan.argv.empty());
  using Stage = SpawnFailure::Stage;
  // posix_spawn returns one error for all of its steps, so those that must be distinguished are checked first.
  struct stat folder{};
  if (::stat(plan.folder.c_str(), &folder) != 0) return std::unexpected(SpawnFailure{errno, Stage::folder});
  if (!S_ISDIR(folder.st_mode)) return std::unexpected(SpawnFailure{ENOTDIR, Stage::folder});
  if (::access(plan.folder.c_str(), X_OK) != 0) return std::unexpected(SpawnFailure{errno, Stage::folder});
  const auto program = look_up(plan);
  if (!program) return std::unexpected(SpawnFailure{program.error(), Stage::lookup});

  const std::vector<char*> argv = pointers_to(plan.argv);
  const std::vector<char*> environment = pointers_to(plan.environment);
  if (plan.group >= 0 || plan.dies_with_parent) {
    return clone_child(plan, {program->c_str(), argv.data(), environment.data(), ::getpid()});
  }

  FileActions actions;
  if (!plan.terminal.empty()) {
    // Opened by the leader of a new session, it becomes the controlling terminal.
    actions.open(STDIN_FILENO, plan.terminal.c_str(), O_RDWR);
    actions.duplicate(STDIN_FILENO, STDOUT_FILENO);
    actions.duplicate(STDIN_FILENO, STDERR_FILENO);
  } else {
    const std::array<int, 3> wanted = {plan.input, plan.output, plan.error};
    for (int fd = 0; fd < 3; ++fd) {
      const int from = wanted[static_cast<std::size_t>(fd)];
      if (from < 0) {
        actions.open(fd, "/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
      } else {
        actions.duplicate(from, fd);
      }
    }
  }
  // Before the descriptors are closed: the folder may be named by one.
  actions.change_folder(plan.folder.c_str());
  // Also closes descriptors that other code opened without close-on-exec.
  actions.close_from(STDERR_FILENO + 1);
  const Attributes attributes;
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, program->c_str(), actions.get(), attributes.get(), argv.data(), environment.data());
  if (error != 0) return std::unexpected(SpawnFailure{error, Stage::exec});
  return Process(child);
}

SpawnFailure become_program(char** argv, char** environment) {
  SpawnPlan plan{.argv = {argv[0]}, .folder = "."};
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("PATH=")) plan.environment.emplace_back(*entry);
  }
  const auto program = look_up(plan);
  if (!program) return {program.error(), SpawnFailure::Stage::lookup};
  ::execve(program->c_str(), argv, environment);
  return {errno, SpawnFailure::Stage::exec};
}

}  // namespace reeve::os
