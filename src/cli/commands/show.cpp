#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/flow_show.h"
#include "cli/commands/show_patch.h"
#include "cli/connect.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/approvals.h"
#include "client/calls.h"
#include "client/grants.h"
#include "client/patches.h"
#include "client/runs.h"
#include "client/tasks.h"
#include "view/approval_text.h"
#include "view/call_text.h"
#include "view/grant_text.h"
#include "view/patch_text.h"
#include "view/run_text.h"
#include "view/task_text.h"

namespace reeve::cli {

namespace {

std::string next_for(const model::Run& run, const std::vector<model::Approval>& asked) {
  const std::string id = run.tool_run_id.text();
  if (!asked.empty()) {
    return fmt::format("{}, or reeve reject {}", view::answer_command(asked.front()), asked.front().approval_id.text());
  }
  return model::is_final(run.status) ? "reeve logs " + id : "reeve logs -f " + id;
}

// The pending questions of the run, oldest first.
std::vector<model::Approval> find_asked(client::Daemon& daemon, const model::Run& run) {
  constexpr std::size_t most = 20;
  std::vector<model::Approval> asked;
  if (run.status != model::RunStatus::waiting_approval) return asked;
  for (client::ApprovalRecord& record : client::list_approvals(daemon, {.run = run.tool_run_id}, most)) {
    if (record.approval.status == model::ApprovalStatus::pending) asked.push_back(std::move(record.approval));
  }
  return asked;
}

// TOOL-7: the last calls of the run, newest first.
constexpr std::size_t max_calls = 50;

base::Value with_calls(base::Value run, const std::vector<client::CallRecord>& calls) {
  base::Value::Array items;
  for (const client::CallRecord& record : calls) items.push_back(record.wire);
  run.set("calls", base::Value::array(std::move(items)));
  return run;
}

void print_calls(const Call& call, const std::vector<client::CallRecord>& records, base::RunId run) {
  std::vector<model::ToolCall> calls;
  for (const client::CallRecord& record : records) calls.push_back(record.call);
  const bool is_cut = calls.size() > max_calls;
  if (is_cut) calls.pop_back();
  if (!call.out_is_terminal) {
    for (const model::ToolCall& one : calls) {
      fmt::print("call\t{} {} {} {}\n", shown_id(call, one.call_id.text()), view::call_outcome(one),
                 base::visible(one.tool), view::call_subject(one.arguments));
    }
    return;
  }
  fmt::print("\n{}\n", call.out.paint(view::Tint::bold, "Tool calls"));
  const view::Table table = view::calls_table(calls, call.out, base::SystemClock().wall_now());
  fmt::print("{}", calls.empty() ? std::string("none\n") : table.for_terminal(call.out));
  if (is_cut) print_aside("older ones: reeve calls {} --limit N\n", shown_id(call, run.text()));
}

// The clocks, limits and processes of a live run, or which daemon has them.
std::string describe_process(const client::ProcessRecord& found, const Call& call,
                             const std::optional<base::WallTime>& now) {
  if (found.process) return view::process_details(*found.process, call.out, now);
  return found.elsewhere ? view::process_place(found.elsewhere->message(), call.out, now) : std::string();
}

client::ProcessRecord find_process(client::Daemon& daemon, const model::Run& run) {
  if (model::is_final(run.status)) return {};
  auto found = client::find_process(daemon, run.tool_run_id);
  if (found.elsewhere) print_aside("{}: {}\n", found.elsewhere->message(), found.elsewhere->fix());
  return found;
}

ExitCode show_run(const Call& call, client::Daemon& daemon, const std::string& word) {
  const auto record = client::get_run(daemon, find_run(daemon, word));
  std::vector<client::CallRecord> calls;
  const bool has_calls = call.arguments.has("--calls");
  if (has_calls) calls = client::list_calls(daemon, {.run = record.run.tool_run_id}, max_calls + 1);
  if (call.is_json) {
    base::Value wire = mark_source(record.wire, call, daemon);
    if (call.arguments.has("--process")) wire.set("process", find_process(daemon, record.run).wire);
    print_json(call, has_calls ? with_calls(std::move(wire), calls) : wire);
    return ExitCode::done;
  }
  const std::vector<model::Approval> asked = find_asked(daemon, record.run);
  std::optional<base::WallTime> now;
  if (call.out_is_terminal) now = base::SystemClock().wall_now();
  std::string text = view::run_details(record.run, asked, call.out, now);
  text += describe_process(find_process(daemon, record.run), call, now);
  if (!call.out_is_terminal) {
    fmt::print("{}", with_prefixed_fields(call, text));
    if (has_calls) print_calls(call, calls, record.run.tool_run_id);
  } else {
    fmt::print("{}{}", with_prefixed_fields(call, text), has_calls ? "" : "\n");
    if (has_calls) print_calls(call, calls, record.run.tool_run_id);
    print_next(call, next_for(record.run, asked));
  }
  return ExitCode::done;
}

// GRF-12: the changes so far, next to the question. A question about the branch itself already lists them.
std::vector<model::Patch> find_changes(client::Daemon& daemon, const model::Approval& approval) {
  constexpr std::size_t most = 200;
  std::vector<model::Patch> patches;
  const bool is_about_work = approval.execution_id && approval.status == model::ApprovalStatus::pending &&
                             approval.delivery != model::Delivery::apply;
  if (!is_about_work) return patches;
  const client::PatchSelection selection{.states = {"created", "validated", "queued"},
                                         .execution = approval.execution_id};
  for (client::PatchRecord& record : client::list_patches(daemon, selection, most)) {
    patches.push_back(std::move(record.patch));
  }
  std::ranges::reverse(patches);
  return patches;
}

void print_changes(const Call& call, const std::vector<model::Patch>& patches) {
  if (!patches.empty() && call.out_is_terminal) {
    fmt::print("\n{}\n", call.out.paint(view::Tint::bold, "Changed so far"));
  }
  for (const model::Patch& patch : patches) {
    const std::string id = shown_id(call, patch.patch_id.text());
    const std::string node = base::visible(patch.node_id);
    if (!call.out_is_terminal) {
      fmt::print("patch\t{} {} {} {}\n", id, base::spell(patch.state), node, view::size_text(patch.files));
      continue;
    }
    fmt::print("  {}  {}  {}   reeve patch show {}\n", id, node, view::status_text(patch.state, call.out), id);
    for (const std::string& line : view::file_lines(patch.files, call.out)) fmt::print("    {}\n", line);
  }
}

ExitCode show_approval(const Call& call, client::Daemon& daemon, base::ApprovalId id) {
  const auto record = client::get_approval(daemon, id);
  if (call.is_json) {
    print_json(call, mark_source(record.wire, call, daemon));
    return ExitCode::done;
  }
  // The record of the asking run says what would run.
  std::optional<model::Run> run;
  if (record.approval.tool_run_id) run = client::get_run(daemon, *record.approval.tool_run_id).run;
  const std::vector<model::Patch> changes = find_changes(daemon, record.approval);
  if (!call.out_is_terminal) {
    fmt::print("{}", with_prefixed_fields(call, view::approval_details(record.approval, run, call.out, {})));
    print_changes(call, changes);
    return ExitCode::done;
  }
  const base::WallTime now = base::SystemClock().wall_now();
  fmt::print("{}", with_prefixed_fields(call, view::approval_details(record.approval, run, call.out, now)));
  print_changes(call, changes);
  fmt::print("\n");
  const bool is_pending = record.approval.status == model::ApprovalStatus::pending;
  if (is_pending) {
    print_next(call, view::answer_command(record.approval));
  } else if (run) {
    print_next(call, fmt::format("reeve show {}", run->tool_run_id.text()));
  }
  return ExitCode::done;
}

ExitCode show_task(const Call& call, client::Daemon& daemon, base::TaskId id) {
  const auto record = client::get_task(daemon, id);
  if (call.is_json) {
    print_json(call, mark_source(record.wire, call, daemon));
  } else if (!call.out_is_terminal) {
    fmt::print("{}", with_prefixed_fields(call, view::task_details(record.task, call.out, {})));
  } else {
    fmt::print("{}\n",
               with_prefixed_fields(call, view::task_details(record.task, call.out, base::SystemClock().wall_now())));
    if (record.task.execution_id) print_next(call, "reeve show " + record.task.execution_id->text());
  }
  return ExitCode::done;
}

ExitCode show_call(const Call& call, client::Daemon& daemon, base::CallId id) {
  const auto record = client::get_call(daemon, id);
  if (call.is_json) {
    print_json(call, mark_source(record.wire, call, daemon));
  } else if (!call.out_is_terminal) {
    fmt::print("{}", with_prefixed_fields(call, view::call_details(record.call, call.out, {})));
  } else {
    fmt::print("{}\n",
               with_prefixed_fields(call, view::call_details(record.call, call.out, base::SystemClock().wall_now())));
    const bool is_waiting = !record.call.answer && record.call.approval_id;
    print_next(call, is_waiting ? "reeve show " + record.call.approval_id->text()
                                : "reeve calls " + record.call.tool_run_id.text());
  }
  return ExitCode::done;
}

ExitCode show_grant(const Call& call, client::Daemon& daemon, base::GrantId id) {
  const auto record = client::get_grant(daemon, id);
  if (call.is_json) {
    print_json(call, mark_source(record.wire, call, daemon));
    return ExitCode::done;
  }
  const base::WallTime now = base::SystemClock().wall_now();
  const auto form = call.out_is_terminal ? view::TimeForm::for_terminal : view::TimeForm::for_pipe;
  fmt::print("{}{}", with_prefixed_fields(call, view::grant_details(record.grant, call.out, now, form)),
             call.out_is_terminal ? "\n" : "");
  const bool is_active = view::grant_status(record.grant, now) == "active";
  if (call.out_is_terminal && is_active) print_next(call, "reeve policy revoke " + id.text());
  return ExitCode::done;
}

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const std::string word = call.arguments.positional(0);
  if (const auto id = base::ApprovalId::parse(word)) return show_approval(call, daemon, *id);
  if (const auto id = base::ExecutionId::parse(word)) return show_execution(call, daemon, *id);
  if (const auto id = base::PatchId::parse(word)) return show_patch(call, daemon, *id);
  if (const auto id = base::TaskId::parse(word)) return show_task(call, daemon, *id);
  if (const auto id = base::CallId::parse(word)) return show_call(call, daemon, *id);
  if (const auto id = base::GrantId::parse(word)) return show_grant(call, daemon, *id);
  return show_run(call, daemon, word);
}

}  // namespace

Command make_show() {
  return {
      .name = "show",
      .summary = "Show one run, approval, execution, patch, tool call or task in full",
      .about = R"(When piped, each line has a field name and its value, separated by a tab; fields that do not apply are
omitted. With `--json`, prints the record as the API returns it.

A live run is shown with its three clocks (last output, last heartbeat, last CPU or I/O), its limits, pid, CPU
time and memory. A waiting run is shown with its question. An approval is shown with what would run if approved (command,
folder, digest) or, if a workflow asks, with what its nodes have changed so far. A patch is shown with its
history and diff. A tool call is shown with its arguments, the rule or person that decided, and its outcome; a
standing grant with what it allows. `--calls` adds the last 50 tool calls of a run. With
`--json`, `--process` adds what is shown of a live run as `process`; null if it has no process here. Tasks are those created by `reeve import`.

Exit codes: 0 done, 3 no such record.)",
      .examples = {{"reeve show TR-17", ""},
                   {"reeve show AP-4", "the full question and what would run"},
                   {"reeve show EX-9", "same as reeve flow show"},
                   {"reeve show PA-3", "a patch and its history"},
                   {"reeve show TR-7 --calls", "a run with its tool calls"},
                   {"reeve show TR-7 --process --json", "with its clocks, limits, pid, CPU time and memory"},
                   {"reeve show TC-5", "a tool call: what, why, and what became of it"},
                   {"reeve show TK-5", "an imported task"},
                   {"reeve show @last --json", "the newest run, for a script"}},
      .positionals = {{.name = "ID",
                       .help = "TR-17, AP-4, EX-9, PA-3, TC-5, GR-3, TK-5, or @last for the newest run",
                       .is_id = true}},
      .options = {{.name = "--calls", .help = "also list the tool calls of the run"},
                  {.name = "--process",
                   .help = "with --json: also the live process of the run, its clocks and limits"}},
      .run = run,
  };
}

}  // namespace reeve::cli
