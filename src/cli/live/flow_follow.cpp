#include "cli/live/flow_follow.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <poll.h>
#include <set>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/live/answer_line.h"
#include "cli/live/ask_person.h"
#include "cli/live/controls.h"
#include "cli/live/flow_watch.h"
#include "cli/live/interrupt_message.h"
#include "cli/live/live_screen.h"
#include "cli/live/question_notifier.h"
#include "cli/shown_id.h"
#include "json/fields.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "project/project.h"
#include "spec/pipeline_graph.h"
#include "view/approval_text.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;
using client::Until;
using model::Execution;
using model::ExecutionStatus;
using std::chrono::milliseconds;

// Durations on the screen advance by seconds.
constexpr milliseconds tick{1000};
// The minimum time between two reads of the record, however many events arrive.
constexpr milliseconds least_pause{100};

bool has_reached(const Execution& execution, Until until) {
  return model::is_over(execution.status) ||
         (until == Until::final_or_waiting && execution.status == ExecutionStatus::waiting_approval);
}

// The tree on a terminal.
class LiveFlow {
 public:
  LiveFlow(const Call& call, client::Daemon& daemon, client::EventFeed& feed, Execution execution)
      : call_(call), daemon_(daemon), feed_(feed), id_(execution.execution_id), watch_(daemon, std::move(execution)) {
    if (can_ask()) raw_.emplace(STDIN_FILENO);
  }
  ~LiveFlow() { screen_.leave(); }
  LiveFlow(const LiveFlow&) = delete;
  LiveFlow& operator=(const LiveFlow&) = delete;

  Execution follow(Until until) {
    look();
    watch_.find_questions();
    while (!has_reached(watch_.picture().execution, until)) {
      draw();
      wait();
      if (is_dirty_ && clock_.boot_now() >= next_look_) look();
      if (clock_.boot_now() >= next_tick_) on_tick();
    }
    // The prompt ends with the execution.
    raw_.reset();
    message_.clear();
    draw();
    return watch_.picture().execution;
  }

 private:
  void wait() {
    const base::BootTime now = clock_.boot_now();
    const base::BootTime due = is_dirty_ ? std::min(next_look_, next_tick_) : next_tick_;
    const auto left = std::max<std::int64_t>(std::chrono::ceil<milliseconds>(due - now).count(), 0);
    std::array<pollfd, 3> wanted = {
        {{feed_.fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {raw_ ? STDIN_FILENO : -1, POLLIN, 0}}};
    if (::poll(wanted.data(), wanted.size(), feed_.has_more() ? 0 : static_cast<int>(left)) < 0) return;
    if (wanted[1].revents != 0) {
      while (const auto number = signals_.take()) handle(*number);
    }
    if (wanted[2].revents != 0) take_keys();
    if (wanted[0].revents == 0 && !feed_.has_more()) return;
    for (const Value& event : feed_.take()) {
      if (watch_.take(event)) is_dirty_ = true;
    }
  }

  void look() {
    const base::BootTime begun = clock_.boot_now();
    is_dirty_ = false;
    watch_.refresh();
    const base::BootTime now = clock_.boot_now();
    // A large execution is read less often, to limit the load on the daemon.
    next_look_ = now + std::max<milliseconds>(least_pause, 4 * std::chrono::ceil<milliseconds>(now - begun));
  }

  void on_tick() {
    next_tick_ = clock_.boot_now() + tick;
    watch_.refresh_progress();
  }

  void draw() {
    const auto size = os::terminal_size(STDOUT_FILENO).value_or(os::TerminalSize{});
    const auto columns = static_cast<std::size_t>(std::max(size.columns, 20));
    const auto& questions = watch_.questions();
    answer_.ask(questions.empty() || !raw_ ? std::nullopt : std::optional(questions.begin()->second),
                clock_.boot_now());
    // The last row stays free: a line written there would scroll the first one off the screen. The tree keeps two.
    const std::size_t free_rows = static_cast<std::size_t>(std::max(size.rows, 9)) - 1;
    std::vector<std::string> foot = answer_.lines(call_.out, columns, free_rows - 3);
    if (!message_.empty()) {
      const std::string text = base::fit_width(message_, columns - 1, call_.out.ascii);
      foot.insert(foot.begin() + (foot.empty() ? 0 : 1), call_.out.words(text));
    }
    const std::size_t rows = free_rows - foot.size();
    std::vector<std::string> lines = view::flow_tree(watch_.picture(), call_.out, clock_.wall_now(), {rows, columns});
    lines.insert(lines.end(), foot.begin(), foot.end());
    screen_.draw(lines, columns);
  }

  void take_keys() {
    std::array<char, 256> buffer{};
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) return leave(128 + SIGHUP);
    const auto pressed =
        answer_.press(std::string_view(buffer.data(), static_cast<std::size_t>(got)), clock_.boot_now());
    if (pressed.leaves) leave(128 + SIGINT);
    if (pressed.answer) decide(*pressed.answer);
  }

  void decide(const AnswerLine::Answer& answer) {
    try {
      const bool approves = answer.verdict.word == client::Verdict::Word::approve;
      const auto record = approves ? client::decide_shown(daemon_, answer.approval, answer.verdict)
                                   : client::decide(daemon_, answer.approval.approval_id, answer.verdict);
      message_ = fmt::format("{} {}", shown_id(call_, record.approval.approval_id.text()),
                             base::spell(record.approval.status));
    } catch (const base::Error& error) {
      if (error.is(ErrorCode::daemon_unavailable)) throw;
      // Already decided elsewhere; the event updates the screen.
      message_ = base::visible(error.message());
    }
    is_dirty_ = true;
  }

  void handle(int number) {
    if (number != SIGWINCH) leave(128 + number);
  }

  [[noreturn]] void leave(int code) {
    screen_.leave();
    os::RawTerminal::restore();
    print_beside(call_, with_prefix(call_, exit_message_of(id_)));
    ::_exit(code);
  }

  const Call& call_;
  client::Daemon& daemon_;
  client::EventFeed& feed_;
  base::ExecutionId id_;
  base::SystemClock clock_;
  os::SignalInbox signals_{SIGINT, SIGTERM, SIGHUP, SIGWINCH};
  std::optional<os::RawTerminal> raw_;
  FlowWatch watch_;
  LiveScreen screen_;
  AnswerLine answer_;
  std::string message_;
  bool is_dirty_ = false;
  base::BootTime next_look_;
  base::BootTime next_tick_ = clock_.boot_now() + tick;
};

std::string text_of(const Value& event, std::string_view key) { return base::visible(json::text_of(event, key)); }

// Prints a change as tab-separated fields: time, execution, node, status, note; the node is empty for the execution
// itself. Returns false for other events.
bool print_change(const Value& event) {
  const std::string kind = text_of(event, "event");
  std::string note = text_of(event, "error");
  if (note.empty()) note = text_of(event, "reason");
  std::string status = text_of(event, "status");
  if (kind == "approval_needed") {
    status = "asks";
    note = fmt::format("{}: {}", text_of(event, "approval_id"), text_of(event, "question"));
  } else if (kind != "node_status_change" && kind != "execution_status_change") {
    return false;
  }
  const Value* attempt = event.find("attempt");
  const bool is_again = kind == "node_status_change" && attempt != nullptr && attempt->as_integer() != nullptr &&
                        *attempt->as_integer() > 1;
  if (is_again && note.empty()) note = fmt::format("attempt {}", *attempt->as_integer());
  fmt::print("{}\t{}\t{}\t{}\t{}\n", text_of(event, "timestamp"), text_of(event, "execution_id"),
             text_of(event, "node_id"), status, note);
  return true;
}

Execution follow_lines(const Call& call, client::Daemon& daemon, client::EventFeed& feed, Execution execution,
                       Until until) {
  const base::ExecutionId id = execution.execution_id;
  const InterruptMessage watching(with_prefix(call, exit_message_of(id)));
  FlowWatch watch(daemon, execution);
  std::set<base::ApprovalId> told;
  // Questions are also printed on standard error, with the command that answers them.
  const auto tell_questions = [&] {
    if (until != Until::final) return;
    for (const auto& [question, approval] : watch.questions()) {
      // The question about its changes comes after its end and is reported there.
      const bool is_of_end = approval.delivery == model::Delivery::apply;
      if (!is_of_end && told.insert(question).second) print_question(call, approval);
    }
  };
  if (execution.status == ExecutionStatus::waiting_approval) {
    watch.refresh();
    watch.find_questions();
    tell_questions();
  }
  while (true) {
    bool has_ended = false;
    for (const Value& event : feed.take()) {
      if (!watch.take(event)) continue;
      print_change(event);
      tell_questions();
      // The record may be ahead of the events; follow the events, so that the last change is printed.
      if (text_of(event, "event") != "execution_status_change" || text_of(event, "execution_id") != id.text()) continue;
      execution.status = base::find_enum<ExecutionStatus>(text_of(event, "status")).value_or(execution.status);
      has_ended = has_reached(execution, until);
    }
    static_cast<void>(std::fflush(stdout));
    if (!has_ended) continue;
    execution = client::get_execution(daemon, id, client::NodeText::brief).execution;
    if (has_reached(execution, until)) return execution;
  }
}

}  // namespace

ExitCode exit_code_of(const Execution& execution) {
  switch (execution.status) {
    case ExecutionStatus::completed:
      return ExitCode::done;
    case ExecutionStatus::failed:
      return ExitCode::failed;
    case ExecutionStatus::cancelled:
      return ExitCode::cancelled;
    case ExecutionStatus::running:
    case ExecutionStatus::waiting_approval:
      break;
  }
  return ExitCode::waiting;
}

std::string exit_message_of(base::ExecutionId id) {
  return fmt::format("{0} continues; to watch it again: reeve wait {0}; to cancel it: reeve flow cancel {0}",
                     id.text());
}

Execution follow_execution(const Call& call, client::Daemon& daemon, client::EventFeed& feed, Execution execution,
                           Until until) {
  const bool can_redraw = call.out_is_terminal && project::variable("TERM") != "dumb";
  if (!can_redraw) return follow_lines(call, daemon, feed, std::move(execution), until);
  return LiveFlow(call, daemon, feed, std::move(execution)).follow(until);
}

void print_ending(const Call& call, const Execution& execution) {
  if (call.is_json) return;
  const view::Look look = view::look_of(execution.status);
  const std::string id = execution.execution_id.text();
  const bool waits = execution.status == ExecutionStatus::waiting_approval;
  std::string text =
      fmt::format("{} {} {}", call.err.paint(look.tint, call.err.pick(look.sign, look.ascii)), shown_id(call, id),
                  waits ? "is waiting for an approval" : base::spell(execution.status));
  const bool says_why = execution.reason && !execution.reason->empty() && !waits;
  if (says_why) text += ": " + base::visible(*execution.reason);
  print_beside(call, text);
}

void print_next_of(const Call& call, client::Daemon& daemon, const Execution& execution) {
  const std::string id = execution.execution_id.text();
  if (execution.status == ExecutionStatus::waiting_approval) {
    print_next(call, show_question_of(daemon, execution.execution_id));
  } else if (spec::is_pipeline(execution.workflow_id)) {
    print_next(call, fmt::format("reeve pipeline show {}", id));
  } else if (execution.status == ExecutionStatus::failed) {
    // Without a failed node there is nothing to retry (GRF-14).
    const bool can_retry =
        std::ranges::count(execution.nodes, model::NodeStatus::failed, &model::NodeExecution::status) > 0;
    print_next(call, fmt::format("reeve flow show {}{}", id,
                                 can_retry ? fmt::format(", then reeve flow retry {}", id) : std::string()));
  } else if (call.out_is_terminal) {
    print_next(call, fmt::format("reeve flow show {}", id));
  }
}

}  // namespace reeve::cli
