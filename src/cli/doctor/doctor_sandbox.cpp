#include "cli/doctor/doctor_sandbox.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/file.h"
#include "os/spawn.h"
#include "os/unix_socket.h"
#include "project/confinement.h"

namespace reeve::cli {

namespace {

namespace fs = std::filesystem;

constexpr int timeout_ms = 10'000;
constexpr std::size_t max_text = 64UZ * 1024;

// A temporary project with a state folder, and a folder outside of it.
class Decoy {
 public:
  Decoy() {
    std::string name = (fs::temp_directory_path() / "reeve-doctor-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      base::throw_errno(base::ErrorCode::os_failed, "cannot create a folder for the test", errno);
    }
    root_ = name;
    os::create_folders(state().root);
    os::create_file(root_ / "project/.reeve/config.yaml", "{}\n");
    os::create_file(state().root / "reeve.db", "secret\n");
    listener_ = os::listen_at(state().socket().string(), os::SocketKind::stream);
  }
  ~Decoy() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Decoy(const Decoy&) = delete;
  Decoy& operator=(const Decoy&) = delete;

  fs::path project() const { return root_ / "project"; }
  project::StateFolder state() const { return {root_ / "project/.reeve/state"}; }

 private:
  fs::path root_;
  os::Fd listener_;
};

struct Attempt {
  const char* name;
  // A command that succeeds only if the sandbox fails.
  std::string command;
  const char* meaning;
};

std::vector<Attempt> make_attempts(const Decoy& decoy) {
  const pid_t self = ::getpid();
  // A folder of this user that is neither below the working folder nor private.
  const std::string outside = fs::path(fs::read_symlink("/proc/self/exe")).parent_path().string();
  const char* home = std::getenv("HOME");
  const std::string file = fmt::format("/.reeve-doctor-{}", self);
  const std::string home_file = (home != nullptr ? home : "") + file;
  return {
      {"write outside",
       fmt::format("{{ : > '{0}' && rm '{0}'; }} || {{ : > '{1}' && rm '{1}'; }}", outside + file, home_file),
       "a tool can write outside its working folder"},
      {"state folder hidden", fmt::format("cat '{}/reeve.db'", decoy.state().root.string()),
       "a tool can read the database and the tokens"},
      {"daemon socket", fmt::format("[ -S '{}' ]", decoy.state().socket().string()),
       "a tool can talk to the daemon as its user"},
      {"processes hidden", fmt::format("kill -0 {0} || [ -e /proc/{0}/stat ]", self), "a tool can end other processes"},
      {"config kept", fmt::format(": >> '{}/.reeve/config.yaml'", decoy.project().string()),
       "a tool can change the config of the next run"},
      {"ptrace", fmt::format(": < /proc/{}/mem", self), "a tool can take over other processes"},
      {"no namespaces within", "unshare --user true", "a tool can gain all privileges in its own namespaces"},
      {"kernel settings", ": >> /proc/sys/kernel/core_pattern", "a tool can tell the kernel what to run"},
  };
}

struct Tried {
  std::string text;
  bool has_ended_well = false;
};

// Reads both streams until the end or a timeout.
Tried try_all(const std::vector<std::string>& argv) {
  os::Pipe pipe = os::make_pipe();
  auto process = os::spawn({.argv = argv,
                            .environment = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"},
                            .output = pipe.write.get(),
                            .error = pipe.write.get()});
  if (!process) return {std::generic_category().message(process.error().error_number), false};
  pipe.write = os::Fd();
  Tried tried;
  std::array<char, 4'096> part{};
  pollfd end{pipe.read.get(), POLLIN, 0};
  while (tried.text.size() < max_text && ::poll(&end, 1, timeout_ms) > 0) {
    const ssize_t count = ::read(pipe.read.get(), part.data(), part.size());
    if (count <= 0) break;
    tried.text.append(part.data(), static_cast<std::size_t>(count));
  }
  process->signal(SIGKILL);
  const auto status = process->wait();
  tried.has_ended_well = status.code == 0 || tried.text.contains("all tried");
  return tried;
}

}  // namespace

std::vector<Check> check_sandbox() {
  const std::string name = "sandbox";
  const auto bubblewrap = project::find_bubblewrap();
  if (!bubblewrap) {
    return {{name, Health::warn, fmt::format("`sandbox: guard` cannot be used: {}", bubblewrap.error()),
             "apt install bubblewrap"}};
  }
  const Decoy decoy;
  const auto confinement = project::find_confinement(decoy.project().string(), decoy.state());
  if (!confinement) return {{name, Health::warn, "no folder to test it in", "check that the temporary folder exists"}};
  const std::vector<Attempt> attempts = make_attempts(decoy);
  std::string script;
  for (const Attempt& attempt : attempts) {
    script += fmt::format("if ( {} ) >/dev/null 2>&1; then echo 'open {}'; fi\n", attempt.command, attempt.name);
  }
  script += "echo all tried\n";
  std::vector<std::string> argv = {*bubblewrap};
  for (std::string& word : project::make_bubblewrap_words(*confinement)) argv.push_back(std::move(word));
  for (const char* word : {"--", "/bin/sh", "-c"}) argv.emplace_back(word);
  argv.push_back(script);
  const Tried tried = try_all(argv);
  if (!tried.has_ended_well) {
    const std::string why(base::trim(tried.text));
    return {{name, Health::warn, fmt::format("bubblewrap cannot start: {}", base::visible(why)),
             "needs bubblewrap 0.8 or newer; sysctl user.max_user_namespaces=10000; in a container: allow user "
             "namespaces"}};
  }
  std::vector<Check> checks = {{name, Health::ok, fmt::format("{}, namespaces can be created", *bubblewrap), ""}};
  for (const Attempt& attempt : attempts) {
    const bool is_held = !tried.text.contains(fmt::format("open {}\n", attempt.name));
    checks.push_back(
        {fmt::format("sandbox: {}", attempt.name), is_held ? Health::ok : Health::fail,
         is_held ? "blocked" : fmt::format("NOT blocked: {}", attempt.meaning),
         is_held ? "" : "do not rely on `sandbox: guard` here; report this with the kernel and bwrap versions"});
  }
  return checks;
}

}  // namespace reeve::cli
