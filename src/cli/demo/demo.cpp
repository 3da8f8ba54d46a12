#include <charconv>
#include <csignal>
#include <cstdlib>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/stop_daemon.h"
#include "cli/connect.h"
#include "cli/demo/demo_changes.h"
#include "cli/demo/demo_flow.h"
#include "cli/demo/demo_project.h"
#include "cli/demo/demo_stage.h"
#include "cli/live/ask_person.h"
#include "os/process.h"
#include "project/project.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;
using model::ApprovalStatus;
using model::RunStatus;
using view::look_of;

constexpr std::string_view task = "Greet people by name, and test it";

constexpr const char* lost_words = "a line was lost or duplicated";
constexpr const char* try_again = "try again: reeve demo";

[[noreturn]] void fail(const model::Run& run) {
  throw base::Error(ErrorCode::cli_demo_failed,
                    fmt::format("{} is {}: {}", run.tool_run_id.text(), base::spell(run.status),
                                base::visible(run.reason.value_or("no reason given"))),
                    "`reeve doctor` shows what is missing; `reeve demo --keep` keeps the folder for inspection");
}

// Kills the daemon with SIGKILL. Returns its pid, or 0 if there is none.
pid_t kill_daemon(const client::DaemonPlace& place) {
  const auto holder = find_holder(place);
  if (!holder) return 0;
  const std::string_view text = base::trim(*holder);
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || pid <= 1) return 0;
  os::Process daemon(pid);
  // The pidfd is open: if the process still has the lock, it is the daemon.
  return find_holder(place) == holder && daemon.signal(SIGKILL) ? pid : 0;
}

std::string holder_text(const client::DaemonPlace& place) {
  return std::string(base::trim(find_holder(place).value_or("")));
}

class Demo {
 public:
  Demo(const Call& call, bool answers_itself)
      : call_(call), answers_itself_(answers_itself), stage_(call), daemon_(project_.place()) {}

  void play() {
    stage_.line(call_.out.paint(view::Tint::bold, "reeve demo") +
                fmt::format(": takes a few seconds, in its own folder: {}", project_.folder().string()));
    show_question();
    show_crash();
    show_workflow();
    clear_away();
    show_next();
    if (call_.is_json) print_json(call_, summary_);
  }

 private:
  void show_question() {
    stage_.title("1  An agent works and asks before it changes anything");
    stage_.command(fmt::format("reeve run --tool agent --prompt \"{}\"", task));
    const auto created = client::create_run(daemon_, project_.make_run_request("agent", task));
    run_ = created.run.tool_run_id;
    stage_.line(look_of(RunStatus::running), run_.text() + " is running, with a time limit and stall detection");
    const auto record = stage_.follow(daemon_, run_, 1, [this](std::string_view line) { stage_.tool_line(line); });
    const auto asked = client::list_approvals(daemon_, {.run = run_}, 1);
    if (record.run.status != RunStatus::waiting_approval || asked.empty()) fail(record.run);
    stage_.line(
        look_of(RunStatus::waiting_approval),
        run_.text() +
            " is waiting for you; its process has exited, so it uses no resources and cannot continue on its own");
    stage_.title(fmt::format("2  {}", base::visible(asked.front().approval.question)));
    show_changes();
    follow_answer(answer(asked.front().approval));
  }

  void show_changes() const {
    for (const std::string& file : DemoProject::changed_files()) {
      const std::string before = project_.read_present(file);
      const FileChange change = compare_files(before, project_.read_staged(file), call_.out);
      std::string counts = call_.out.paint(view::Tint::green, fmt::format("+{}", change.added));
      if (change.removed > 0) counts += " " + call_.out.paint(view::Tint::red, fmt::format("-{}", change.removed));
      stage_.line(fmt::format("     {:<16}{}{}", file, counts, before.empty() ? "  new" : ""));
    }
  }

  void look_at_changes() const {
    for (const std::string& file : DemoProject::changed_files()) {
      const FileChange change = compare_files(project_.read_present(file), project_.read_staged(file), call_.out);
      stage_.line("\n     " + call_.out.paint(view::Tint::bold, file));
      std::string_view rest = change.text;
      while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        stage_.line(fmt::format("     {}", rest.substr(0, end)));
        rest.remove_prefix(end + 1);
      }
    }
    stage_.line("");
  }

  model::Approval answer(const model::Approval& approval) {
    const std::string id = approval.approval_id.text();
    const std::string elsewhere = fmt::format("reeve approve {} --state {}", id, project_.state().string());
    DemoStage::Answered answered;
    std::string_view where = "here";
    if (answers_itself_) {
      stage_.command(elsewhere);
      answered.record = client::decide(daemon_, approval.approval_id, {.comment = "answered by the demo"});
      where = "itself";
    } else {
      stage_.line("   from another terminal: " + call_.out.paint(view::Tint::dim, elsewhere));
      answered = stage_.ask(daemon_, approval, [this] { look_at_changes(); });
      if (!answered.is_from_here) where = "elsewhere";
    }
    const model::Approval& decided = answered.record.approval;
    std::string text = fmt::format("{} {}", id, base::spell(decided.status));
    if (decided.decided_by) text += fmt::format(" by {}", base::visible(*decided.decided_by));
    stage_.line(look_of(decided.status), text + (where == "elsewhere" ? ", from elsewhere" : ""));
    summary_.set("answered", Value::string(where));
    summary_.set("approval", std::move(answered.record.wire));
    return answered.record.approval;
  }

  void follow_answer(const model::Approval& approval) {
    if (approval.status == ApprovalStatus::approved) {
      auto record = stage_.wait_for_attempt(daemon_, run_, 2);
      if (model::is_final(record.run.status) && record.run.attempt < 2) fail(record.run);
      stage_.line(look_of(RunStatus::running), run_.text() + " is restarted with the answer");
      record = stage_.follow(daemon_, run_, 2, [this](std::string_view line) { stage_.tool_line(line); });
      if (record.run.status != RunStatus::completed) fail(record.run);
      stage_.line(look_of(RunStatus::completed), run_.text() + " completed: 3 files changed");
      runs_.push_back(std::move(record.wire));
      return;
    }
    auto record = client::wait_run(daemon_, run_, client::Until::final, std::chrono::seconds(10));
    if (record.run.status != RunStatus::failed) fail(record.run);
    stage_.line(look_of(RunStatus::failed), run_.text() + " has ended: it was not restarted, and nothing was changed");
    runs_.push_back(std::move(record.wire));
  }

  // RUN-12: the run outlives its daemon, and the next daemon continues reading where the last one stopped.
  void show_crash() {
    stage_.title("3  Nothing is lost when the daemon dies");
    stage_.command("reeve run --tool nightly");
    const auto created = client::create_run(daemon_, project_.make_run_request("nightly", ""));
    const base::RunId run = created.run.tool_run_id;
    pid_t killed = 0;
    bool is_told = false;
    int lines = 0;
    const auto take = [&](std::string_view line) {
      if (killed != 0 && !is_told) {
        is_told = true;
        stage_.line(look_of(RunStatus::running),
                    fmt::format("daemon {} has taken over {}", holder_text(daemon_.place()), run.text()));
      }
      stage_.tool_line(line);
      if (line != fmt::format("step {} of 6", ++lines)) {
        throw base::Error(ErrorCode::cli_demo_failed, lost_words, try_again);
      }
      if (lines != 2) return;
      killed = kill_daemon(daemon_.place());
      if (killed == 0) throw base::Error(ErrorCode::cli_demo_failed, "there is no daemon to kill", try_again);
      stage_.command(fmt::format("kill -9 {}", killed));
      stage_.line(look_of(RunStatus::failed), "the daemon is dead; the tool keeps running under its keeper");
    };
    auto record = stage_.follow(daemon_, run, 1, take);
    if (record.run.status != RunStatus::completed) fail(record.run);
    if (lines != 6) throw base::Error(ErrorCode::cli_demo_failed, lost_words, try_again);
    stage_.line(look_of(RunStatus::completed),
                fmt::format("{} completed: {} of 6 lines, none lost, none duplicated", run.text(), lines));
    summary_.set("killed_daemon", Value::integer(killed));
    summary_.set("lines", Value::integer(lines));
    runs_.push_back(std::move(record.wire));
  }

  void show_workflow() {
    stage_.title("4  Agents and tests work together until the tests pass");
    stage_.command("reeve flow run fix");
    summary_.set("execution", show_flow(stage_, daemon_, project_));
  }

  void clear_away() {
    const bool keeps = call_.arguments.has("--keep");
    stage_.line("");
    if (keeps) {
      project_.keep();
      stage_.line(fmt::format("kept: {}", project_.folder().string()));
      stage_.line(fmt::format("      reeve runs --state {}", project_.state().string()));
      stage_.line(fmt::format("      reeve flow show EX-1 --state {}", project_.state().string()));
    } else {
      project_.remove();
      stage_.line("removed: the folder, the daemon and all of the above");
    }
    summary_.set("runs", Value::array(std::move(runs_)));
    summary_.set("folder", Value::string(project_.folder().string()));
    summary_.set("kept", Value::boolean(keeps));
  }

  void show_next() const {
    stage_.title("What to type next");
    for (const auto& [line, what] :
         {std::pair("reeve init", "in your project: a commented config and workflows that run"),
          {"reeve run -- COMMAND", "your own agent, or anything else, under supervision"},
          {"reeve flow run NAME", "a workflow of your project, step by step"},
          {"reeve", "what needs you, what is running, what failed"}}) {
      stage_.line(fmt::format("   {:<24}{}", line, call_.out.paint(view::Tint::dim, what)));
    }
  }

  const Call& call_;
  bool answers_itself_;
  DemoStage stage_;
  // Destroyed before the stage, while signals are still blocked.
  DemoProject project_;
  client::Daemon daemon_;
  base::RunId run_{0};
  Value::Array runs_;
  Value summary_ = Value::object();
};

ExitCode run(const Call& call) {
  refuse_host(call, "demo");
  if (call.arguments.has("--state")) {
    throw base::Error(ErrorCode::cli_usage, "the demo uses its own state folder",
                      "omit `--state`; `--keep` keeps the folder");
  }
  // A closed pipe is reported by write() instead.
  std::signal(SIGPIPE, SIG_IGN);
  // The user's settings and config do not apply.
  for (const std::string& name : project::setting_variables()) ::unsetenv(name.c_str());
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
  ::setenv("REEVE_SUPERVISION_IDLE_EXIT", "20s", 1);
  const bool is_told = call.arguments.has("--yes");
  const bool can_answer = can_ask() && !call.is_json;
  if (!is_told && !can_answer && !call.is_json) {
    print_aside("note: not interactive; the demo approves automatically, as with --yes\n");
  }
  try {
    Demo(call, is_told || !can_answer).play();
  } catch (const DemoInterrupted& interrupted) {
    print_aside("\ninterrupted; everything the demo created was removed\n");
    return static_cast<ExitCode>(128 + interrupted.number);
  }
  return ExitCode::done;
}

constexpr std::string_view about =
    R"(Shows what Reeve does, in a scratch project: an agent (a shell script) works, asks before it changes
anything, waits for your answer and continues with it; then the daemon is killed with -9 in the middle of a
run, and nothing is lost; then a workflow of two agents and a test repeats until the test passes. Nothing
else on this machine is touched, nothing else needs to be installed, and everything is removed at the end.

Answer at the prompt, or from another terminal with the command shown: the first answer wins. If the demo
cannot ask (no terminal, `CI` or `REEVE_NO_INPUT` is set, `--json`), it approves automatically. With
`--json`, prints the records of the runs, the approval and the workflow's execution.

Exit codes: 0 finished, whatever you answered; 1 something failed; 6 no daemon could be started; 130 Ctrl-C.)";

}  // namespace

Command make_demo() {
  return {
      .name = "demo",
      .summary = "See what Reeve does in half a minute",
      .about = about,
      .examples = {{"reeve demo", "an agent works and asks, you answer"},
                   {"reeve demo --yes", "approve automatically"},
                   {"reeve demo --keep", "keep the project for inspection"}},
      .positionals = {},
      .options = {{.name = "--yes", .help = "approve the agent's request without asking"},
                  {.name = "--keep", .help = "keep the scratch project"}},
      .run = run,
  };
}

}  // namespace reeve::cli
