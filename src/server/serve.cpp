#include "server/serve.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sysexits.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "keeper/crash_point.h"
#include "keeper/guard.h"
#include "os/descent_mark.h"
#include "os/file.h"
#include "os/lock.h"
#include "os/process_stat.h"
#include "os/pseudo_file.h"
#include "os/unix_socket.h"
#include "project/project.h"
#include "server/api.h"
#include "server/door.h"
#include "server/front.h"

namespace reeve::server {

namespace {

namespace fs = std::filesystem;

using base::Error;

constexpr auto close_patience = std::chrono::seconds(2);
constexpr auto dying_patience = std::chrono::seconds(5);
// How long a daemon that leaves waits for a store that does not answer.
constexpr auto stalled_timeout = std::chrono::seconds(3);
// After so long, whoever waits for the start is told what it waits for.
constexpr auto silent_start = std::chrono::milliseconds(1'500);

// What the daemon was started with and must not hand on.
struct Inherited {
  std::optional<std::string> notify_socket;
  std::string crash_point;
  std::uint64_t open_files = 0;
  // Until the config says which of them notifications need.
  std::map<std::string, std::string> variables;
};

// Its own environment decides nothing from here on but where the user's files are and which settings hold; what runs
// need comes with them.
Inherited clear_environment() {
  Inherited inherited;
  inherited.notify_socket = project::variable("NOTIFY_SOCKET");
  inherited.crash_point = project::variable("REEVE_CRASH_POINT").value_or("");
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals < text.size()) inherited.variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  std::vector<std::string> names = project::setting_variables();
  names.insert(names.end(), {"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "PATH", "LANG", "TZ", "TMPDIR"});
#ifdef REEVE_CRASH_POINTS
  names.emplace_back("REEVE_RECORD_EXCHANGES");
#endif
#ifdef REEVE_SANITIZED
  // apps/sanitizer.cpp
  names.emplace_back("REEVE_SANITIZER_REPORTS");
#endif
  std::vector<std::pair<std::string, std::string>> kept;
  for (const std::string& name : names) {
    if (auto value = project::variable(name.c_str())) kept.emplace_back(name, std::move(*value));
  }
  ::clearenv();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has begun.
  for (const auto& [name, value] : kept) ::setenv(name.c_str(), value.c_str(), 1);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    inherited.open_files = limit.rlim_cur;
    // Two descriptors a run; tools get the limit that the person had.
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  return inherited;
}

// APR-11: a process inside a run would have a daemon of its own to decide with, and all that this one starts would
// carry the run's mark.
void refuse_inside_run() {
  const auto limit = os::find_lock_limit(::getpid());
  if (!limit || !os::is_descent_mark(*limit)) return;
  throw Error("daemon.inside_run", "a daemon cannot be started inside a run", "start it in a shell of your own");
}

void prepare_folder(const fs::path& root) {
  std::error_code error;
  const bool is_private =
      (fs::status(root, error).permissions() & (fs::perms::group_all | fs::perms::others_all)) == fs::perms::none;
  const bool is_foreign =
      fs::exists(root, error) && !is_private && !fs::is_empty(root, error) && !fs::exists(root / "reeve.lock", error);
  if (is_foreign) {
    throw Error("daemon.state_folder",
                fmt::format("{} is no state folder of Reeve: other things lie in it", root.string()),
                "choose an empty or a new folder with --state");
  }
  os::create_folders(root);
  // Only the owner may look in: the socket and the launches are there.
  if (::chmod(root.c_str(), 0700) != 0) {
    base::throw_errno("daemon.state_folder", fmt::format("cannot make {} private", root.string()), errno,
                      "is it yours? choose another with --state");
  }
}

bool is_living(pid_t pid) {
  const auto stat = os::read_process_stat(pid);
  return stat && stat->state != 'Z' && stat->state != 'X';
}

os::FileLock take_lock(const project::StateFolder& folder) {
  const base::SystemClock clock;
  const base::BootTime give_up = clock.boot_now() + dying_patience;
  std::optional<os::FileLock> lock;
  while (!(lock = os::FileLock::try_take(folder.lock().string()))) {
    const std::string holder = os::read_pseudo_file(folder.lock().c_str(), 32);
    // One that was killed keeps it until the last of its threads is gone, a moment after itself.
    const bool is_dying = !is_living(static_cast<pid_t>(os::parse_unsigned(holder)));
    if (!is_dying || clock.boot_now() > give_up) {
      throw Error("daemon.already_running",
                  fmt::format("another daemon{} has the state folder {}", holder.empty() ? "" : " (pid " + holder + ")",
                              folder.root.string()),
                  "`reeve stop` ends it; or choose another folder with --state");
    }
    ::poll(nullptr, 0, 5);
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock->file().get(), 0) != 0 ||
      ::pwrite(lock->file().get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    base::throw_errno("daemon.state_folder", fmt::format("cannot write {}", folder.lock().string()), errno,
                      "is the disk full?");
  }
  return std::move(*lock);
}

std::string first_problem(const base::Problems& problems) {
  const base::Problem& problem = problems.list().front();
  return problem.place ? fmt::format("{}:{}: {}", problem.place->file, problem.place->line, problem.message)
                       : problem.message;
}

std::expected<model::Config, Error> load_config(const project::StateFolder& folder) {
  auto found = project::load_config_of(folder);
  if (found.loaded) return found.loaded->config();
  return std::unexpected(Error("config.invalid",
                               fmt::format("the config is not valid: {}", first_problem(found.loaded.error())),
                               "`reeve config show` tells everything that is wrong"));
}

// systemd's protocol is one datagram.
void notify(const std::optional<std::string>& socket, std::string_view text) {
  if (!socket || socket->size() >= sizeof(sockaddr_un::sun_path)) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(socket->begin(), socket->end(), address.sun_path);
  // An abstract name begins with NUL, written as @.
  if (socket->front() == '@') address.sun_path[0] = '\0';
  const os::Fd end(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket->size());
  ::sendto(end.get(), text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), length);
}

// Says on standard error why the start takes long, which whoever started the daemon shows.
class StartNotice {
 public:
  StartNotice()
      : thread_([](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any ended;
          std::unique_lock lock(mutex);
          if (ended.wait_for(lock, stop, silent_start, [] { return false; }) || stop.stop_requested()) return;
          fmt::print(stderr, "the store does not answer: another program holds it locked, or its server is silent\n");
        }) {}

 private:
  std::jthread thread_;
};

class Server {
 public:
  Server(const ServeOptions& options, Inherited inherited)
      : options_(options),
        inherited_(std::move(inherited)),
        complaints_(
            ::open((options.folder.logs() / "daemon.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)),
        daemon_(make_options()),
        front_(daemon_, front_settings()),
        api_(daemon_, &front_),
        http_(daemon_.loop(),
              [this](Request request, std::shared_ptr<Responder> responder) {
                used_at_ = daemon_.loop().now();
                api_.handle(std::move(request), std::move(responder));
              },
              {.connections = daemon_.around().descriptors.max_connections, .keeps_spare = true}),
        doors_(daemon_) {
    http_.count_in(daemon_.meters().api);
  }

  // Before anything else, so that whoever starts it is told. A daemon that a client has started goes on without the
  // port of the config: another state folder's may have it.
  void take_port() {
    const std::string address = options_.http.value_or(daemon_.options().config.server.http);
    if (address == "off") return;
    try {
      front_.listen(address);
    } catch (const Error& error) {
      if (!options_.is_background) throw;
      complain(fmt::format("error[{}]: {}; going on without", error.code(), error.message()));
    }
  }

  // Once it has begun, what it cannot go on with ends it: the guard starts the next one, which reads the truth.
  int run() {
    sigset_t watched;
    ::sigemptyset(&watched);
    for (const int number : {SIGTERM, SIGINT}) ::sigaddset(&watched, number);
    const os::Fd signals(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    const runtime::Loop::Hold watch = daemon_.loop().watch(signals.get(), [&] {
      std::array<char, sizeof(signalfd_siginfo)> bytes{};
      while (::read(signals.get(), bytes.data(), bytes.size()) > 0) {
      }
      leave();
    });
    daemon_.recover([this] { open_doors(); });
    used_at_ = daemon_.loop().now();
    try {
      daemon_.loop().run();
      return EXIT_SUCCESS;
    } catch (const Error& error) {
      complain(fmt::format("error[{}]: {}", error.code(), error.message()));
      return EX_SOFTWARE;
    }
  }

 private:
  runtime::Daemon::Options make_options() {
    auto config = load_config(options_.folder);
    if (!config) throw config.error();
    runtime::Daemon::Options made{
        .folder = options_.folder,
        .store = options_.store.value_or(config->store),
        .config = std::move(*config),
        .reload = [folder = options_.folder] { return load_config(folder); },
        .keeper_program = (fs::read_symlink("/proc/self/exe").parent_path() / "reeve-keeper").string(),
        .open_files = inherited_.open_files,
        .complain = [this](const std::string& text) { complain(text); },
        .complaints = complaints_.get(),
        .crash_point = inherited_.crash_point};
    give_variables(made);
    idle_exit_ = made.config.supervision.idle_exit;
    return made;
  }

  // Of what the daemon was started with, notifications get what desktops and programs need, and their keys.
  void give_variables(runtime::Daemon::Options& made) {
    const auto variables = std::exchange(inherited_.variables, {});
    for (const char* name : project::errand_variables) {
      const auto found = variables.find(name);
      if (found != variables.end()) made.notify_environment.push_back(fmt::format("{}={}", name, found->second));
    }
    for (const auto& [name, value] : variables) {
      const bool is_passed = std::ranges::any_of(made.config.tools, [&](const auto& tool) {
        return std::ranges::find(tool.second.pass_env, name) != tool.second.pass_env.end();
      });
      if (is_passed || runtime::is_for_tools(name)) made.environment.emplace(name, value);
    }
    for (const model::Notification& entry : made.config.notify) {
      const auto found = variables.find(entry.secret_env.value_or(""));
      if (found != variables.end() && !found->second.empty()) made.notify_secrets.insert(*found);
    }
  }

  Front::Settings front_settings() const {
    const model::ServerSettings& server = daemon_.options().config.server;
    return {.tls = server.tls,
            .is_behind_proxy = options_.is_behind_proxy || server.behind_proxy,
            .allowed_hosts = server.allowed_hosts};
  }

  void complain(const std::string& text) const {
    const std::string line = fmt::format("{} {}\n", base::format_time(base::SystemClock().wall_now()), text);
    if (::write(complaints_.get(), line.data(), line.size()) < 0) return;
  }

  void open_doors() {
    http_.accept(os::listen_at(options_.folder.socket().string(), os::SocketKind::stream));
    front_.serve(http_);
    if (options_.is_background) {
      // Whoever started this waits for the end of these.
      const os::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
      ::dup2(null.get(), STDOUT_FILENO);
      ::dup2(complaints_.get(), STDERR_FILENO);
      watch_idle();
    } else {
      fmt::print(stderr, "reeve: listening at {}\n", options_.folder.socket().string());
      if (front_.is_open()) fmt::print(stderr, "reeve: listening at {}\n", front_.url());
    }
    notify(inherited_.notify_socket, "READY=1");
  }

  void watch_idle() {
    if (!idle_exit_.after) return;
    idle_timer_ = daemon_.loop().at(used_at_ + *idle_exit_.after, [this] {
      const auto now = daemon_.loop().now();
      if (http_.connections() > 0 || daemon_.supervisor().live_runs() > 0 || front_.is_wanted()) used_at_ = now;
      if (used_at_ + *idle_exit_.after > now) return watch_idle();
      daemon_.ask_idle([this](bool is_idle) {
        if (is_idle && http_.connections() == 0 && !front_.is_wanted()) return leave();
        used_at_ = daemon_.loop().now();
        watch_idle();
      });
    });
  }

  void leave() {
    if (is_leaving_) return;
    is_leaving_ = true;
    notify(inherited_.notify_socket, "STOPPING=1");
    // While the lock is held: the name cannot be that of a successor.
    ::unlink(options_.folder.socket().c_str());
    leave_without_store();
    http_.close(close_patience, [this] { daemon_.loop().stop(); });
  }

  // Should the store keep it from leaving: what waits for that was promised to nobody, and the next daemon reads what
  // was stored, as after a crash.
  void leave_without_store() {
    std::thread([working_since = daemon_.ledger().working_since()] {
      using std::chrono::steady_clock;
      while (true) {
        ::poll(nullptr, 0, 100);
        const std::int64_t since = *working_since;
        const auto begun = steady_clock::time_point(steady_clock::duration(since));
        if (since != 0 && steady_clock::now() - begun > stalled_timeout) std::_Exit(EXIT_SUCCESS);
      }
    }).detach();
  }

  const ServeOptions& options_;
  Inherited inherited_;
  os::Fd complaints_;
  base::TimeLimit idle_exit_;
  base::BootTime used_at_;
  bool is_leaving_ = false;
  runtime::Daemon daemon_;
  Front front_;
  Api api_;
  HttpServer http_;
  Doors doors_;
  runtime::Loop::Hold idle_timer_;
};

}  // namespace

int serve(const ServeOptions& options) {
  try {
    sigset_t blocked;
    ::sigemptyset(&blocked);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&blocked, number);
    // Before any thread begins, so that all have it.
    ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    refuse_inside_run();
    Inherited inherited = clear_environment();
    prepare_folder(options.folder.root);
    const os::FileLock lock = take_lock(options.folder);
    os::create_folders(options.folder.logs());
    std::optional<StartNotice> notice(std::in_place);
    Server server(options, std::move(inherited));
    notice.reset();
    server.take_port();
    return server.run();
  } catch (const Error& error) {
    std::string text = fmt::format("error[{}]: {}\n", error.code(), error.message());
    if (!error.fix().empty()) text += fmt::format("  = {}\n", error.fix());
    fmt::print(stderr, "{}", text);
    const bool is_refused = error.code() == "daemon.already_running";
    // To the guard that it is not to be tried again, to a person what SPEC §7 has for it.
    if (options.is_background) return is_refused ? keeper::daemon_refused : keeper::daemon_cannot_begin;
    return is_refused ? 4 : 1;
  }
}

}  // namespace reeve::server
