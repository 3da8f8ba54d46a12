#include "runtime/isolation/worktree_setup.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/beneath.h"
#include "os/file.h"
#include "os/spawn.h"
#include "os/write.h"
#include "runtime/runs/run_plan.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_copied = std::size_t{64} << 20U;
constexpr std::size_t max_output = 4'096;
constexpr const char* cancelled = "was cancelled";
constexpr auto poll_interval = std::chrono::milliseconds(200);

[[noreturn]] void throw_copy(const std::string& name, std::string_view why) {
  throw Error(ErrorCode::worktree_copy_failed,
              fmt::format("cannot copy {} into the worktree: {}", base::quoted(name), why),
              "`worktree.copy` names regular files of the project");
}

std::string read_all(const os::Fd& file, const std::string& name) {
  std::string content;
  std::array<char, 65'536> block{};
  for (;;) {
    const ssize_t count = ::read(file.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_copy(name, std::generic_category().message(errno));
    if (count == 0) return content;
    content.append(block.data(), static_cast<std::size_t>(count));
    if (content.size() > max_copied) throw_copy(name, "it is larger than 64 MiB");
  }
}

// ISO-5: both files are opened beneath their folders, by descriptor.
void copy_one(const os::Folder& from, const os::Folder& to, const std::string& name) {
  const auto source = from.open_file(name, O_RDONLY | O_NONBLOCK);
  if (!source && source.error() == ENOENT) {
    throw Error(
        ErrorCode::worktree_copy_failed,
        fmt::format("cannot copy {} into the worktree: there is no such file in the project", base::quoted(name)),
        "create it, then `reeve flow retry`; or remove it from `worktree.copy` and start a new execution with "
        "`reeve flow run`, because an execution keeps the config it began with");
  }
  if (!source) throw_copy(name, std::generic_category().message(source.error()));
  struct stat kind = {};
  if (::fstat(source->get(), &kind) != 0 || !S_ISREG(kind.st_mode)) throw_copy(name, "it is not a regular file");
  const std::string content = read_all(*source, name);
  std::string folder;
  const std::size_t last = name.rfind('/');
  for (std::size_t at = name.find('/'); last != std::string::npos && at != std::string::npos && at <= last;
       at = name.find('/', at + 1)) {
    folder = name.substr(0, at);
    if (!folder.empty() && !to.make_folder(folder)) throw_copy(name, "its folder cannot be created");
  }
  // Removed and created exclusively, so that an existing link or file is never written through.
  to.remove(name);
  const auto target = to.open_file(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kind.st_mode & 0777U);
  if (!target) throw_copy(name, std::generic_category().message(target.error()));
  if (!os::write_all(target->get(), content)) throw_copy(name, std::generic_category().message(errno));
}

// The end of a command's output, as one line.
std::string output_tail(const std::string& output) {
  constexpr std::size_t max_tail = 500;
  std::string_view text = base::trim(output);
  if (text.size() > max_tail) text.remove_prefix(text.size() - max_tail);
  return base::visible(base::replace_invalid_utf8(text));
}

void read_output(const os::Fd& pipe, std::string& output) {
  std::array<char, 16'384> block{};
  for (;;) {
    const ssize_t count = ::read(pipe.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    output.append(block.data(), static_cast<std::size_t>(count));
    if (output.size() > 2 * max_output) output.erase(0, output.size() - max_output);
  }
}

// Whether this is a fresh child of ours before exec, which briefly shares all our descriptors.
bool is_about_to_begin(const std::filesystem::path& process) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink(process / "exe", error);
  if (error || program != std::filesystem::read_symlink("/proc/self/exe", error)) return false;
  // PID (NAME) STATE PARENT
  const std::string words = os::find_file(process / "stat", 4'096).value_or("");
  const std::size_t name_end = words.rfind(')');
  const auto fields = base::split(std::string_view(words).substr(std::min(name_end, words.size())), ' ');
  return fields.size() > 2 && fields[2] == std::to_string(::getpid());
}

// Kills every process that has the file open, with its process group.
void kill_holders(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path wanted = fs::canonical(file, error);
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    const std::string name = process.path().filename().string();
    pid_t pid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size() || pid == ::getpid()) continue;
    std::error_code hidden;
    for (const auto& open : fs::directory_iterator(process.path() / "fd", hidden)) {
      if (fs::read_symlink(open.path(), hidden) != wanted || is_about_to_begin(process.path())) continue;
      const pid_t group = ::getpgid(pid);
      const bool is_its_own = group > 1 && group != ::getpgrp();
      ::kill(is_its_own ? -group : pid, SIGKILL);
      break;
    }
  }
}

// Its standard input is the empty lock file, so that all its descendants hold the lock.
void run_one(const SetupPlan& plan, const os::Fd& lock, const std::vector<std::string>& argv, Clock::time_point until,
             const std::function<bool()>& is_ending) {
  const auto fail = [&](std::string_view why, const std::string& output) {
    const auto secrets = make_secrets(plan.environment, plan.secrets);
    const std::string tail = output_tail(base::redact(*secrets, output));
    throw Error(
        ErrorCode::worktree_setup_failed,
        fmt::format("{} failed while the worktree was set up: {}{}{}",
                    base::quoted(base::redact(*secrets, base::join(argv, " "))), why, tail.empty() ? "" : ": ", tail),
        why == cancelled
            ? ""
            : "fix the cause, then `reeve flow retry`; or change `worktree.setup` and start a new execution "
              "with `reeve flow run`, because an execution keeps the config it began with");
  };
  std::vector<std::string> environment;
  for (const auto& [name, value] : plan.environment) environment.push_back(fmt::format("{}={}", name, value));
  os::Pipe pipe = os::make_pipe();
  if (::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0) {
    base::throw_errno(ErrorCode::os_failed, "cannot read a pipe", errno);
  }
  auto process = os::spawn({.argv = argv,
                            .environment = environment,
                            .folder = plan.to.string(),
                            .input = lock.get(),
                            .output = pipe.write.get(),
                            .error = pipe.write.get()});
  if (!process) fail(std::generic_category().message(process.error().error_number), "");
  pipe.write = {};
  std::string output;
  std::string_view why;
  while (why.empty()) {
    std::array<pollfd, 2> wanted{pollfd{.fd = process->fd(), .events = POLLIN, .revents = 0},
                                 pollfd{.fd = pipe.read.get(), .events = POLLIN, .revents = 0}};
    ::poll(wanted.data(), wanted.size(), static_cast<int>(poll_interval.count()));
    read_output(pipe.read, output);
    // A process that closed its output is only waited for.
    if ((wanted[0].revents & POLLIN) != 0) break;
    if ((wanted[1].revents & POLLHUP) != 0) {
      ::poll(wanted.data(), 1, static_cast<int>(poll_interval.count()));
      if ((wanted[0].revents & POLLIN) != 0) break;
    }
    if (Clock::now() > until) why = "timed out and was killed";
    if (is_ending()) why = cancelled;
  }
  // The process has not been reaped, so its pid still identifies the group. Kills its remaining processes too.
  ::kill(-process->pid(), SIGKILL);
  const os::ExitStatus status = process->wait();
  read_output(pipe.read, output);
  if (!why.empty()) fail(why, output);
  if (status.signal) fail(fmt::format("signal {}", *status.signal), output);
  if (status.code != 0) fail(fmt::format("exit code {}", status.code.value_or(-1)), output);
}

}  // namespace

os::FileLock end_setup(const std::filesystem::path& lock) {
  constexpr auto timeout = std::chrono::seconds(10);
  os::create_folders(lock.parent_path());
  for (const auto until = Clock::now() + timeout;;) {
    if (auto taken = os::FileLock::try_take(lock.string())) return std::move(*taken);
    if (Clock::now() > until) {
      throw Error(ErrorCode::worktree_setup_failed, "an earlier worktree setup is still running",
                  fmt::format("find it: fuser -v {}", lock.string()));
    }
    kill_holders(lock);
    ::poll(nullptr, 0, 5);
  }
}

void end_setups(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> locks;
  for (const auto& entry : fs::directory_iterator(folder, error)) locks.push_back(entry.path());
  for (const fs::path& lock : locks) {
    const os::FileLock ended = end_setup(lock);
    fs::remove(lock, error);
  }
}

void set_up_worktree(const SetupPlan& plan, const std::function<bool()>& is_ending) {
  if (!plan.settings.copy.empty()) {
    const os::Folder from = os::Folder::open(plan.from.string(), os::Folder::Links::followed);
    const os::Folder to = os::Folder::open(plan.to.string());
    for (const std::string& name : plan.settings.copy) copy_one(from, to, name);
  }
  if (plan.settings.setup.empty()) return;
  const os::FileLock lock = end_setup(plan.lock);
  const auto until = Clock::now() + plan.limit;
  for (const std::vector<std::string>& argv : plan.settings.setup) {
    if (is_ending()) {
      throw Error(ErrorCode::worktree_setup_failed, std::string("the setup of the worktree ") + cancelled);
    }
    if (!argv.empty()) run_one(plan, lock.file(), argv, until, is_ending);
  }
}

std::shared_ptr<const base::SecretSet> make_secrets(const std::map<std::string, std::string>& environment,
                                                    const std::vector<std::string>& known) {
  std::vector<std::string> values = known;
  for (const auto& [name, value] : environment) {
    if (base::names_secret(name)) values.push_back(value);
  }
  return prepare_secrets(values);
}

}  // namespace reeve::runtime
