#include "view/run_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "view/approval_text.h"
#include "view/project_names.h"
#include "view/status.h"

namespace reeve::view {

namespace {

using base::WallTime;
using model::Run;
using model::RunStatus;

constexpr std::size_t command_columns = 40;
constexpr std::size_t note_columns = 60;

std::string failure_note(const Run& run) {
  const bool is_own_code = run.exit_code && run.reason.value_or("exit_code").starts_with("exit_code");
  std::string note = is_own_code ? fmt::format("exit {}", *run.exit_code) : run.reason.value_or("");
  if (run.last_error && !run.last_error->empty()) note += (note.empty() ? "" : ": ") + *run.last_error;
  return note;
}

std::string progress_note(const model::Progress& progress) {
  std::string note = progress.percent ? fmt::format("{:.0f} %", *progress.percent) : std::string();
  if (progress.message) note += (note.empty() ? "" : " ") + *progress.message;
  return note;
}

std::string time_or_empty(const std::optional<WallTime>& time, const std::optional<WallTime>& now) {
  if (!time) return {};
  return now ? age_text(*now - *time) : base::format_time(*time);
}

std::string duration_of(const Run& run, const std::optional<WallTime>& now) {
  const bool is_over = run.started_at && run.completed_at;
  const auto took = run.duration_ms ? run.duration_ms
                    : is_over       ? std::optional((*run.completed_at - *run.started_at).count())
                                    : std::nullopt;
  if (took) return now ? span_text(base::Milliseconds(*took)) : fmt::format("{}", *took);
  const bool runs_now = now && run.started_at && !run.completed_at;
  return runs_now ? span_text(*now - *run.started_at) : std::string();
}

int rank(const Run& run) {
  switch (run.status) {
    case RunStatus::waiting_approval:
      return 0;
    case RunStatus::stalled:
      return 1;
    default:
      return 2;
  }
}

// A shell word, quoted if the shell needs it.
std::string shell_word(const std::string& word) {
  constexpr std::string_view plain = "@%+=:,./-_";
  const bool is_plain = !word.empty() && std::ranges::all_of(word, [&](char c) {
    return base::is_ascii_letter(c) || base::is_ascii_digit(c) || plain.find(c) != std::string_view::npos;
  });
  if (is_plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// One field of one record.
std::string detail(std::string_view key, const std::string& value, const Style& style, bool is_for_terminal) {
  if (value.empty()) return {};
  if (!is_for_terminal) return fmt::format("{}\t{}\n", key, base::visible(value));
  return fmt::format("{}{}\n", style.paint(Tint::dim, fmt::format("{:<19}", key)), base::visible(value));
}

std::string moment_text(const std::optional<WallTime>& moment, const std::optional<WallTime>& now) {
  if (!moment) return {};
  return now ? fmt::format("{} ({} ago)", base::format_time(*moment), age_text(*now - *moment))
             : base::format_time(*moment);
}

// "45.2 MiB"
std::string memory_text(std::int64_t bytes) {
  constexpr double mebibyte = 1024.0 * 1024.0;
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / mebibyte);
}

}  // namespace

std::string run_note(const Run& run, WallTime now) {
  if (run.paused_at) return fmt::format("paused {} ago", age_text(now - *run.paused_at));
  switch (run.status) {
    case RunStatus::waiting_approval:
      return "waiting for an approval";
    case RunStatus::stalled: {
      const auto last = run.last_output_at ? run.last_output_at : run.started_at;
      return last ? fmt::format("no output for {}", span_text(now - *last)) : "no sign of life";
    }
    case RunStatus::failed:
    case RunStatus::failed_timeout:
      return failure_note(run);
    case RunStatus::cancelled:
      return run.reason.value_or("");
    default:
      return run.progress ? progress_note(*run.progress) : run.reason.value_or("");
  }
}

std::string command_text(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

void add_runs(Table& table, const std::vector<Run>& runs, const Style& style, std::optional<WallTime> now) {
  ProjectNames projects;
  projects.add_all(runs);
  for (const Run& run : runs) {
    const Look look = look_of(run.status);
    std::string status(base::spell(run.status));
    std::string command = command_text(run.argv);
    std::string note = run_note(run, now.value_or(run.completed_at.value_or(run.last_output_at.value_or(WallTime()))));
    if (now) {
      status = fmt::format("{} {}", style.pick(look.sign, look.ascii), status);
      command = base::fit_width(base::visible(command), command_columns, style.ascii);
      note = base::fit_width(base::visible(note), note_columns, style.ascii);
    }
    table.add({{run.tool_run_id.text()},
               {status, look.tint},
               {run.tool_name},
               {time_or_empty(run.started_at, now)},
               {duration_of(run, now)},
               {command},
               {note},
               {now ? projects.of(run.project) : path_text(run.project)}});
  }
}

Table runs_table(const std::vector<Run>& runs, const Style& style, std::optional<WallTime> now) {
  Table table({"ID", "STATUS", "TOOL", "AGE", "TOOK", "COMMAND", "NOTE", "PROJECT"});
  table.shorten_first(5);
  add_runs(table, runs, style, now);
  return table;
}

std::string run_details(const Run& run, const std::vector<model::Approval>& asked, const Style& style,
                        std::optional<WallTime> now) {
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    text += detail(key, value, style, now.has_value());
  };
  const auto time = [&](std::string_view key, const std::optional<WallTime>& moment) {
    line(key, moment_text(moment, now));
  };
  if (now) {
    text += fmt::format("{}  {}  {}\n\n", style.paint(Tint::bold, run.tool_run_id.text()), base::visible(run.tool_name),
                        status_text(run.status, style));
  } else {
    line("tool_run_id", run.tool_run_id.text());
    line("tool_name", run.tool_name);
    line("status", std::string(base::spell(run.status)));
  }
  for (const model::Approval& approval : asked) {
    line("asks", fmt::format("{} {}", approval.approval_id.text(), question_line(approval)));
  }
  line("reason", run.reason.value_or(""));
  line("outcome", run.outcome ? std::string(base::spell(*run.outcome)) : "");
  line("exit_code", run.exit_code ? fmt::format("{}", *run.exit_code) : "");
  line("attempt", fmt::format("{}", run.attempt));
  line("command", command_text(run.argv));
  line("cwd", run.cwd);
  line("project", path_text(run.project));
  line("execution_id", run.execution_id ? run.execution_id->text() : "");
  line("node_id", run.node_id.value_or(""));
  line("agent_id", run.agent_id ? run.agent_id->text() : "");
  time("started_at", run.started_at);
  time("paused_at", run.paused_at);
  time("completed_at", run.completed_at);
  line(now ? "took" : "duration_ms", duration_of(run, now));
  time("last_output_at", run.last_output_at);
  time("last_heartbeat_at", run.last_heartbeat_at);
  line("last_error", run.last_error.value_or(""));
  line("progress", run.progress ? progress_note(*run.progress) : "");
  if (run.usage) line("usage", fmt::format("{} in, {} out", run.usage->input_tokens, run.usage->output_tokens));
  for (const model::ToolError& error : run.tool_errors) {
    line("tool_error", error.tool ? *error.tool + ": " + error.message : error.message);
  }
  time("seen_at", run.seen_at);
  for (const auto& [key, value] : run.metadata) line("meta." + key, value);
  return text;
}

std::string process_details(const wire::RunProcess& process, const Style& style, std::optional<WallTime> now) {
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    text += detail(key, value, style, now.has_value());
  };
  const auto span = [&](std::int64_t ms) { return now ? span_text(base::Milliseconds(ms)) : fmt::format("{}", ms); };
  const auto limit = [&](const std::optional<std::int64_t>& ms) {
    return ms ? base::format_duration(base::Milliseconds(*ms)) : std::string("off");
  };
  // The record has the other two clocks, and leaves out those that never moved.
  if (!process.last_output_at) line("last_output_at", "never");
  if (!process.last_heartbeat_at) line("last_heartbeat_at", "never");
  line("last_activity_at", process.last_activity_at ? moment_text(process.last_activity_at, now) : "never");
  if (now) {
    line("timeout", process.time_left_ms
                        ? fmt::format("{}, {} left", limit(process.timeout_ms), span(*process.time_left_ms))
                        : limit(process.timeout_ms));
    line("no_output_timeout", fmt::format("{}, then {}", limit(process.no_output_timeout_ms),
                                          process.on_stall == model::OnStall::kill ? "kill" : "mark as stalled"));
    line("memory", memory_text(process.memory_bytes));
  } else {
    line("timeout", limit(process.timeout_ms));
    line("time_left_ms", process.time_left_ms ? span(*process.time_left_ms) : "");
    line("no_output_timeout", limit(process.no_output_timeout_ms));
    line("on_stall", std::string(base::spell(process.on_stall)));
    line("memory_bytes", fmt::format("{}", process.memory_bytes));
  }
  line(now ? "cpu" : "cpu_ms", span(process.cpu_ms));
  line("pid", process.pid ? fmt::format("{}", *process.pid) : "");
  line("processes", fmt::format("{}", process.processes));
  return text;
}

std::string process_place(const std::string& where, const Style& style, std::optional<WallTime> now) {
  return detail("process", where, style, now.has_value());
}

std::vector<Run> by_attention(std::vector<Run> runs) {
  std::ranges::sort(runs, {}, [](const Run& run) { return std::pair(rank(run), -run.tool_run_id.number()); });
  return runs;
}

}  // namespace reeve::view
