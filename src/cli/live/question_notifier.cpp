#include "cli/live/question_notifier.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sys/socket.h>
#include <thread>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/live/controls.h"
#include "cli/shown_id.h"
#include "client/approvals.h"
#include "client/executions.h"
#include "client/lines.h"
#include "client/refusal.h"
#include "json/fields.h"
#include "json/parse.h"
#include "model/execution.h"
#include "os/terminal.h"
#include "view/approval_text.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;

// Delays the first request, so that short waits cost nothing.
constexpr std::chrono::milliseconds first_pause{300};
// The pause after a lost connection; the follower of the run reconnects to the daemon.
constexpr std::chrono::milliseconds pause_time{500};

}  // namespace

class QuestionNotifier::Core {
 public:
  Core(const Call& call, const client::DaemonPlace& place, Subjects subjects)
      : call_(call), endpoint_(place.endpoint()), subjects_(std::move(subjects)), thread_([this] { work(); }) {}

  ~Core() {
    {
      const std::lock_guard lock(mutex_);
      is_ended_ = true;
      // Wakes a thread that is waiting for a response.
      for (const auto* connection : {&questions_, &events_}) {
        if (*connection) ::shutdown((*connection)->fd(), SHUT_RDWR);
      }
    }
    ended_.notify_one();
    thread_.join();
  }

 private:
  // Returns false when the thread must end.
  bool pause(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return !ended_.wait_for(lock, time, [this] { return is_ended_; });
  }

  void work() {
    bool goes_on = pause(first_pause);
    while (goes_on) {
      try {
        watch();
      } catch (const client::ConnectionLost&) {
        close();
        goes_on = pause(pause_time);
      } catch (const base::Error&) {
        // The waiting command reports the error.
        return;
      }
    }
  }

  void open(std::optional<client::Connection>& connection) {
    const std::lock_guard lock(mutex_);
    if (is_ended_) throw client::ConnectionLost{"ended"};
    if (!connection) connection.emplace(endpoint_);
  }

  void close() {
    const std::lock_guard lock(mutex_);
    questions_.reset();
    events_.reset();
  }

  Value ask(const std::string& target) {
    open(questions_);
    const client::Response answer = questions_->ask({.target = target});
    auto document = json::parse(answer.body);
    if (answer.status >= 500) throw client::ConnectionLost{"not yet"};
    if (answer.status != 200 || !document) throw base::Error(ErrorCode::daemon_bad_answer, "no record");
    return std::move(*document);
  }

  // Subscribes before reading, so that no question is missed. Ends with the connection.
  void watch() {
    open(events_);
    const client::Response head = events_->begin({.target = "/api/events?follow=1&events=approval_needed"});
    if (head.status >= 500) throw client::ConnectionLost{"not yet"};
    // Events are not available inside a run (`api.inside_run`); its own questions are polled instead.
    const bool is_deaf = head.status == 403 && subjects_.executions.empty();
    if (head.status != 200 && !is_deaf) throw base::Error(ErrorCode::daemon_bad_answer, "no events");
    for (const base::RunId run : subjects_.runs) {
      tell_page(ask(fmt::format("/api/approvals?run={}&status=pending", run.text())));
    }
    if (is_deaf) throw client::ConnectionLost{"it is asked again in a moment"};
    if (!subjects_.executions.empty()) tell_page(ask("/api/approvals?status=pending&limit=500"));
    client::JsonLines lines;
    while (true) {
      const std::string bytes = events_->read();
      if (bytes.empty()) throw client::ConnectionLost{"the daemon has left"};
      lines.add(bytes);
      while (const auto event = lines.next()) hear(*event);
    }
  }

  void hear(const Value& event) {
    const auto approval = json::id_of<base::ApprovalId>(event, "approval_id");
    const bool is_wanted = approval && (is_wanted_run(json::id_of<base::RunId>(event, "tool_run_id")) ||
                                        is_wanted_execution(json::id_of<base::ExecutionId>(event, "execution_id")));
    if (is_wanted) tell(client::decode<model::Approval>(ask("/api/approvals/" + approval->text())));
  }

  void tell_page(const Value& page) {
    const Value* items = page.find("items");
    if (items == nullptr || items->as_array() == nullptr) throw base::Error(ErrorCode::daemon_bad_answer, "no page");
    for (const Value& item : *items->as_array()) {
      const auto approval = client::decode<model::Approval>(item);
      if (is_wanted_run(approval.tool_run_id) || is_wanted_execution(approval.execution_id)) tell(approval);
    }
  }

  bool is_wanted_run(const std::optional<base::RunId>& run) const {
    return run && std::ranges::find(subjects_.runs, *run) != subjects_.runs.end();
  }

  // The execution itself or one of its ancestors (GRF-11).
  bool is_wanted_execution(const std::optional<base::ExecutionId>& id) {
    if (!id || subjects_.executions.empty()) return false;
    if (std::ranges::find(subjects_.executions, *id) != subjects_.executions.end()) return true;
    const auto known = parents_.find(*id);
    if (known != parents_.end()) return is_wanted_execution(known->second);
    const auto record = client::decode<model::Execution>(ask(fmt::format("/api/executions/{}?outputs=0", id->text())));
    const auto parent = record.parent ? std::optional(record.parent->execution_id) : std::nullopt;
    parents_.emplace(*id, parent);
    return is_wanted_execution(parent);
  }

  void tell(const model::Approval& approval) {
    const bool is_new = approval.status == model::ApprovalStatus::pending && told_.insert(approval.approval_id).second;
    // A prompt at the attached terminal is already visible.
    const bool is_seen = approval.delivery == model::Delivery::terminal && os::RawTerminal::is_active();
    if (is_new && !is_seen) print_question(call_, approval);
  }

  const Call& call_;
  client::Endpoint endpoint_;
  Subjects subjects_;
  // Used only by the thread.
  std::set<base::ApprovalId> told_;
  std::map<base::ExecutionId, std::optional<base::ExecutionId>> parents_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ended_ = false;
  std::optional<client::Connection> questions_;
  std::optional<client::Connection> events_;
  // Last, because it uses all other members.
  std::thread thread_;
};

QuestionNotifier::QuestionNotifier(const Call& call, const client::DaemonPlace& place, Subjects subjects)
    : core_(std::make_unique<Core>(call, place, std::move(subjects))) {}

QuestionNotifier::~QuestionNotifier() = default;

namespace {

std::string show_only(const std::vector<model::Approval>& approvals) {
  const model::Approval* asked = nullptr;
  for (const model::Approval& approval : approvals) {
    if (approval.status != model::ApprovalStatus::pending) continue;
    if (asked != nullptr) return "reeve approvals";
    asked = &approval;
  }
  return asked == nullptr ? "reeve approvals" : "reeve show " + asked->approval_id.text();
}

}  // namespace

std::string show_question_of(client::Daemon& daemon, base::RunId id) try {
  constexpr std::size_t most = 20;
  std::vector<model::Approval> approvals;
  for (client::ApprovalRecord& record : client::list_approvals(daemon, {.run = id}, most)) {
    approvals.push_back(std::move(record.approval));
  }
  return show_only(approvals);
} catch (const client::Refusal&) {
  return "reeve approvals";
}

std::string show_question_of(client::Daemon& daemon, base::ExecutionId id) try {
  return show_only(client::get_history(daemon, id).approvals);
} catch (const client::Refusal&) {
  return "reeve approvals";
}

void print_question(const Call& call, const model::Approval& approval) {
  constexpr std::size_t columns = 60;
  const view::Look look = view::look_of(approval.status);
  print_beside(call, fmt::format("{} {} asks: {}   {}", call.err.paint(look.tint, call.err.pick(look.sign, look.ascii)),
                                 shown_id(call, approval.approval_id.text()),
                                 base::fit_width(view::question_line(approval), columns, call.err.ascii),
                                 with_prefix(call, view::answer_command(approval))));
}

}  // namespace reeve::cli
