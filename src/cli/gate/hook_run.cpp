#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <exception>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "agents/hook_settings.h"
#include "base/clock.h"
#include "base/random.h"
#include "cli/gate/bounded_input.h"
#include "cli/gate/run_context.h"
#include "cli/hook_line.h"
#include "client/agent_socket.h"
#include "client/run_socket.h"
#include "json/describe.h"
#include "os/terminal.h"
#include "os/write.h"

namespace reeve::cli {

namespace {

using agents::HookAnswer;
using base::BootTime;

constexpr std::chrono::seconds input_time(10);
constexpr std::chrono::seconds report_time(5);
// After the deadline: the program ends although it hangs.
constexpr int alarm_seconds = 3;

// Blocks the call from a signal handler.
void block_now(int number) {
  const char* reason = number == SIGALRM   ? "reeve hook: no answer in time; the call was denied\n"
                       : number == SIGTERM ? "reeve hook: ended by SIGTERM; the call was denied\n"
                                           : "reeve hook: ended by a signal; the call was denied\n";
  static_cast<void>(!::write(STDERR_FILENO, reason, std::strlen(reason)));
  ::_exit(agents::blocking_exit_code);
}

// An agent runs the call when its hook dies of a signal.
void block_on_signals() {
  // For a stack that is used up.
  static std::array<char, 64UZ * 1024> handler_stack;
  stack_t stack{};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  ::sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_handler = block_now;
  action.sa_flags = SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGABRT, SIGXCPU, SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                           SIGUSR1, SIGUSR2}) {
    ::sigaction(number, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

void block_after(int seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

std::string describe_allow(const wire::CallReply& reply) {
  const std::string by = reply.approval_id ? reply.approval_id->text() : reply.rule;
  return fmt::format("Reeve allowed {}{}{}", reply.call_id.text(), by.empty() ? "" : ": ", by);
}

std::string describe_deny(const wire::CallReply& reply) {
  std::string reason = reply.reason.value_or(std::string());
  if (reason.empty()) reason = fmt::format("denied by {}", reply.rule.empty() ? "Reeve" : reply.rule);
  if (reply.hint && !reply.hint->empty()) reason += fmt::format("; {}", *reply.hint);
  return reason;
}

class HookRun {
 public:
  HookRun(const HookLine& line, BootTime deadline) : line_(line), deadline_(deadline) {}

  HookAnswer answer() const {
    const RunContext context = find_run_context();
    if (!context.is_inside && !line_.is_required) {
      // An agent may take a closed pipe for a failure.
      if (!os::is_terminal(STDIN_FILENO)) static_cast<void>(read_input());
      return agents::make_no_opinion();
    }
    const auto bytes = read_input();
    if (!bytes) return agents::make_block("reeve hook: " + bytes.error());
    const auto input = agents::parse_hook_input(line_.dialect, *bytes, "hook-" + base::random_hex(8));
    if (const auto* fault = std::get_if<agents::HookFault>(&input)) return agents::make_block(fault->reason);
    if (const auto* gate = std::get_if<agents::GateEvent>(&input)) return decide(context, *gate);
    if (const auto* result = std::get_if<agents::ResultEvent>(&input)) report(context, *result);
    return agents::make_no_opinion();
  }

 private:
  std::expected<std::string, std::string> read_input() const {
    const BootTime end = std::min(deadline_, base::SystemClock().boot_now() + input_time);
    return read_bounded(STDIN_FILENO, agents::max_hook_input, end);
  }

  HookAnswer decide(const RunContext& context, const agents::GateEvent& gate) const {
    const auto deny = [&](const std::string& reason) { return agents::make_deny(line_.dialect, gate.event, reason); };
    if (!context.is_inside) return deny("this agent must run inside Reeve: start it with `reeve run`");
    if (context.agent_socket) return ask_adapter(*context.agent_socket, gate);
    if (!context.socket) return deny("Reeve cannot be asked: REEVE_SOCKET is not set in this process of a run");
    client::RunSocket socket(*context.socket, {.deadline = deadline_});
    const auto reply = socket.decide(gate.request);
    if (!reply) return deny("Reeve did not allow this call: " + reply.error());
    if (reply->decision != wire::CallReplyDecision::allow) return deny(describe_deny(*reply));
    return agents::make_allow(line_.dialect, gate.event, describe_allow(*reply));
  }

  HookAnswer ask_adapter(const std::filesystem::path& socket, const agents::GateEvent& gate) const {
    const auto reply = client::ask_adapter(socket, gate.request, {.deadline = deadline_});
    if (!reply) return agents::make_deny(line_.dialect, gate.event, "Reeve did not allow this call: " + reply.error());
    switch (reply->decision) {
      case wire::HookDecision::allow:
        return agents::make_allow(line_.dialect, gate.event, reply->reason);
      case wire::HookDecision::defer:
        return agents::make_defer(line_.dialect, gate.event, reply->reason);
      case wire::HookDecision::deny:
        break;
    }
    return agents::make_deny(line_.dialect, gate.event, reply->reason);
  }

  // The call is over: whether the daemon learns of it changes nothing here. An adapter reports results itself.
  static void report(const RunContext& context, const agents::ResultEvent& result) {
    if (!context.socket || context.agent_socket) return;
    client::RunSocket socket(*context.socket, {.deadline = base::SystemClock().boot_now() + report_time});
    static_cast<void>(socket.post(fmt::format("/api/tool-calls/{}/result", client::encode_part(result.call)),
                                  json::to_value(result.report)));
  }

  const HookLine& line_;
  BootTime deadline_;
};

int default_give_up(agents::HookDialect dialect) {
  return agents::default_hook_seconds(dialect) - agents::hook_margin_seconds;
}

// An answer that does not arrive as a whole is none.
int write_answer(const HookAnswer& answer) {
  if (!os::write_all(STDERR_FILENO, answer.err)) return agents::blocking_exit_code;
  if (!os::write_all(STDOUT_FILENO, answer.out)) return agents::blocking_exit_code;
  return answer.exit_code;
}

int block_with(std::string_view what) noexcept {
  static_cast<void>(os::write_all(STDERR_FILENO, "reeve hook: the call was denied: "));
  static_cast<void>(os::write_all(STDERR_FILENO, what));
  static_cast<void>(os::write_all(STDERR_FILENO, "\n"));
  return agents::blocking_exit_code;
}

}  // namespace

bool is_hook_line(const std::vector<std::string>& words) noexcept {
  if (words.size() < 2 || words[0] != "hook") return false;
  return words[1] != "install" && words[1] != "uninstall";
}

std::optional<int> parse_give_up(const std::string& word) {
  int seconds = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seconds);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  if (!is_number || seconds < 1 || seconds > max_give_up_seconds) return std::nullopt;
  return seconds;
}

std::optional<HookLine> find_hook_line(const std::vector<std::string>& words) {
  if (!is_hook_line(words)) return std::nullopt;
  const auto dialect = base::find_enum<agents::HookDialect>(words[1]);
  if (!dialect) return std::nullopt;
  HookLine line{.dialect = *dialect};
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "--require") {
      line.is_required = true;
    } else if (words[i] == "--give-up" && i + 1 < words.size()) {
      line.give_up_seconds = parse_give_up(words[++i]);
      if (!line.give_up_seconds) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return line;
}

int run_hook(const HookLine& line) noexcept {
  try {
    block_on_signals();
    const int seconds = line.give_up_seconds.value_or(default_give_up(line.dialect));
    block_after(seconds + alarm_seconds);
    const BootTime deadline = base::SystemClock().boot_now() + std::chrono::seconds(seconds);
    return write_answer(HookRun(line, deadline).answer());
  } catch (const std::exception& error) {
    return block_with(error.what());
  } catch (...) {
    return block_with("unknown failure");
  }
}

}  // namespace reeve::cli
