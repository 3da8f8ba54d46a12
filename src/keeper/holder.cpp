#include "keeper/holder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/error.h"
#include "keeper/crash_point.h"
#include "keeper/message.h"
#include "keeper/output_writer.h"
#include "keeper/records.h"
#include "keeper/tool_tree.h"
#include "os/lock.h"
#include "os/unix_socket.h"

namespace reeve::keeper {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::size_t most_connections = 8;
// Of one stream before the others have their turn.
constexpr int frames_per_turn = 16;
// For a tool that prints faster than it is read; a stream that never fills its pipe keeps the kernel's 64 KiB, of which
// a user has a limited number of pages.
constexpr int busy_pipe_bytes = 512 * 1024;
constexpr std::size_t most_input = 256UL * 1024;
constexpr std::size_t terminal_bytes = 4'096;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
// What a killed tree left in its pipes is there at once; only something that cannot be killed keeps them open longer.
constexpr std::int64_t drain_ns = nanoseconds(seconds(2)).count();
constexpr std::int64_t retry_ns = nanoseconds(milliseconds(200)).count();
constexpr auto kill_patience = seconds(10);

std::int64_t read_clock(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}
std::int64_t boot_now() noexcept { return read_clock(CLOCK_BOOTTIME); }

void make_nonblocking(int fd) noexcept { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

struct Connection {
  os::Fd socket;
  // It was told of output and has not answered.
  bool owes_answer = false;
  std::uint64_t told = 0;
};

// A stream of the tool that is read from.
struct Source {
  os::Fd own;
  int fd = -1;
  std::uint8_t stream = 0;
  bool is_busy = false;
  bool is_open() const noexcept { return fd >= 0; }
};

class Holder {
 public:
  Holder(os::Fd daemon, const std::string& seats);
  ~Holder();
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  int run();

 private:
  // Before Go: true when it came.
  bool wait_for_go();
  void start();
  bool prepare(const Assign& assign, Launch& launch);
  void open_streams(const Launch& launch, os::SpawnPlan& plan);
  void turn();
  std::size_t gather(std::array<pollfd, 4 + most_connections + 2>& ends);
  void accept_connection();
  void receive(std::size_t index);
  void act(std::size_t index, ToKeeper message);
  void take_input(std::size_t index, Input input);
  void write_input();
  void read_source(Source& source);
  // False when there is nothing more to read now, or no room for it.
  bool read_frame(Source& source);
  bool is_folder_gone() const noexcept;
  bool is_own_tree(pid_t pid) const;
  void give_up();
  void take_signals();
  void see_exit();
  void stop(EndedBy why, std::uint32_t grace_ms);
  void check_clock();
  void set_timer();
  void close_source(Source& source) noexcept;
  bool is_drained() const noexcept;
  void tell(Connection& connection, const FromKeeper& message) noexcept;
  void tell_all(const FromKeeper& message) noexcept;
  void tell_growth() noexcept;
  void finish();
  bool has_daemon() const noexcept { return !connections_.empty(); }

  std::string seat_;
  std::optional<os::FileLock> lock_;
  os::Fd listener_;
  os::Fd signals_;
  os::Fd timer_;
  std::vector<Connection> connections_;

  std::optional<Assign> assign_;
  std::optional<os::Folder> folder_;
  std::unique_ptr<ToolTree> tree_;
  std::unique_ptr<OutputWriter> output_;
  std::optional<os::Pty> pty_;
  // Held open while the tool lives: a tool that closes its terminal for a moment does not end it.
  os::Fd slave_;
  std::array<Source, 2> sources_;
  os::Fd input_;
  std::string pending_input_;
  bool closes_input_ = false;

  std::optional<os::Process> tool_;
  // It has been waited for: its number may be another's from then on.
  bool is_reaped_ = false;
  bool has_ended_ = false;
  ExitRecord record_;
  std::int64_t kill_at_ = never;
  std::int64_t drained_by_ = never;
  std::int64_t retry_at_ = never;
  std::int64_t deadline_ = never;
  std::int64_t lease_ = never;
  // What the timer is set to.
  std::int64_t timer_at_ = never;
};

Holder::Holder(os::Fd daemon, const std::string& seats) {
  os::become_subreaper();
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::sigaddset(&watched, number);
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = os::Fd(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  timer_ = os::Fd(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!signals_ || !timer_) base::throw_errno("os.failed", "cannot wait for events", errno);
  const auto self = os::identify(::getpid());
  if (!self) base::throw_errno("os.failed", "cannot tell when this process began", ENOENT, "mount /proc");
  seat_ = seats + "/" + seat_name(self->pid, self->started);
  lock_ = os::FileLock::try_take(seat_ + ".lock");
  if (!lock_) base::throw_errno("os.failed", "another process has the seat", EEXIST);
  listener_ = os::listen_at(seat_ + ".sock", os::SocketKind::packets, static_cast<int>(most_connections));
  connections_.push_back({.socket = std::move(daemon)});
  tell_all(Hello{self->pid, self->started});
}

Holder::~Holder() {
  ::unlink((seat_ + ".sock").c_str());
  ::unlink((seat_ + ".lock").c_str());
}

int Holder::run() {
  if (!wait_for_go()) return 0;
  start();
  while (!(has_ended_ && is_drained())) turn();
  finish();
  return 0;
}

bool Holder::wait_for_go() {
  // Not touched before something is written to it: a silent run costs no page of it.
  const std::unique_ptr<char[]> bytes(new char[message_bytes]);
  while (true) {
    pollfd end{connections_.front().socket.get(), POLLIN, 0};
    if (::poll(&end, 1, -1) < 0) continue;
    const ssize_t count = ::recv(end.fd, bytes.get(), message_bytes, 0);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return false;
    auto message = decode_to_keeper({bytes.get(), static_cast<std::size_t>(count)});
    if (!message) return false;
    if (auto* assign = std::get_if<Assign>(&*message)) assign_ = std::move(*assign);
    if (std::holds_alternative<Go>(*message)) return assign_.has_value();
  }
}

bool Holder::prepare(const Assign& assign, Launch& launch) {
  folder_ = os::Folder::open(assign.attempt_folder);
  output_ = std::make_unique<OutputWriter>(*folder_, assign.output_cap);
  const auto run_folder = os::Folder::open(assign.run_folder);
  const auto file = run_folder.open_file(launch_name, O_RDONLY);
  if (!file) return false;
  std::string bytes;
  std::array<char, 16'384> part{};
  while (bytes.size() <= launch_bytes) {
    const ssize_t count = ::read(file->get(), part.data(), part.size());
    if (count <= 0) break;
    bytes.append(part.data(), static_cast<std::size_t>(count));
  }
  auto decoded = decode_launch(bytes);
  if (!decoded || decoded->argv.empty()) return false;
  launch = std::move(*decoded);
  launch.argv.insert(launch.argv.end(), assign.words.begin(), assign.words.end());
  launch.argv.insert(launch.argv.begin(), assign.wrapper.begin(), assign.wrapper.end());
  launch.environment.insert(launch.environment.end(), assign.environment.begin(), assign.environment.end());
  return true;
}

void Holder::open_streams(const Launch& launch, os::SpawnPlan& plan) {
  if (assign_->mode == Assign::Mode::pty) {
    pty_.emplace(assign_->rows, assign_->columns);
    slave_ = os::Fd(::open(pty_->slave().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    plan.terminal = pty_->slave();
    make_nonblocking(pty_->master().get());
    sources_[0].fd = pty_->master().get();
    return;
  }
  for (std::uint8_t stream = 0; stream < 2; ++stream) {
    os::Pipe pipe = os::make_pipe();
    make_nonblocking(pipe.read.get());
    sources_[stream].own = std::move(pipe.read);
    sources_[stream].fd = sources_[stream].own.get();
    sources_[stream].stream = stream;
    // The other end lives in `plan` until the tool has its own copy.
    (stream == 0 ? plan.output : plan.error) = ::fcntl(pipe.write.get(), F_DUPFD_CLOEXEC, 3);
  }
  if (assign_->mode == Assign::Mode::stream) {
    os::Pipe pipe = os::make_pipe();
    make_nonblocking(pipe.write.get());
    input_ = std::move(pipe.write);
    plan.input = ::fcntl(pipe.read.get(), F_DUPFD_CLOEXEC, 3);
  } else if (launch.has_prompt) {
    plan.input = ::open((assign_->run_folder + "/" + prompt_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  }
}

void Holder::start() {
  record_.nonce = assign_->nonce;
  if (assign_->deadline_ns != 0) deadline_ = assign_->deadline_ns;
  if (assign_->lease_ns != 0) lease_ = assign_->lease_ns;
  Launch launch;
  const bool is_prepared = prepare(*assign_, launch);
  tree_ = std::make_unique<ToolTree>(is_prepared ? assign_->cgroup_parent : std::string(), "reeve-" + assign_->nonce);
  crash_point("keeper.before_marker");
  ExecMarker marker{.nonce = assign_->nonce, .cgroup = tree_->cgroup()};
  const bool is_marked = is_prepared && folder_->replace_file(marker_name, encode_marker(marker));
  crash_point("keeper.after_marker");
  if (!is_marked) {
    record_.exec_errno = is_prepared ? EIO : ENODATA;
    has_ended_ = true;
    return;
  }
  os::SpawnPlan plan{.argv = std::move(launch.argv), .environment = std::move(launch.environment)};
  plan.folder = launch.folder;
  open_streams(launch, plan);
  if (assign_->open_files != 0) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min<rlim_t>(assign_->open_files, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  auto process = tree_->spawn(plan);
  for (const int fd : {plan.input, plan.output, plan.error}) {
    if (fd >= 0) ::close(fd);
  }
  if (!process) {
    record_.exec_errno = process.error().error_number;
    record_.exec_stage = static_cast<std::uint8_t>(process.error().stage);
    has_ended_ = true;
    slave_ = os::Fd();
    for (Source& source : sources_) close_source(source);
    return;
  }
  tool_ = std::move(*process);
  const auto id = os::identify(tool_->pid());
  if (id) {
    // For the one who must find what is left when this process is killed, where no group tells it.
    marker.pid = id->pid;
    marker.started = id->started;
    if (tree_->cgroup().empty()) folder_->replace_file(marker_name, encode_marker(marker));
    tell_all(Started{id->pid, id->started});
  }
}

std::size_t Holder::gather(std::array<pollfd, 4 + most_connections + 2>& ends) {
  const bool can_read = output_->is_ready();
  ends[0] = {signals_.get(), POLLIN, 0};
  ends[1] = {timer_.get(), POLLIN, 0};
  ends[2] = {connections_.size() < most_connections ? listener_.get() : -1, POLLIN, 0};
  ends[3] = {tool_ && !is_reaped_ ? tool_->fd() : -1, POLLIN, 0};
  const int input = pty_ ? pty_->master().get() : input_.get();
  for (std::size_t i = 0; i < 2; ++i) {
    auto events = static_cast<short>(can_read ? POLLIN : 0);
    // A descriptor that is asked for nothing still tells its end, again and again.
    ends[4 + i] = {can_read ? sources_[i].fd : -1, events, 0};
  }
  const bool wants_input = !pending_input_.empty() && input >= 0;
  if (wants_input && pty_ && sources_[0].is_open()) {
    ends[4].fd = sources_[0].fd;
    ends[4].events = static_cast<short>(ends[4].events | POLLOUT);
  }
  std::size_t count = 6;
  for (const Connection& connection : connections_) ends[count++] = {connection.socket.get(), POLLIN, 0};
  // The open standard input of a tool in stream mode takes the place of a connection that is never there.
  if (wants_input && !pty_ && count < ends.size()) ends[count++] = {input, POLLOUT, 0};
  return count;
}

void Holder::turn() {
  std::array<pollfd, 4 + most_connections + 2> ends{};
  set_timer();
  const std::size_t count = gather(ends);
  const std::size_t peers = connections_.size();
  if (::poll(ends.data(), count, -1) < 0) return;
  // Output first: what was printed before the end belongs before it.
  for (std::size_t i = 0; i < 2; ++i) {
    if ((ends[4 + i].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && ends[4 + i].events != 0) read_source(sources_[i]);
  }
  if (!pending_input_.empty()) write_input();
  if (ends[0].revents != 0) take_signals();
  if (ends[3].revents != 0) see_exit();
  for (std::size_t i = peers; i-- > 0;) {
    if (ends[6 + i].revents != 0) receive(i);
  }
  if (ends[2].revents != 0) accept_connection();
  if (ends[1].revents != 0) check_clock();
  tell_growth();
}

void Holder::read_source(Source& source) {
  for (int frame = 0; frame < frames_per_turn; ++frame) {
    if (!read_frame(source)) return;
  }
}

bool Holder::read_frame(Source& source) {
  if (!source.is_open() || !output_->is_ready()) return false;
  const std::span<char> room = output_->room();
  ssize_t count = ::read(source.fd, room.data(), room.size());
  // A terminal gives a page at a time: what comes at once becomes one frame.
  while (pty_ && count > 0 && room.size() - static_cast<std::size_t>(count) >= terminal_bytes) {
    const ssize_t more = ::read(source.fd, room.data() + count, room.size() - static_cast<std::size_t>(count));
    if (more <= 0) break;
    count += more;
  }
  if (count > 0) {
    output_->append(source.stream, static_cast<std::size_t>(count), read_clock(CLOCK_REALTIME));
    if (output_->error_number() != 0) {
      retry_at_ = boot_now() + retry_ns;
      tell_all(Trouble{output_->error_number()});
    }
    const bool is_full = static_cast<std::size_t>(count) == room.size();
    if (is_full && !std::exchange(source.is_busy, true) && !pty_) ::fcntl(source.fd, F_SETPIPE_SZ, busy_pipe_bytes);
    // A terminal gives less at a time than it has.
    return is_full || has_ended_;
  }
  // The end: of a pipe when nobody writes, of a terminal (EIO) when nobody has it open.
  if (count == 0 || (errno != EINTR && errno != EAGAIN)) close_source(source);
  return false;
}

// Somebody has deleted it: there is no place for output or a record any more.
bool Holder::is_folder_gone() const noexcept {
  struct stat status{};
  return ::fstat(folder_->fd(), &status) == 0 && status.st_nlink == 0;
}

void Holder::give_up() {
  if (tool_ && !is_reaped_) tree_->kill(kill_patience, 0);
  for (Source& source : sources_) close_source(source);
  is_reaped_ = has_ended_ = true;
  output_.reset();
}

// The tool and what it started may connect to this socket, being of the same user; they are no daemon.
bool Holder::is_own_tree(pid_t pid) const {
  const std::vector<os::ProcessId> own = os::find_descendants(::getpid());
  return std::any_of(own.begin(), own.end(), [&](const os::ProcessId& id) { return id.pid == pid; });
}

void Holder::close_source(Source& source) noexcept {
  source.fd = -1;
  source.own = os::Fd();
}

bool Holder::is_drained() const noexcept {
  if (output_ && output_->error_number() != 0) return false;
  return (!sources_[0].is_open() && !sources_[1].is_open());
}

void Holder::accept_connection() {
  os::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  const os::PeerCredentials peer = os::peer_of(socket.get());
  if (peer.uid != ::getuid() || is_own_tree(peer.pid)) return;
  connections_.push_back({.socket = std::move(socket)});
  if (tool_) {
    const auto id = os::identify(tool_->pid());
    if (id) tell(connections_.back(), Started{id->pid, id->started});
  }
}

void Holder::receive(std::size_t index) {
  static const std::unique_ptr<char[]> bytes(new char[message_bytes]);
  const ssize_t count = ::recv(connections_[index].socket.get(), bytes.get(), message_bytes, 0);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  std::optional<ToKeeper> message;
  if (count > 0) message = decode_to_keeper({bytes.get(), static_cast<std::size_t>(count)});
  if (!message) {
    // Gone, or nobody who speaks this language.
    connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(index));
    return;
  }
  act(index, std::move(*message));
}

void Holder::act(std::size_t index, ToKeeper message) {
  if (const auto* consumed = std::get_if<Consumed>(&message)) {
    output_->consume(consumed->position);
    connections_[index].owes_answer = false;
  } else if (auto* input = std::get_if<Input>(&message)) {
    take_input(index, std::move(*input));
  } else if (std::holds_alternative<CloseInput>(message)) {
    closes_input_ = true;
    write_input();
  } else if (const auto* size = std::get_if<Resize>(&message)) {
    if (pty_) pty_->resize(size->rows, size->columns);
  } else if (const auto* wanted = std::get_if<Signal>(&message)) {
    // The group's number cannot be another's while its leader has not been waited for.
    if (tool_ && !is_reaped_) ::kill(-tool_->pid(), wanted->number);
  } else if (const auto* wanted_stop = std::get_if<Stop>(&message)) {
    stop(EndedBy::stop, wanted_stop->grace_ms);
  } else if (const auto* deadline = std::get_if<Deadline>(&message)) {
    deadline_ = deadline->boot_ns != 0 ? deadline->boot_ns : never;
  } else if (const auto* lease = std::get_if<Lease>(&message)) {
    lease_ = lease->boot_ns != 0 ? lease->boot_ns : never;
  }
}

void Holder::take_input(std::size_t index, Input input) {
  const bool has_place = (pty_ || input_) && !has_ended_ && pending_input_.size() + input.bytes.size() <= most_input;
  if (has_place) pending_input_ += input.bytes;
  tell(connections_[index], InputTaken{input.ticket, has_place});
  write_input();
}

void Holder::write_input() {
  const int fd = pty_ ? pty_->master().get() : input_.get();
  while (!pending_input_.empty() && fd >= 0) {
    const ssize_t count = ::write(fd, pending_input_.data(), pending_input_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      // It reads no more.
      pending_input_.clear();
      break;
    }
    pending_input_.erase(0, static_cast<std::size_t>(count));
  }
  if (closes_input_ && pending_input_.empty()) input_ = os::Fd();
}

void Holder::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (info.ssi_signo != SIGCHLD) stop(EndedBy::signal, assign_->kill_grace_ms);
  }
  os::collect_children(tool_ && !is_reaped_ ? tool_->pid() : 0);
  // It was asked to end and has; what it started has its grace too, until none is left.
  if (is_reaped_ && !has_ended_) see_exit();
}

void Holder::stop(EndedBy why, std::uint32_t grace_ms) {
  if (!tool_ || has_ended_) return;
  const std::int64_t at = boot_now() + nanoseconds(milliseconds(grace_ms)).count();
  if (kill_at_ == never) {
    record_.ended_by = why;
    if (grace_ms > 0) tree_->terminate();
  }
  kill_at_ = std::min(kill_at_, at);
  if (grace_ms == 0) check_clock();
}

void Holder::see_exit() {
  const auto status = tool_->try_wait();
  if (!status) return;
  if (!std::exchange(is_reaped_, true)) os::collect_children(0);
  // While it is being stopped, what it started may end in its own time.
  if (kill_at_ != never && boot_now() < kill_at_ && !tree_->is_empty()) return;
  record_.code = status->code;
  record_.signal = status->signal;
  has_ended_ = true;
  output_->lift_cap();
  if (!assign_->keep_descendants) {
    ToolTree::End end = tree_->kill(kill_patience, 0);
    record_.descendants = std::move(end.names);
    record_.is_tree_gone = end.is_gone;
  }
  slave_ = os::Fd();
  // With somebody left who holds the other end there is no end to wait for: what is there now is taken.
  drained_by_ = boot_now() + (assign_->keep_descendants || !record_.is_tree_gone ? drain_ns / 10 : drain_ns);
}

void Holder::check_clock() {
  std::uint64_t expirations = 0;
  if (::read(timer_.get(), &expirations, sizeof(expirations)) > 0) timer_at_ = never;
  const std::int64_t now = boot_now();
  if (now >= retry_at_) {
    retry_at_ = output_->retry() ? never : now + retry_ns;
    if (retry_at_ != never && is_folder_gone()) return give_up();
  }
  if (now >= drained_by_) {
    // What is there is taken first; whoever still holds the other end is not waited for.
    for (Source& source : sources_) {
      while (read_frame(source)) {
      }
      if (output_->is_ready()) close_source(source);
    }
  }
  if (!tool_ || has_ended_) return;
  if (now >= lease_ && !has_daemon()) stop(EndedBy::lease, assign_->kill_grace_ms);
  if (now >= deadline_ && !has_daemon()) stop(EndedBy::deadline, assign_->kill_grace_ms);
  if (now >= kill_at_) {
    tree_->kill(kill_patience, is_reaped_ ? 0 : tool_->pid());
    see_exit();
    // It cannot be killed: tried again, for as long as it takes.
    if (!has_ended_) kill_at_ = now + nanoseconds(seconds(1)).count();
  }
}

void Holder::set_timer() {
  // Nothing is drained while nothing can be written.
  std::int64_t at = std::min(retry_at_, output_->is_ready() ? drained_by_ : never);
  if (tool_ && !has_ended_) {
    at = std::min(at, kill_at_);
    // They count only while no daemon is there; one that leaves wakes this process by it.
    if (!has_daemon() && kill_at_ == never) at = std::min({at, deadline_, lease_});
  }
  if (at == timer_at_) return;
  timer_at_ = at;
  itimerspec when{};
  if (at != never) {
    const std::int64_t set = std::max<std::int64_t>(at, 1);
    when.it_value = {set / 1'000'000'000LL, set % 1'000'000'000LL};
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Holder::tell(Connection& connection, const FromKeeper& message) noexcept {
  const std::string bytes = encode(message);
  // One that does not take what little is said to it is as good as gone; it will read the files.
  ::send(connection.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Holder::tell_all(const FromKeeper& message) noexcept {
  for (Connection& connection : connections_) tell(connection, message);
}

void Holder::tell_growth() noexcept {
  if (!output_) return;
  for (Connection& connection : connections_) {
    if (connection.owes_answer || connection.told == output_->position()) continue;
    connection.told = output_->position();
    connection.owes_answer = true;
    tell(connection, Grew{connection.told});
  }
}

void Holder::finish() {
  record_.unix_ns = read_clock(CLOCK_REALTIME);
  record_.output_begin = output_ ? output_->begin() : 0;
  record_.output_end = output_ ? output_->position() : 0;
  tree_.reset();
  crash_point("keeper.before_rename");
  // Without the record the run would count as interrupted: a full disk is waited out.
  while (folder_ && !folder_->replace_file(exit_name, encode_exit(record_)) && !is_folder_gone()) {
    const timespec pause{0, retry_ns};
    ::nanosleep(&pause, nullptr);
  }
  crash_point("keeper.after_rename");
  tell_all(Exited{});
}

}  // namespace

int hold_run(os::Fd daemon, const std::string& seats) { return Holder(std::move(daemon), seats).run(); }

}  // namespace reeve::keeper
