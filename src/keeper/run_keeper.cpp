#include "keeper/run_keeper.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <expected>
#include <memory>
#include <optional>
#include <poll.h>
#include <span>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

#include "base/error.h"
#include "keeper/alarm.h"
#include "keeper/clock.h"
#include "keeper/connections.h"
#include "keeper/crash_point.h"
#include "keeper/launch.h"
#include "keeper/message.h"
#include "keeper/records.h"
#include "keeper/terminal_watch.h"
#include "keeper/tool_streams.h"
#include "keeper/tool_tree.h"
#include "os/beneath.h"
#include "os/descent_mark.h"
#include "os/lock.h"
#include "os/terminal.h"

namespace reeve::keeper {

namespace {

using base::ErrorCode;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Output of a killed tree is in the pipes at once; only a process that cannot be killed keeps them open longer.
constexpr std::int64_t drain_ns = nanoseconds(seconds(2)).count();
constexpr std::int64_t retry_ns = nanoseconds(milliseconds(200)).count();
constexpr auto kill_timeout = seconds(10);
constexpr Abilities abilities{.can_freeze = true};

// The poll() set begins with signals, the timer and the tool.
constexpr std::size_t own_ends = 3;
constexpr std::size_t max_ends = own_ends + ToolStreams::ends + Connections::max_ends;

class RunKeeper {
 public:
  RunKeeper(os::Fd daemon, const std::string& endpoints);
  ~RunKeeper();
  RunKeeper(const RunKeeper&) = delete;
  RunKeeper& operator=(const RunKeeper&) = delete;

  int run();

 private:
  // Waits for Go; true if it arrived.
  bool wait_for_go();
  void start();
  std::expected<os::Process, os::SpawnFailure> spawn(os::SpawnPlan& plan);
  void turn();
  void greet();
  void act(std::size_t index, ToKeeper message);
  void give_up();
  void take_signals();
  void see_exit();
  void stop(EndedBy why, std::uint32_t grace_ms);
  void freeze(std::size_t index);
  void thaw();
  void check_clock();
  void set_timer();
  bool is_drained() const noexcept { return !streams_ || streams_->is_drained(); }
  void see_trouble() noexcept;
  void tell_stdin() noexcept;
  void take_line(std::size_t index, const InputLine& line);
  bool is_terminal_minded() noexcept;
  void mind_terminal();
  void tell_news(const TerminalWatch::News& news) noexcept;
  bool take_answer(const Answer& answer);
  void finish();
  bool has_daemon() const noexcept { return !connections_.is_empty(); }

  std::string endpoint_;
  std::optional<os::FileLock> lock_;
  os::Fd signals_;
  Alarm alarm_;
  Connections connections_;

  std::optional<Assign> assign_;
  // Only for a streamed standard input.
  std::optional<StdinGrew> stdin_;
  // Only for a tool whose folder was decided.
  std::optional<StartIn> start_in_;
  std::optional<os::Folder> folder_;
  std::unique_ptr<ToolTree> tree_;
  std::unique_ptr<ToolStreams> streams_;
  // Only with a terminal.
  std::optional<TerminalWatch> watch_;
  // Number of the last answer that was typed.
  std::uint64_t last_answer_ = 0;

  std::optional<os::Process> tool_;
  // The tool has been waited for: its pid may be reused from then on.
  bool is_reaped_ = false;
  bool has_ended_ = false;
  bool is_frozen_ = false;
  ExitRecord record_;
  std::int64_t kill_at_ = never;
  std::int64_t drained_by_ = never;
  std::int64_t retry_at_ = never;
  std::int64_t deadline_ = never;
  std::int64_t lease_ = never;
};

RunKeeper::RunKeeper(os::Fd daemon, const std::string& endpoints) {
  os::become_subreaper();
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::sigaddset(&watched, number);
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = os::Fd(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) base::throw_errno(ErrorCode::os_failed, "cannot wait for events", errno);
  const auto self = os::identify(::getpid());
  if (!self) base::throw_errno(ErrorCode::os_failed, "cannot read this process's start time", ENOENT, "mount /proc");
  endpoint_ = endpoints + "/" + endpoint_name(self->pid, self->started);
  lock_ = os::FileLock::try_take(endpoint_ + ".lock");
  if (!lock_) base::throw_errno(ErrorCode::os_failed, "another keeper owns this endpoint", EEXIST);
  connections_.listen(endpoint_ + ".sock");
  connections_.add(std::move(daemon));
  connections_.tell_all(Hello{self->pid, self->started});
}

RunKeeper::~RunKeeper() {
  ::unlink((endpoint_ + ".sock").c_str());
  ::unlink((endpoint_ + ".lock").c_str());
}

int RunKeeper::run() {
  if (!wait_for_go()) return 0;
  start();
  while (!(has_ended_ && is_drained())) turn();
  finish();
  return 0;
}

bool RunKeeper::wait_for_go() {
  while (!connections_.is_empty()) {
    std::array<pollfd, Connections::max_ends> ends{};
    connections_.watch(ends);
    // Only the first connection is polled before there is a run to keep.
    if (::poll(&ends[1], 1, -1) < 0) continue;
    auto message = connections_.receive(0);
    if (!message) continue;
    if (auto* assign = std::get_if<Assign>(&*message)) assign_ = std::move(*assign);
    if (const auto* news = std::get_if<StdinGrew>(&*message)) stdin_ = *news;
    if (auto* folder = std::get_if<StartIn>(&*message)) start_in_ = std::move(*folder);
    if (std::holds_alternative<Go>(*message)) return assign_.has_value();
  }
  return false;
}

void RunKeeper::start() {
  record_.nonce = assign_->nonce;
  if (assign_->deadline_ns != 0) deadline_ = assign_->deadline_ns;
  if (assign_->lease_ns != 0) lease_ = assign_->lease_ns;
  folder_ = os::Folder::open(assign_->attempt_folder);
  streams_ = std::make_unique<ToolStreams>(*folder_, assign_->output_cap);
  auto launch = read_launch(*assign_);
  // A tool never gets less than what was sent to it.
  const bool has_input = !stdin_ || streams_->take_stdin(assign_->run_folder, *stdin_);
  tree_ = std::make_unique<ToolTree>(launch ? assign_->cgroup_parent : std::string(), "reeve-" + assign_->nonce);
  crash_point("keeper.before_marker");
  ExecMarker marker{.nonce = assign_->nonce, .cgroup = tree_->cgroup()};
  const bool is_marked = launch && has_input && folder_->replace_file(marker_name, encode_marker(marker));
  crash_point("keeper.after_marker");
  if (!is_marked) {
    record_.exec_errno = launch ? EIO : ENODATA;
    has_ended_ = true;
    return;
  }
  os::SpawnPlan plan{.argv = std::move(launch->argv), .environment = std::move(launch->environment)};
  plan.folder = launch->folder;
  streams_->open(*assign_, launch->has_prompt, plan);
  if (assign_->open_files != 0) limit_open_files(assign_->open_files);
  // APR-11, RUN-13: identifies the tool's descendants even if this process is killed.
  const auto kind = assign_->keep_descendants ? os::MarkKind::may_stay : os::MarkKind::ends_with_its_tool;
  os::set_descent_mark(os::make_descent_mark(assign_->nonce, kind));
  auto process = spawn(plan);
  for (const int fd : {plan.input, plan.output, plan.error}) {
    if (fd >= 0) ::close(fd);
  }
  if (!process) {
    record_.exec_errno = process.error().error_number;
    record_.exec_stage = static_cast<std::uint8_t>(process.error().stage);
    has_ended_ = true;
    streams_->release_terminal();
    streams_->close_sources();
    return;
  }
  tool_ = std::move(*process);
  if (streams_->pty()) {
    watch_.emplace(streams_->pty()->master().get(), streams_->terminal(), ::getpid(), boot_now());
  }
  const auto id = os::identify(tool_->pid());
  if (id) {
    // Lets a daemon find leftover processes if this one is killed and there is no cgroup.
    marker.pid = id->pid;
    marker.started = id->started;
    if (tree_->cgroup().empty()) folder_->replace_file(marker_name, encode_marker(marker));
    connections_.tell_all(Started{id->pid, id->started});
    connections_.tell_all(abilities);
  }
  streams_->write_input();
}

std::expected<os::Process, os::SpawnFailure> RunKeeper::spawn(os::SpawnPlan& plan) {
  if (!start_in_) return tree_->spawn(plan);
  const auto folder = os::open_known({start_in_->root, start_in_->name, start_in_->device, start_in_->inode});
  if (!folder) return std::unexpected(os::SpawnFailure{folder.error(), os::SpawnFailure::Stage::folder});
  plan.folder = "/proc/self/fd/" + std::to_string(folder->fd());
  return tree_->spawn(plan);
}

void RunKeeper::turn() {
  std::array<pollfd, max_ends> ends{};
  const std::span all(ends);
  const auto streams = all.subspan<own_ends, ToolStreams::ends>();
  const auto peers = all.subspan<own_ends + ToolStreams::ends, Connections::max_ends>();
  set_timer();
  ends[0] = {signals_.get(), POLLIN, 0};
  ends[1] = {alarm_.fd(), POLLIN, 0};
  ends[2] = {tool_ && !is_reaped_ ? tool_->fd() : -1, POLLIN, 0};
  streams_->watch(streams);
  const std::size_t peer_ends = connections_.watch(peers);
  if (::poll(ends.data(), own_ends + ToolStreams::ends + peer_ends, -1) < 0) return;
  // Output first, so that what was printed before the exit is stored before it.
  streams_->act(streams, has_ended_);
  see_trouble();
  if (ends[0].revents != 0) take_signals();
  if (ends[2].revents != 0) see_exit();
  for (std::size_t i = peer_ends; i-- > 1;) {
    if (peers[i].revents == 0) continue;
    if (auto message = connections_.receive(i - 1)) act(i - 1, std::move(*message));
  }
  if (peers[0].revents != 0) greet();
  if (ends[1].revents != 0) check_clock();
  if (streams_) connections_.tell_growth(streams_->output().position());
  tell_stdin();
  mind_terminal();
}

void RunKeeper::tell_stdin() noexcept {
  if (!streams_ || !streams_->stdin_feed()) return;
  if (const auto position = streams_->stdin_feed()->take_report()) connections_.tell_all(StdinRead{*position});
}

// Output cannot be written: retry later, and read nothing until then.
void RunKeeper::see_trouble() noexcept {
  const int error = streams_->output().error_number();
  if (error == 0 || retry_at_ != never) return;
  retry_at_ = boot_now() + retry_ns;
  connections_.tell_all(Trouble{error});
}

void RunKeeper::give_up() {
  if (tool_ && !is_reaped_) tree_->kill(kill_timeout, 0);
  is_reaped_ = has_ended_ = true;
  streams_.reset();
}

// Sends the current state to a new connection.
void RunKeeper::greet() {
  const auto index = connections_.accept();
  if (!index || !tool_) return;
  if (const auto id = os::identify(tool_->pid())) {
    connections_.tell(*index, Started{id->pid, id->started});
    connections_.tell(*index, abilities);
    connections_.tell(*index, TakesInputLines{});
  }
  if (streams_ && streams_->stdin_feed()) connections_.tell(*index, StdinRead{streams_->stdin_feed()->position()});
  if (!watch_) return;
  const bool has_terminal = streams_ && streams_->pty();
  const auto size = has_terminal ? os::terminal_size(streams_->pty()->master().get()) : std::nullopt;
  if (size) {
    connections_.tell(*index,
                      Resized{static_cast<std::uint16_t>(size->rows), static_cast<std::uint16_t>(size->columns)});
  }
  if (watch_->prompt()) {
    connections_.tell(*index, *watch_->prompt());
  } else if (watch_->last_serial() != 0) {
    connections_.tell(*index, PromptOver{watch_->last_serial()});
  }
}

void RunKeeper::act(std::size_t index, ToKeeper message) {
  if (!streams_) return;
  if (const auto* consumed = std::get_if<Consumed>(&message)) {
    streams_->output().consume(consumed->position);
    connections_.take_answer(index);
  } else if (auto* input = std::get_if<Input>(&message)) {
    connections_.tell(index, InputTaken{input->ticket, !has_ended_ && streams_->take_input(input->bytes)});
    streams_->write_input();
  } else if (const auto* line = std::get_if<InputLine>(&message)) {
    take_line(index, *line);
  } else if (const auto* answer = std::get_if<Answer>(&message)) {
    const bool is_taken = take_answer(*answer);
    connections_.tell(index, AnswerTaken{answer->number, is_taken});
    if (!is_taken) crash_point("keeper.prompt_news");
  } else if (const auto* news = std::get_if<StdinGrew>(&message)) {
    if (streams_->stdin_feed()) streams_->stdin_feed()->grow(*news);
    streams_->write_input();
  } else if (std::holds_alternative<CloseInput>(message)) {
    streams_->close_input();
  } else if (const auto* size = std::get_if<Resize>(&message)) {
    if (streams_->pty()) streams_->pty()->resize(size->rows, size->columns);
  } else if (const auto* wanted = std::get_if<Signal>(&message)) {
    // The group id cannot be reused while its leader has not been waited for.
    if (tool_ && !is_reaped_) ::kill(-tool_->pid(), wanted->number);
  } else if (const auto* wanted_stop = std::get_if<Stop>(&message)) {
    stop(EndedBy::stop, wanted_stop->grace_ms);
  } else if (const auto* deadline = std::get_if<Deadline>(&message)) {
    deadline_ = deadline->boot_ns != 0 ? deadline->boot_ns : never;
  } else if (const auto* lease = std::get_if<Lease>(&message)) {
    lease_ = lease->boot_ns != 0 ? lease->boot_ns : never;
  } else if (std::holds_alternative<Freeze>(message)) {
    freeze(index);
  } else if (std::holds_alternative<Thaw>(message)) {
    thaw();
  }
}

void RunKeeper::take_line(std::size_t index, const InputLine& line) {
  std::string& parts = connections_.line_of(index);
  if (line.offset == 0) parts.clear();
  const bool follows = line.offset == parts.size() && parts.size() + line.part.size() <= input_line_bytes;
  if (follows) parts += line.part;
  if (!line.is_last) return;
  const std::string whole = std::exchange(parts, {});
  using Outcome = InputLineTaken::Outcome;
  const Outcome outcome = has_ended_ ? Outcome::closed : !follows ? Outcome::full : streams_->take_line(whole);
  connections_.tell(index, InputLineTaken{line.ticket, outcome});
  streams_->write_input();
}

void RunKeeper::freeze(std::size_t index) {
  // While the tree is being ended, its processes need to run.
  if (!tool_ || has_ended_ || kill_at_ != never) return;
  is_frozen_ = true;
  connections_.tell(index, Frozen{static_cast<std::uint32_t>(tree_->freeze())});
}

void RunKeeper::thaw() {
  if (std::exchange(is_frozen_, false)) tree_->thaw();
}

void RunKeeper::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (info.ssi_signo != SIGCHLD) stop(EndedBy::signal, assign_->kill_grace_ms);
  }
  os::collect_children(tool_ && !is_reaped_ ? tool_->pid() : 0);
  // The tool has ended as requested; its descendants also get the grace period.
  if (is_reaped_ && !has_ended_) see_exit();
}

void RunKeeper::stop(EndedBy why, std::uint32_t grace_ms) {
  if (!tool_ || has_ended_) return;
  const std::int64_t at = boot_now() + nanoseconds(milliseconds(grace_ms)).count();
  if (kill_at_ == never) {
    record_.ended_by = why;
    if (grace_ms > 0) tree_->terminate();
    // Signals also continued what was frozen.
    is_frozen_ = false;
  }
  kill_at_ = std::min(kill_at_, at);
  if (grace_ms == 0) check_clock();
}

void RunKeeper::see_exit() {
  const auto status = tool_->try_wait();
  if (!status) return;
  if (!std::exchange(is_reaped_, true)) os::collect_children(0);
  // While the tool is being stopped, its descendants may end on their own.
  if (kill_at_ != never && boot_now() < kill_at_ && !tree_->is_empty()) return;
  record_.code = status->code;
  record_.signal = status->signal;
  has_ended_ = true;
  if (watch_) tell_news(watch_->end());
  streams_->output().lift_cap();
  // What stays continues, and the rest is killed.
  if (assign_->keep_descendants) thaw();
  if (!assign_->keep_descendants) {
    ToolTree::End end = tree_->kill(kill_timeout, 0);
    record_.descendants = std::move(end.names);
    record_.is_tree_gone = end.is_gone;
  }
  streams_->release_terminal();
  // If a remaining process has the other end open, there is no end of file to wait for: only available data is read.
  drained_by_ = boot_now() + (assign_->keep_descendants || !record_.is_tree_gone ? drain_ns / 10 : drain_ns);
}

void RunKeeper::check_clock() {
  alarm_.hear();
  const std::int64_t now = boot_now();
  if (now >= retry_at_) {
    retry_at_ = streams_->output().retry() ? never : now + retry_ns;
    if (retry_at_ != never && folder_->is_deleted()) return give_up();
  }
  if (now >= drained_by_) {
    streams_->drain();
    see_trouble();
  }
  if (!tool_ || has_ended_) return;
  if (now >= lease_ && !has_daemon()) stop(EndedBy::lease, assign_->kill_grace_ms);
  if (now >= deadline_ && !has_daemon()) stop(EndedBy::deadline, assign_->kill_grace_ms);
  if (now >= kill_at_) {
    tree_->kill(kill_timeout, is_reaped_ ? 0 : tool_->pid());
    see_exit();
    // The tree cannot be killed: retry indefinitely.
    if (!has_ended_) kill_at_ = now + nanoseconds(seconds(1)).count();
  }
}

void RunKeeper::set_timer() {
  // Nothing is drained while output cannot be written.
  std::int64_t at = std::min(retry_at_, streams_->output().is_ready() ? drained_by_ : never);
  if (tool_ && !has_ended_) {
    at = std::min(at, kill_at_);
    // They apply only while no daemon is connected; a disconnect wakes this process and sets the timer again.
    if (!has_daemon() && kill_at_ == never) at = std::min({at, deadline_, lease_});
  }
  if (is_terminal_minded()) at = std::min(at, watch_->next_look());
  alarm_.set(at);
}

// While output is blocked or the tree is stopped, a quiet terminal means nothing.
bool RunKeeper::is_terminal_minded() noexcept {
  return watch_ && !is_frozen_ && streams_ && !has_ended_ && streams_->output().is_ready();
}

void RunKeeper::mind_terminal() {
  if (!is_terminal_minded()) return;
  tell_news(watch_->update(streams_->output().position(), streams_->typed(), boot_now()));
}

void RunKeeper::tell_news(const TerminalWatch::News& news) noexcept {
  if (news.over) connections_.tell_all(*news.over);
  if (!news.prompt) return;
  connections_.tell_all(*news.prompt);
  crash_point("keeper.prompt_news");
}

bool RunKeeper::take_answer(const Answer& answer) {
  // A repeated request: the daemon that sent it died before it received the confirmation.
  if (answer.number == last_answer_ && last_answer_ != 0) return true;
  if (answer.number <= last_answer_ || !is_terminal_minded() || !watch_->still_stands(answer.serial)) return false;
  if (answer.bytes.empty() || !streams_->take_input(answer.bytes)) return false;
  last_answer_ = answer.number;
  watch_->note_answer(streams_->typed());
  streams_->write_input();
  // The prompt is over or has been replaced.
  mind_terminal();
  return true;
}

void RunKeeper::finish() {
  record_.unix_ns = unix_now();
  record_.output_begin = streams_ ? streams_->output().begin() : 0;
  record_.output_end = streams_ ? streams_->output().position() : 0;
  tree_.reset();
  crash_point("keeper.before_rename");
  // Without the record the run would count as interrupted, so wait until the disk has space.
  while (folder_ && !folder_->replace_file(exit_name, encode_exit(record_)) && !folder_->is_deleted()) {
    const timespec pause{0, retry_ns};
    ::nanosleep(&pause, nullptr);
  }
  crash_point("keeper.after_rename");
  connections_.tell_all(Exited{});
}

}  // namespace

int hold_run(os::Fd daemon, const std::string& endpoints) { return RunKeeper(std::move(daemon), endpoints).run(); }

}  // namespace reeve::keeper
