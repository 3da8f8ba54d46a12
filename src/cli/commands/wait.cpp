#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/exit_code.h"
#include "cli/live/flow_follow.h"
#include "cli/live/interrupt_message.h"
#include "cli/live/question_notifier.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/executions.h"
#include "client/runs.h"
#include "view/execution_text.h"
#include "view/run_text.h"

namespace reeve::cli {

namespace {

constexpr base::Milliseconds long_wait = std::chrono::seconds(30);

using Id = std::variant<base::RunId, base::ExecutionId>;

Id find_id(client::Daemon& daemon, const std::string& word) {
  if (const auto id = base::ExecutionId::parse(word)) return *id;
  return find_run(daemon, word);
}

void add_subject(Subjects& subjects, base::RunId id) { subjects.runs.push_back(id); }
void add_subject(Subjects& subjects, base::ExecutionId id) { subjects.executions.push_back(id); }

// The final records, in the order given.
class Waited {
 public:
  // `until`: also returns when it waits for an answer.
  Waited(const Call& call, client::Daemon& daemon, client::Until until) : call_(call), daemon_(daemon), until_(until) {}

  void wait_for(base::RunId id) {
    const auto is_reached = [&](model::RunStatus status) {
      return model::is_final(status) || (waits_for_question() && status == model::RunStatus::waiting_approval);
    };
    auto record = client::wait_run(daemon_, id, until_, long_wait);
    while (!is_reached(record.run.status)) record = client::wait_run(daemon_, id, until_, long_wait);
    note(waits_for_question()
             ? code_of_question(id.text(), model::is_final(record.run.status), base::spell(record.run.status))
             : exit_code_of(record.run));
    runs_.push_back(std::move(record.run));
    wire_.push_back(std::move(record.wire));
  }

  void wait_for(base::ExecutionId id) {
    const auto is_reached = [&](model::ExecutionStatus status) {
      return model::is_over(status) || (waits_for_question() && status == model::ExecutionStatus::waiting_approval);
    };
    auto record = client::wait_execution(daemon_, id, until_, long_wait);
    while (!is_reached(record.execution.status)) record = client::wait_execution(daemon_, id, until_, long_wait);
    note(waits_for_question() ? code_of_question(id.text(), model::is_over(record.execution.status),
                                                 base::spell(record.execution.status))
                              : exit_code_of(record.execution));
    executions_.push_back(std::move(record.execution));
    wire_.push_back(std::move(record.wire));
  }

  ExitCode print() {
    const auto now = call_.out_is_terminal ? std::optional(base::SystemClock().wall_now()) : std::nullopt;
    view::Table runs = view::runs_table({}, call_.out, now);
    runs.add_rows_of(view::runs_table(runs_, call_.out, now), call_.prefix);
    view::Table executions = view::executions_table({}, call_.out, now);
    executions.add_rows_of(view::executions_table(executions_, call_.out, now), call_.prefix);
    if (call_.is_json) {
      for (base::Value& record : wire_) record = mark_source(std::move(record), call_, daemon_);
      print_json(call_, base::Value::array(std::move(wire_)));
    } else if (!call_.out_is_terminal) {
      fmt::print("{}{}", runs.for_pipe(), executions.for_pipe());
    } else {
      if (!runs_.empty()) fmt::print("{}", runs.for_terminal(call_.out));
      if (!executions_.empty()) fmt::print("{}", executions.for_terminal(call_.out));
    }
    return code_;
  }

 private:
  bool waits_for_question() const { return until_ == client::Until::final_or_waiting; }
  ExitCode code_of_question(const std::string& id, bool is_over, std::string_view status) const {
    if (!is_over) return ExitCode::done;
    if (!call_.is_json) print_aside("{} has ended without a question: {}\n", shown_id(call_, id), status);
    return ExitCode::conflict;
  }
  void note(ExitCode code) {
    if (code_ == ExitCode::done) code_ = code;
  }

  const Call& call_;
  client::Daemon& daemon_;
  client::Until until_;
  std::vector<model::Run> runs_;
  std::vector<model::Execution> executions_;
  base::Value::Array wire_;
  ExitCode code_ = ExitCode::done;
};

// Shows progress on a terminal and lets the user answer questions (UX).
ExitCode watch(const Call& call, client::Daemon& daemon, base::ExecutionId id) {
  // Subscribe before reading, so that no change is missed.
  client::EventFeed feed(daemon);
  model::Execution execution = client::get_execution(daemon, id, client::NodeText::brief).execution;
  if (!model::is_over(execution.status)) {
    execution = follow_execution(call, daemon, feed, std::move(execution), client::Until::final);
  }
  print_ending(call, execution);
  return exit_code_of(execution);
}

ExitCode run(const Call& call) {
  client::Daemon daemon(patient_place(call));
  std::vector<Id> ids;
  for (const std::string& word : call.arguments.positionals()) ids.push_back(find_id(daemon, word));
  const auto* execution = std::get_if<base::ExecutionId>(ids.data());
  const bool waits_for_question = call.arguments.has("--for");
  if (ids.size() == 1 && !waits_for_question && execution != nullptr && call.out_is_terminal && !call.is_json) {
    return watch(call, daemon, *execution);
  }
  const InterruptMessage watching("stopped waiting; runs and executions continue; to cancel one: reeve cancel ID");
  Subjects subjects;
  for (const Id& id : ids) std::visit([&](auto one) { add_subject(subjects, one); }, id);
  const QuestionNotifier notifier(call, daemon.place(), std::move(subjects));
  Waited waited(call, daemon, waits_for_question ? client::Until::final_or_waiting : client::Until::final);
  for (const Id& id : ids) std::visit([&](auto one) { waited.wait_for(one); }, id);
  return waited.print();
}

}  // namespace

Command make_wait() {
  return {
      .name = "wait",
      .summary = "Wait for runs or executions to end",
      .about =
          R"(Keeps waiting across approvals; questions are printed on stderr with the command that answers them. Lists
all of them when the last one has ended, runs first. Ctrl-C stops waiting; they continue. On a terminal, a
single execution is shown as by `reeve flow run`, and its questions can be answered there.

With `--for waiting_approval`, waits until each of them waits for an answer instead. An execution does so once
only a person can continue it.

Exit codes: that of the first argument that did not complete, as for `reeve run` or `reeve flow run`, else
0; 3 no such id. With `--for`: 0, or 4 if one ended without a question.)",
      .examples = {{"reeve wait TR-17 && ./deploy.sh", "continue only if it completed"},
                   {"reeve wait EX-9", "watch a workflow until it ends"},
                   {"reeve wait EX-9 --for waiting_approval", "until it needs you"},
                   {"reeve wait TR-17 TR-18 --json", "the records when both have ended"}},
      .positionals =
          {{.name = "ID", .help = "TR-17, EX-9, or @last for the newest run", .is_repeatable = true, .is_id = true}},
      .options = {{.name = "--for",
                   .value = "STATUS",
                   .help = "wait for this status instead of the end",
                   .choices = {"waiting_approval"}}},
      .run = run,
  };
}

}  // namespace reeve::cli
