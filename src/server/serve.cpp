#include "server/serve.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <future>
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
#include "os/claim.h"
#include "os/descent_mark.h"
#include "os/file.h"
#include "os/lock.h"
#include "os/process_stat.h"
#include "os/pseudo_file.h"
#include "os/unix_socket.h"
#include "project/daemon_holder.h"
#include "project/project.h"
#include "project/restore.h"
#include "project/state_identity.h"
#include "server/access/tcp_endpoint.h"
#include "server/activation.h"
#include "server/possession.h"
#include "server/request/file_guard.h"
#include "server/resources/contract.h"
#include "server/routing/daemon_api.h"
#include "server/run_socket/run_sockets.h"

namespace reeve::server {

namespace {

namespace fs = std::filesystem;

using base::Error;
using base::ErrorCode;

constexpr auto close_timeout = std::chrono::seconds(2);
// How long a stopping daemon waits for a store that does not answer.
constexpr auto stalled_timeout = std::chrono::seconds(3);
// After this long, the reason for a slow start is printed.
constexpr auto silent_start = std::chrono::milliseconds(1'500);
// A socket that keeps being removed is recreated only so often: each time costs a descriptor.
constexpr int max_sockets = 100;

// Inherited settings that must not be passed on.
struct Inherited {
  std::optional<std::string> notify_socket;
  std::string crash_point;
  std::uint64_t open_files = 0;
  // The daemon's socket, if systemd listens on it.
  std::optional<os::Fd> socket;
  // Kept until the config says which of them notifications need.
  std::map<std::string, std::string> variables;
};

// From here on the daemon's environment only determines the user's folders and settings; runs bring their own
// environment.
Inherited clear_environment(const project::StateFolder& folder) {
  Inherited inherited;
  inherited.socket = take_activation_socket(folder.socket());
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
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has started.
  for (const auto& [name, value] : kept) ::setenv(name.c_str(), value.c_str(), 1);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    inherited.open_files = limit.rlim_cur;
    // Each run needs two descriptors; tools get the user's original limit.
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  return inherited;
}

// APR-11: otherwise a process inside a run could decide with its own daemon, and everything that daemon starts would
// carry the run's mark.
void refuse_inside_run() {
  const auto limit = os::find_lock_limit(::getpid());
  if (!limit || !os::is_descent_mark(*limit)) return;
  throw Error(ErrorCode::daemon_inside_run, "a daemon cannot be started inside a run",
              "start it in a shell outside any run");
}

bool is_at(const fs::path& path, const os::Fd& file) {
  struct stat named{};
  struct stat open{};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(file.get(), &open) == 0 && named.st_ino == open.st_ino;
}

std::string first_problem(const base::Problems& problems) {
  const base::Problem& problem = problems.list().front();
  return problem.place ? fmt::format("{}:{}: {}", problem.place->file, problem.place->line, problem.message)
                       : problem.message;
}

std::expected<model::Config, Error> load_config(const project::StateFolder& folder, const fs::path& named) {
  auto found = project::load_config_for(folder, named);
  if (found.loaded) return found.loaded->config();
  const base::Problems& problems = found.loaded.error();
  std::string fix = problems.list().front().fix;
  if (fix.empty() || problems.list().size() > 1) {
    fix += fmt::format("{}`reeve config show` lists every problem", fix.empty() ? "" : "; ");
  }
  return std::unexpected(Error(ErrorCode::config_invalid,
                               fmt::format("the config is not valid: {}", first_problem(problems)), std::move(fix)));
}

// systemd's protocol is one datagram.
void notify(const std::optional<std::string>& socket, std::string_view text) {
  if (!socket || socket->size() >= sizeof(sockaddr_un::sun_path)) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(socket->begin(), socket->end(), address.sun_path);
  // An abstract name starts with NUL, written as @.
  if (socket->front() == '@') address.sun_path[0] = '\0';
  const os::Fd end(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket->size());
  ::sendto(end.get(), text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), length);
}

// Prints the reason for a slow start to standard error, which the starting client shows.
class StartNotice {
 public:
  StartNotice()
      : thread_([](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any ended;
          std::unique_lock lock(mutex);
          if (ended.wait_for(lock, stop, silent_start, [] { return false; }) || stop.stop_requested()) return;
          fmt::print(stderr,
                     "the store is not responding: another program has locked it, or its server does not answer\n");
        }) {}

 private:
  std::jthread thread_;
};

class Server {
 public:
  Server(const ServeOptions& options, Inherited inherited, const project::KnownPlace& place, Possession possession)
      : options_(options),
        place_(place),
        possession_(std::move(possession)),
        inherited_(std::move(inherited)),
        complaints_(::open((options.folder.logs() / "daemon.log").c_str(),
                           O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)),
        daemon_(make_options()),
        tcp_endpoint_(daemon_, tcp_endpoint_settings()),
        api_(daemon_, contract(), &tcp_endpoint_),
        http_(daemon_.loop(),
              [this](Request request, std::shared_ptr<Responder> responder) {
                used_at_ = daemon_.loop().now();
                api_.handle(std::move(request), std::move(responder));
              },
              {.connections = daemon_.context().descriptors.max_connections, .keeps_spare = true}),
        run_sockets_(daemon_) {
    http_.count_in(daemon_.meters().api);
    if (noted_.valid()) noted_.get();
  }

  // Before anything else, so that the user sees an error. A daemon started by a client continues without the configured
  // port, because a daemon of another state folder may have it.
  void take_port() {
    const std::string address = options_.http.value_or(daemon_.options().config.server.http);
    if (address == "off") return;
    try {
      tcp_endpoint_.listen(address);
    } catch (const Error& error) {
      if (!options_.is_background && !is_activated_) throw;
      tcp_endpoint_.note_failure(error);
      log_warning(fmt::format("error[{}]: {}; continuing without the port", error.code(), error.message()));
    }
  }

  // Errors that the daemon cannot handle end it: the guard starts the next one, which recovers from the store.
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
    runtime::Loop::Hold claim;
    if (possession_.claim) {
      claim = daemon_.loop().watch(possession_.claim->fd(), [this] { possession_.claim->drain(); });
    } else {
      log_warning(
          "another user has taken the socket name that prevents a second daemon; relying on the lock file alone");
    }
    const FileGuard files(daemon_, {.renew = [this] { renew_names(); }, .leave = [this] { leave(); }});
    daemon_.recover([this] { open_sockets(); });
    used_at_ = daemon_.loop().now();
    try {
      daemon_.loop().run();
      return EXIT_SUCCESS;
    } catch (const Error& error) {
      log_warning(fmt::format("error[{}]: {}", error.code(), error.message()));
      return EX_SOFTWARE;
    }
  }

 private:
  runtime::Daemon::Options make_options() {
    auto config = load_config(options_.folder, {});
    if (!config) throw config.error();
    runtime::Daemon::Options made{
        .folder = options_.folder,
        .store = options_.store.value_or(config->store),
        .config = std::move(*config),
        .reload = [folder = options_.folder](const fs::path& named) { return load_config(folder, named); },
        .keeper_program = (fs::read_symlink("/proc/self/exe").parent_path() / "reeve-keeper").string(),
        .open_files = inherited_.open_files,
        .log_warning = [this](const std::string& text) { log_warning(text); },
        .complaints = complaints_.get(),
        .crash_point = inherited_.crash_point};
    if (is_in_folder(made.store)) project::check_database_files(place_);
    give_variables(made);
    // Written while the daemon starts, and known before it accepts anything.
    if (is_in_folder(made.store) && !place_.has_database) {
      made.store_opened = [this] {
        noted_ = std::async(std::launch::async, [place = place_] { project::note_database(place); });
      };
    }
    idle_exit_ = made.config.supervision.idle_exit;
    return made;
  }

  // Whether the store is the folder's own database.
  bool is_in_folder(const std::string& store) const {
    const auto place = store::parse_place(store, options_.folder.root.string());
    return place && place->kind == store::Place::Kind::file &&
           fs::path(place->where) == options_.folder.root / "reeve.db";
  }

  // Passes on the inherited variables that desktop notifications and programs need, and the secrets of notifications.
  void give_variables(runtime::Daemon::Options& made) {
    const auto variables = std::exchange(inherited_.variables, {});
    for (const char* name : project::hook_variables) {
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

  TcpEndpoint::Settings tcp_endpoint_settings() const {
    const model::ServerSettings& server = daemon_.options().config.server;
    return {.tls = server.tls,
            .is_behind_proxy = options_.is_behind_proxy || server.behind_proxy,
            .allowed_hosts = server.allowed_hosts};
  }

  void log_warning(const std::string& text) const {
    const std::string line = fmt::format("{} {}\n", base::format_time(base::SystemClock().wall_now()), text);
    if (::write(complaints_.get(), line.data(), line.size()) < 0) return;
  }

  // Recreates the lock and the socket: nothing is lost with them, and the claim keeps other daemons out.
  void renew_names() {
    const project::StateFolder& folder = options_.folder;
    try {
      if (!is_at(folder.lock(), possession_.lock.file())) {
        if (auto lock = os::FileLock::try_take(folder.lock().string())) {
          write_pid(*lock, folder);
          possession_.lock = std::move(*lock);
          log_warning("reeve.lock was removed; recreating it");
        }
      }
      std::error_code error;
      if (!is_open_ || is_leaving_) return;
      if (!fs::exists(folder.socket(), error) && ++sockets_ <= max_sockets) {
        http_.accept(listen_at_socket());
        log_warning("reeve.sock was removed; recreating it");
      } else if (own_socket_.was_replaced() && project::is_cut_off(folder)) {
        // A socket unit was started: its daemon serves the clients, which cannot reach this one any more.
        log_warning("another program listens at reeve.sock now; leaving, runs continue");
        leave();
      }
    } catch (const Error& error) {
      log_warning(fmt::format("error[{}]: {}", error.code(), error.message()));
    }
  }

  os::Fd listen_at_socket() {
    const std::string path = options_.folder.socket().string();
    os::Fd listener = os::listen_at(path, os::SocketKind::stream);
    own_socket_ = OwnFile(path);
    return listener;
  }

  void open_sockets() {
    is_open_ = true;
    http_.accept(inherited_.socket ? std::move(*inherited_.socket) : listen_at_socket());
    tcp_endpoint_.serve(http_);
    if (options_.is_background) {
      // The client that started the daemon waits until these are closed.
      const os::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
      ::dup2(null.get(), STDOUT_FILENO);
      ::dup2(complaints_.get(), STDERR_FILENO);
      watch_idle();
    } else {
      // systemd starts the next daemon with the next client.
      if (is_activated_) watch_idle();
      fmt::print(stderr, "reeve: listening at {}\n", options_.folder.socket().string());
      if (tcp_endpoint_.is_open()) fmt::print(stderr, "reeve: listening at {}\n", tcp_endpoint_.bound());
    }
    notify(inherited_.notify_socket, "READY=1");
  }

  void watch_idle() {
    if (!idle_exit_.after) return;
    idle_timer_ = daemon_.loop().at(used_at_ + *idle_exit_.after, [this] {
      const auto now = daemon_.loop().now();
      if (http_.connections() > 0 || daemon_.supervisor().live_runs() > 0 || tcp_endpoint_.is_wanted()) used_at_ = now;
      if (used_at_ + *idle_exit_.after > now) return watch_idle();
      daemon_.ask_idle([this](bool is_idle) {
        if (is_idle && http_.connections() == 0 && !tcp_endpoint_.is_wanted()) return leave();
        used_at_ = daemon_.loop().now();
        watch_idle();
      });
    });
  }

  void leave() {
    if (is_leaving_) return;
    is_leaving_ = true;
    notify(inherited_.notify_socket, "STOPPING=1");
    own_socket_.remove();
    leave_without_store();
    http_.close(close_timeout, [this] { daemon_.loop().stop(); });
  }

  // In case the store blocks the exit: pending work was not confirmed to any client, and the next daemon recovers from
  // the store as after a crash.
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
  const project::KnownPlace place_;
  // Released last.
  Possession possession_;
  Inherited inherited_;
  const bool is_activated_ = inherited_.socket.has_value();
  OwnFile own_socket_;
  os::Fd complaints_;
  base::TimeLimit idle_exit_;
  base::BootTime used_at_;
  bool is_leaving_ = false;
  bool is_open_ = false;
  int sockets_ = 0;
  // The note in the user's registry that this folder has a database.
  std::future<void> noted_;
  runtime::Daemon daemon_;
  TcpEndpoint tcp_endpoint_;
  DaemonApi api_;
  HttpServer http_;
  RunSockets run_sockets_;
  runtime::Loop::Hold idle_timer_;
};

}  // namespace

int serve(const ServeOptions& options) {
  try {
    sigset_t blocked;
    ::sigemptyset(&blocked);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&blocked, number);
    // Before any thread starts, so that all inherit the mask.
    ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    refuse_inside_run();
    Inherited inherited = clear_environment(options.folder);
    const project::OpenedState opened = project::open_state_folder(options.folder.root);
    project::refuse_links(options.folder.root, 2);
    const Holder holder = inherited.socket ? Holder::leaves : Holder::stays;
    Possession possession = take_possession(options.folder, holder);
    if (!inherited.socket) refuse_foreign_listener(options.folder.socket());
    project::refuse_unfinished_restore(options.folder.root);
    os::create_folders(options.folder.logs());
    std::optional<StartNotice> notice(std::in_place);
    Server server(options, std::move(inherited), opened.place, std::move(possession));
    notice.reset();
    server.take_port();
    return server.run();
  } catch (const Error& error) {
    std::string text = fmt::format("error[{}]: {}\n", error.code(), error.message());
    if (!error.fix().empty()) text += fmt::format("  = fix: {}\n", error.fix());
    fmt::print(stderr, "{}", text);
    const bool is_refused = error.is(ErrorCode::daemon_already_running);
    // Tells the guard not to retry; a person gets the exit code of SPEC §7.
    if (options.is_background) return is_refused ? keeper::daemon_refused : keeper::daemon_cannot_begin;
    return is_refused ? 4 : 1;
  }
}

}  // namespace reeve::server
