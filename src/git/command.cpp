#include "git/command.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/lock.h"
#include "os/spawn.h"
#include "os/write.h"

namespace reeve::git {

namespace {

using base::ErrorCode;

constexpr std::size_t max_error_bytes = 16 * base::limits::kib;
constexpr std::size_t max_said_bytes = 500;

// Override the repository's own config, which git always reads. Settings that can run programs and are not listed here
// do not affect the commands that see that config (GitContext::theirs()); all others see a config written by Reeve.
constexpr std::array<const char*, 22> fixed_settings = {
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    // A shared index would be searched for in the wrong folder.
    "core.splitIndex=false",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.sshCommand=false",
    "core.askPass=",
    "credential.helper=",
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=dirty",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "branch.autoSetupMerge=false",
    // Everything that the ledger refers to must survive a power failure.
    "core.fsync=committed,reference",
    "core.fsyncMethod=batch",
    "core.looseCompression=1",
};

// Overrides core.sshCommand. Never prompts, and leaves no background process behind.
constexpr const char* ssh_command =
    "ssh -oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=15 -oServerAliveCountMax=3 -oControlMaster=no "
    "-oControlPath=none -oPermitLocalCommand=no -oForwardAgent=no";
constexpr auto look_pause = std::chrono::milliseconds(200);

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Without entries that are relative to the current folder.
std::string make_path() {
  const std::string path = value_of("PATH");
  std::vector<std::string> folders;
  for (const std::string_view folder : base::split(path, ':')) {
    if (folder.starts_with('/')) folders.emplace_back(folder);
  }
  return folders.empty() ? "/usr/local/bin:/usr/bin:/bin" : base::join(folders, ":");
}

std::vector<std::string> make_environment(const Call& call) {
  std::vector<std::string> made = {
      "PATH=" + make_path(),
      "LC_ALL=C",
      "GIT_CONFIG_NOSYSTEM=1",
      "GIT_ATTR_NOSYSTEM=1",
      "GIT_TERMINAL_PROMPT=0",
      "GIT_ASKPASS=",
      "SSH_ASKPASS=",
      "GIT_OPTIONAL_LOCKS=0",
      "GIT_PAGER=cat",
      "GIT_EDITOR=false",
      "GIT_NO_REPLACE_OBJECTS=1",
      "GIT_NO_LAZY_FETCH=1",
      "GIT_ADVICE=0",
  };
  const bool has_home = call.config == ConfigOf::person || call.reach == Reach::remotes;
  for (const char* name : {"HOME", "XDG_CONFIG_HOME"}) {
    const std::string value = has_home ? value_of(name) : "";
    if (!value.empty()) made.push_back(fmt::format("{}={}", name, value));
  }
  if (!has_home) made.emplace_back("HOME=/nonexistent");
  if (call.config == ConfigOf::nobody) made.emplace_back("GIT_CONFIG_GLOBAL=/dev/null");
  // Overrides every protocol.* setting. There is no protocol named `none`.
  made.emplace_back(call.reach == Reach::remotes ? "GIT_ALLOW_PROTOCOL=file:git:https:ssh" : "GIT_ALLOW_PROTOCOL=none");
  if (call.reach == Reach::remotes) {
    made.emplace_back(fmt::format("GIT_SSH_COMMAND={}", ssh_command));
    made.emplace_back("GIT_SSH_VARIANT=ssh");
  }
  if (!call.index.empty()) made.push_back("GIT_INDEX_FILE=" + call.index.string());
  made.insert(made.end(), call.environment.begin(), call.environment.end());
  return made;
}

std::vector<std::string> make_words(const Call& call) {
  std::vector<std::string> words = {"git", "--no-pager", "--git-dir=" + call.git_folder.string()};
  if (!call.work_tree.empty()) words.push_back("--work-tree=" + call.work_tree.string());
  const auto set = [&](std::string_view setting) {
    words.emplace_back("-c");
    words.emplace_back(setting);
  };
  for (const char* setting : fixed_settings) set(setting);
  for (const std::string& setting : call.settings) set(setting);
  words.insert(words.end(), call.words.begin(), call.words.end());
  return words;
}

os::Fd make_input(const std::string& text) {
  os::Fd file(::memfd_create("reeve-git", MFD_CLOEXEC));
  // git reads it from the beginning.
  const bool is_written = file && os::write_all(file.get(), text) && ::lseek(file.get(), 0, SEEK_SET) == 0;
  if (!is_written) base::throw_errno(ErrorCode::os_failed, "cannot write git's input", errno);
  return file;
}

// The lock belongs to the open file and is shared by all processes that inherit it: it is released when the last one
// ends.
os::FileLock open_said(const Call& call, std::chrono::steady_clock::time_point deadline) {
  while (true) {
    if (auto taken = os::FileLock::try_take(call.said.string())) {
      if (::ftruncate(taken->file().get(), 0) == 0) return std::move(*taken);
      base::throw_errno(ErrorCode::os_failed, "cannot truncate git's error output", errno);
    }
    if (std::chrono::steady_clock::now() > deadline) {
      throw base::Error(ErrorCode::git_timeout,
                        "a git process that Reeve started earlier is still working in the repository",
                        fmt::format("find it with: fuser -v {}", call.said.string()));
    }
    ::poll(nullptr, 0, 2);
  }
}

std::string read_said(const os::Fd& file) {
  std::string text(max_error_bytes, '\0');
  const ssize_t count = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

// A program's output, kept up to a limit.
class Stream {
 public:
  Stream(os::Fd end, std::size_t most) : end_(std::move(end)), most_(most) {
    if (::fcntl(end_.get(), F_SETFL, O_NONBLOCK) != 0) {
      base::throw_errno(ErrorCode::os_failed, "cannot read a pipe", errno);
    }
  }
  int fd() const noexcept { return end_.get(); }
  // Reads everything available. Bytes beyond the limit are discarded.
  void read() {
    std::array<char, 65'536> block;
    while (end_) {
      const ssize_t count = ::read(end_.get(), block.data(), block.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) {
        end_ = os::Fd();
        return;
      }
      const std::size_t room = most_ - text.size();
      text.append(block.data(), std::min(room, static_cast<std::size_t>(count)));
      is_cut = is_cut || static_cast<std::size_t>(count) > room;
    }
  }

  std::string text = {};
  bool is_cut = false;

 private:
  os::Fd end_;
  std::size_t most_;
};

// git's own reason: the first line with an error prefix, or else the last non-empty one.
std::string find_reason(std::string_view error) {
  std::string_view reason;
  for (const std::string_view line : base::split(error, '\n')) {
    const std::string_view words = base::trim(line);
    if (words.empty() || words.starts_with("hint:")) continue;
    reason = words;
    if (words.starts_with("fatal:") || words.starts_with("error:")) break;
  }
  return base::visible(base::truncate_utf8(reason, max_said_bytes));
}

std::string name_of(const Call& call) { return "`git " + call.words.front() + "`"; }

os::Process start(const Call& call, const os::Fd& input, const os::Fd& output, const os::Fd& error) {
  auto started = os::spawn({.argv = make_words(call),
                            .environment = make_environment(call),
                            .folder = call.work_tree.empty() ? "/" : call.work_tree.string(),
                            .input = input.get(),
                            .output = output.get(),
                            .error = error.get()});
  if (started) return std::move(*started);
  const os::SpawnFailure& failure = started.error();
  if (failure.stage == os::SpawnFailure::Stage::lookup) {
    throw base::Error(ErrorCode::git_missing,
                      "the program `git` was not found, and Reeve needs it to work on a git repository",
                      "install it: apt install git");
  }
  base::throw_errno(ErrorCode::git_failed, name_of(call) + " cannot be started", failure.error_number);
}

}  // namespace

Outcome run(const Call& call) {
  REEVE_ASSERT(!call.words.empty() && call.git_folder.is_absolute() && call.said.is_absolute());
  const os::Fd input = call.input.empty() ? os::Fd() : make_input(call.input);
  const auto deadline = std::chrono::steady_clock::now() + call.limit;
  const os::FileLock lock = open_said(call, deadline);
  const os::Fd& said = lock.file();
  os::Pipe pipe = os::make_pipe();
  Stream output(std::move(pipe.read), call.max_output);
  os::Process process = start(call, input, pipe.write, said);
  pipe.write = os::Fd();

  bool is_late = false;
  while (!output.is_cut) {
    std::array<pollfd, 2> wanted = {{{output.fd(), POLLIN, 0}, {process.fd(), POLLIN, 0}}};
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    is_late = left.count() <= 0 || (call.gives_up && call.gives_up());
    if (is_late) break;
    if (call.gives_up) left = std::min<std::chrono::milliseconds>(left, look_pause);
    if (::poll(wanted.data(), wanted.size(), static_cast<int>(left.count())) < 0 && errno != EINTR) {
      base::throw_errno(ErrorCode::os_failed, "cannot wait for git", errno);
    }
    output.read();
    if (wanted[1].revents != 0) break;
  }
  // git leads its process group until it is waited for, so this also kills everything that it started.
  ::kill(-process.pid(), SIGKILL);
  const os::ExitStatus status = process.wait();
  output.read();

  Outcome outcome{.code = status.code.value_or(-1),
                  .output = std::move(output.text),
                  .said = find_reason(read_said(said)),
                  .is_cut = output.is_cut};
  if (outcome.is_cut) return outcome;
  if (is_late) {
    throw base::Error(ErrorCode::git_timeout,
                      fmt::format("{} did not finish within {} s and was killed", name_of(call),
                                  std::chrono::duration_cast<std::chrono::seconds>(call.limit).count()));
  }
  if (!status.code) fail(call, outcome);
  return outcome;
}

std::string demand(const Call& call) {
  Outcome outcome = run(call);
  if (outcome.code != 0 || outcome.is_cut) fail(call, outcome);
  return std::move(outcome.output);
}

void fail(const Call& call, const Outcome& outcome) {
  if (outcome.is_cut) {
    throw base::Error(ErrorCode::git_failed,
                      fmt::format("{} wrote more than {} MiB", name_of(call), call.max_output / base::limits::mib));
  }
  std::string message = outcome.code < 0 ? fmt::format("{} was killed by a signal", name_of(call))
                                         : fmt::format("{} failed with code {}", name_of(call), outcome.code);
  if (!outcome.said.empty()) message += ": " + outcome.said;
  std::string fix;
  if (outcome.said.find(".lock") != std::string::npos) {
    fix =
        "another git process is running there, or one was killed; if none is running, remove the file that the message "
        "names";
  }
  throw base::Error(ErrorCode::git_failed, std::move(message), std::move(fix));
}

std::vector<std::string> split_at_nul(std::string_view output) {
  if (output.ends_with('\0')) output.remove_suffix(1);
  std::vector<std::string> words;
  if (output.empty()) return words;
  for (const std::string_view word : base::split(output, '\0')) words.emplace_back(word);
  return words;
}

std::string join_with_nul(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined.append(word).push_back('\0');
  return joined;
}

}  // namespace reeve::git
