#include "adapter/loop.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <climits>

#include "adapter/agent_http.h"
#include "adapter/call_workers.h"
#include "adapter/hook_socket.h"
#include "adapter/line_buffer.h"
#include "adapter/mailbox.h"
#include "adapter/printed_line.h"
#include "adapter/reporter.h"
#include "adapter/stream_file.h"
#include "base/clock.h"
#include "base/error.h"
#include "os/signals.h"
#include "os/tree.h"
#include "os/write.h"

namespace reeve::adapter {

namespace {

using base::BootTime;
using base::Milliseconds;

// A released run is resumed by what was delivered; any other end may wait less for a daemon that is gone.
constexpr std::chrono::seconds delivery_time(10);
constexpr std::chrono::seconds released_delivery_time(120);
constexpr std::size_t max_error_line = 64UZ * 1024;
// Read from one pipe before the others get their turn.
constexpr int max_reads = 16;
// After its end: what its pipes hold, but not what a process that it left behind writes for ever.
constexpr int last_reads = 1'024;

class Loop {
 public:
  Loop(const LoopPlan& plan, agents::AgentProtocol& protocol, AgentProcess agent)
      : plan_(plan),
        agent_(std::move(agent)),
        driver_(plan.terms, protocol),
        stream_(plan.attempt.folder),
        workers_(plan.attempt.socket, mailbox_),
        reporter_(plan.attempt.socket, mailbox_),
        http_(plan.secret, mailbox_) {}

  int run(HookSocket& hooks, os::SignalInbox& signals) {
    hooks_ = &hooks;
    if (plan_.input) {
      agent_.write(*plan_.input);
      agent_.close_input();
    }
    perform(driver_.begin(now()));
    while (!exit_code_) {
      poll_once(signals);
      perform(driver_.on_time(now()));
    }
    const bool is_released = *exit_code_ == released_exit_code;
    for (const std::string& line : reporter_.finish(is_released ? released_delivery_time : delivery_time)) {
      print(STDOUT_FILENO, line);
    }
    return *exit_code_;
  }

 private:
  static BootTime now() { return base::SystemClock().boot_now(); }
  // The run continues without a reader.
  static void print(int fd, std::string line) {
    line += '\n';
    static_cast<void>(os::write_all(fd, line));
  }

  int timeout() const {
    std::optional<BootTime> next = driver_.next_time();
    const auto of_hooks = hooks_->next_time();
    if (of_hooks && (!next || *of_hooks < *next)) next = of_hooks;
    if (!next) return -1;
    const auto left = std::chrono::ceil<Milliseconds>(*next - now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
  }

  void poll_once(os::SignalInbox& signals) {
    std::vector<pollfd> polled = {{signals.fd(), POLLIN, 0},    {mailbox_.fd(), POLLIN, 0},
                                  {agent_.output(), POLLIN, 0}, {agent_.error(), POLLIN, 0},
                                  {agent_.input(), POLLOUT, 0}, {agent_.end(), POLLIN, 0}};
    const std::size_t own = polled.size();
    hooks_->add_to(polled);
    if (::poll(polled.data(), polled.size(), timeout()) < 0 && errno != EINTR) {
      base::throw_errno(base::ErrorCode::os_failed, "cannot poll", errno);
    }
    const auto is_ready = [&](std::size_t i) { return polled[i].fd >= 0 && polled[i].revents != 0; };
    // Results come first: what they forbid must not be allowed by what is read after them.
    if (is_ready(2)) read_output();
    if (is_ready(3)) read_error();
    if (is_ready(4)) agent_.flush();
    if (is_ready(0)) take_signals(signals);
    if (is_ready(1)) take_messages();
    take_hooks(std::span(polled).subspan(own));
    if (is_ready(5)) take_end();
  }

  // False once there is nothing to read now.
  template <class OnBytes>
  static bool read_some(int fd, OnBytes on_bytes, bool& has_ended) {
    std::array<char, 64UZ * 1024> part{};
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got > 0) on_bytes(std::string_view(part.data(), static_cast<std::size_t>(got)));
    has_ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    return got > 0;
  }

  void read_output(int reads = max_reads) {
    bool has_ended = false;
    const auto on_bytes = [this](std::string_view bytes) {
      const bool fits = output_.feed(bytes, [this](std::string_view line) { take_line(line); });
      if (!fits) perform(driver_.on_broken(now(), "the agent printed a line of over 16 MiB"));
    };
    for (int i = 0; i < reads && agent_.output() >= 0; ++i) {
      if (!read_some(agent_.output(), on_bytes, has_ended)) break;
    }
    if (has_ended) agent_.close_output();
  }

  void take_line(std::string_view line) {
    keep(line);
    perform(driver_.on_line(now(), line));
  }

  void keep(std::string_view line) {
    if (stream_.add(line)) print(STDOUT_FILENO, "agent-stream.jsonl is full: the rest of it was dropped");
  }

  void read_error(int reads = max_reads) {
    bool has_ended = false;
    const auto on_line = [this](std::string_view line) { perform(driver_.on_error_line(now(), line)); };
    const auto on_bytes = [&](std::string_view bytes) {
      if (!errors_.feed(bytes, on_line)) perform(driver_.on_error_line(now(), "(a line of over 64 KiB was dropped)"));
    };
    for (int i = 0; i < reads && agent_.error() >= 0; ++i) {
      if (!read_some(agent_.error(), on_bytes, has_ended)) break;
    }
    if (has_ended) agent_.close_error();
  }

  void take_signals(os::SignalInbox& signals) {
    while (const auto number = signals.take()) {
      // Orphans of the agent become children of this process.
      if (*number == SIGCHLD) {
        os::collect_children(agent_.pid());
      } else {
        perform(driver_.on_signal(now(), *number));
      }
    }
  }

  void take_messages() {
    for (Message& message : mailbox_.take()) {
      std::visit([this](auto& one) { take(one); }, message);
    }
  }
  void take(const CallWaits& message) { perform(driver_.on_call_waits(now(), message.number, message.reply)); }
  void take(const CallReplied& message) { perform(driver_.on_call_reply(now(), message.number, message.reply)); }
  void take(const SessionStored& /*message*/) { perform(driver_.on_session_stored(now())); }
  void take(const ServerEvent& message) {
    keep(message.data);
    perform(driver_.on_event(now(), message.data));
  }
  void take(const ServerResponse& message) {
    perform(driver_.on_response(now(), message.number, message.status, message.body));
  }
  void take(const ServerLost& message) { perform(driver_.on_broken(now(), message.why)); }

  void take_hooks(std::span<const pollfd> polled) {
    HookSocket::News news = hooks_->handle(polled, now());
    for (HookSocket::Question& question : news.questions) {
      perform(driver_.on_hook(now(), question.connection, std::move(question.request)));
    }
    for (const std::uint64_t connection : news.gone) perform(driver_.on_hook_gone(now(), connection));
  }

  // What the agent wrote before its end counts, also where another process still has its pipes.
  void take_end() {
    const auto status = agent_.try_wait();
    if (!status || exit_code_) return;
    read_output(last_reads);
    output_.finish([this](std::string_view line) { take_line(line); });
    read_error(last_reads);
    errors_.finish([this](std::string_view line) { perform(driver_.on_error_line(now(), line)); });
    agent_.close_output();
    agent_.close_error();
    os::collect_children(0);
    perform(driver_.on_agent_gone(now(), *status));
  }

  void perform(const Effects& effects) {
    for (const Effect& effect : effects) std::visit([this](const auto& one) { act(one); }, effect);
  }
  void act(const SendLines& effect) {
    for (const std::string& line : effect.lines) agent_.write(line + "\n");
  }
  void act(const CloseInput& /*effect*/) { agent_.close_input(); }
  void act(const OpenEvents& effect) { http_.open(effect.address); }
  void act(const SendRequests& effect) { http_.send(effect.requests); }
  void act(const AskReeve& effect) { workers_.ask(effect.number, effect.request, effect.leave_after); }
  void act(const LeaveCall& effect) { workers_.leave(effect.number); }
  void act(const DropCall& effect) { workers_.drop(effect.number); }
  void act(const WithdrawCall& effect) { reporter_.add(effect); }
  void act(const AnswerHook& effect) { hooks_->answer(effect.connection, effect.reply); }
  void act(const PrintLine& effect) { print(STDOUT_FILENO, effect.line); }
  void act(const PrintError& effect) { print(STDERR_FILENO, effect.line); }
  void act(const PostSession& effect) { reporter_.add(effect); }
  void act(const PostResult& effect) { reporter_.add(effect); }
  void act(const PostEvent& effect) { reporter_.add(effect); }
  void act(const SignalAgent& effect) { agent_.signal(effect.number); }
  void act(const KillAgent& /*effect*/) { agent_.kill_all(); }
  void act(const Finish& effect) { exit_code_ = effect.code; }

  const LoopPlan& plan_;
  AgentProcess agent_;
  Driver driver_;
  HookSocket* hooks_ = nullptr;
  LineBuffer output_{agents::max_agent_line};
  LineBuffer errors_{max_error_line};
  StreamFile stream_;
  std::optional<int> exit_code_;
  // Before the threads that post to it.
  Mailbox mailbox_;
  CallWorkers workers_;
  Reporter reporter_;
  AgentHttp http_;
};

}  // namespace

int run_loop(const LoopPlan& plan, agents::AgentProtocol& protocol) {
  std::signal(SIGPIPE, SIG_IGN);
  // Before any thread: they inherit what is blocked.
  os::SignalInbox signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD};
  os::become_subreaper();
  HookSocket hooks(plan.hook_socket);
  auto agent = AgentProcess::start(plan.start);
  if (!agent) {
    const std::string line = make_line("error: ", agent.error()) + "\n";
    static_cast<void>(os::write_all(STDERR_FILENO, line));
    return failed_exit_code;
  }
  return Loop(plan, protocol, std::move(*agent)).run(hooks, signals);
}

}  // namespace reeve::adapter
