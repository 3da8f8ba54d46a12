#include "cli/live/controls.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <optional>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/exit_code.h"
#include "cli/live/detach_keys.h"
#include "cli/shown_id.h"
#include "client/runs.h"
#include "os/signals.h"
#include "os/spawn.h"
#include "os/terminal.h"

namespace reeve::cli {

void print_beside(const Call& call, std::string_view text) {
  std::string line = call.err.words(text);
  line += os::RawTerminal::is_active() ? "\r\n" : "\n";
  print_error_text(line);
}

class Controls::Core {
 public:
  Core(const Call& call, client::DaemonPlace place, Interrupt interrupt, Input input)
      : call_(call),
        daemon_(std::move(place)),
        interrupt_(interrupt),
        is_terminal_(os::is_terminal(STDIN_FILENO)),
        takes_input_(input == Input::everything || (input == Input::keys && is_terminal_)),
        thread_([this] { work(); }) {}

  ~Core() {
    wake_.write = os::Fd();
    thread_.join();
  }

  void begin(base::RunId id) {
    if (takes_input_ && is_terminal_) raw_.emplace(STDIN_FILENO);
    id_ = id.number();
    const char byte = 0;
    static_cast<void>(!::write(wake_.write.get(), &byte, 1));
  }

 private:
  void work() {
    while (true) {
      const bool reads = takes_input_ && has_begun_;
      std::array<pollfd, 3> wanted = {
          {{wake_.read.get(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {reads ? STDIN_FILENO : -1, POLLIN, 0}}};
      if (::poll(wanted.data(), wanted.size(), -1) < 0) continue;
      if (wanted[0].revents != 0) {
        char byte = 0;
        if (::read(wake_.read.get(), &byte, 1) <= 0) return;
        start();
      }
      if (wanted[1].revents != 0) {
        while (const auto number = signals_.take()) handle(*number);
      }
      if (wanted[2].revents != 0) forward();
    }
  }

  void start() {
    has_begun_ = true;
    if (takes_input_ && is_terminal_) resize();
    if (interrupts_ > 0) cancel();
  }

  void handle(int number) {
    if (number == SIGWINCH) {
      if (has_begun_ && takes_input_) resize();
      return;
    }
    if (number != SIGINT) leave(128 + number, "");
    ++interrupts_;
    if (interrupt_ == Interrupt::leaves) leave(128 + SIGINT, parting());
    if (has_begun_) {
      cancel();
    } else if (interrupts_ > 1) {
      leave(128 + SIGINT, "detached; if the run has started, it continues: reeve runs");
    }
  }

  void cancel() {
    const bool kill = interrupts_ > 1;
    print_beside(call_, kill ? fmt::format("killing {}", shown_id(call_, run().text()))
                             : fmt::format("cancelling {} (Ctrl-C again kills it)", shown_id(call_, run().text())));
    try {
      client::cancel_run(daemon_, run(), {.reason = "Ctrl-C", .kill = kill});
    } catch (const base::Error& error) {
      // The run has ended meanwhile; its follower reports how.
      if (exit_code_of(error) != ExitCode::conflict) print_beside(call_, base::visible(error.message()));
    }
  }

  void forward() {
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
      takes_input_ = false;
      return;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    const auto pressed = is_terminal_ ? keys_.press(bytes) : DetachKeys::Pressed{.input = std::string(bytes)};
    send(pressed.input);
    if (pressed.detaches) leave(0, parting());
  }

  void send(const std::string& input) {
    if (input.empty()) return;
    try {
      client::send_input(daemon_, run(), input);
    } catch (const base::Error& error) {
      // The run takes no more input; restores the terminal, so that Ctrl-C works again.
      takes_input_ = false;
      os::RawTerminal::restore();
      if (exit_code_of(error) != ExitCode::no_daemon) print_beside(call_, base::visible(error.message()));
    }
  }

  void resize() {
    const auto size = os::terminal_size(STDIN_FILENO);
    if (!size) return;
    try {
      client::resize_run(daemon_, run(), size->rows, size->columns);
    } catch (const base::Error&) {
      // The run has no terminal, or has ended.
    }
  }

  std::string parting() const {
    if (!has_begun_) return {};
    return fmt::format("{0} continues; to reattach: reeve attach {0}; to cancel: reeve cancel {0}", run().text());
  }

  // All output has been written already; no buffer needs a flush.
  [[noreturn]] void leave(int code, const std::string& text) {
    const bool was_raw = os::RawTerminal::is_active();
    os::RawTerminal::restore();
    if (!text.empty()) print_beside(call_, (was_raw ? "\n" : "") + text);
    ::_exit(code);
  }

  base::RunId run() const { return base::RunId(id_); }

  const Call& call_;
  client::Daemon daemon_;
  Interrupt interrupt_;
  os::SignalInbox signals_{SIGINT, SIGTERM, SIGHUP, SIGWINCH};
  os::Pipe wake_ = os::make_pipe();
  std::optional<os::RawTerminal> raw_;
  bool is_terminal_;
  bool takes_input_;
  std::atomic<std::int64_t> id_ = 0;
  // Used only by the thread.
  bool has_begun_ = false;
  int interrupts_ = 0;
  DetachKeys keys_;
  std::thread thread_;
};

Controls::Controls(const Call& call, client::DaemonPlace place, Interrupt interrupt, Input input)
    : core_(std::make_unique<Core>(call, std::move(place), interrupt, input)) {}

Controls::~Controls() = default;

void Controls::begin(base::RunId id) { core_->begin(id); }

}  // namespace reeve::cli
