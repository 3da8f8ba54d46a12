#include "view/run_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "view/approval_text.h"
#include "view/execution_text.h"
#include "view/patch_text.h"
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

std::string hint_for(const Run& run) {
  switch (run.status) {
    case RunStatus::waiting_approval:
      return fmt::format("reeve show {}", run.tool_run_id.text());
    case RunStatus::stalled:
      return fmt::format("reeve attach {}", run.tool_run_id.text());
    default:
      return fmt::format("reeve logs {}", run.tool_run_id.text());
  }
}

// By urgency (UX).
struct Group {
  RunStatus status;
  std::string_view words;
  std::size_t NewsCounts::* count;
};
constexpr auto groups = std::to_array<Group>({
    {RunStatus::waiting_approval, "waiting for you", &NewsCounts::waiting_approval},
    {RunStatus::stalled, "stalled", &NewsCounts::stalled},
    {RunStatus::failed, "failed", &NewsCounts::failed},
    {RunStatus::running, "running", &NewsCounts::running},
    {RunStatus::queued, "queued", &NewsCounts::queued},
});

std::string padded(std::string text, std::size_t width) {
  return text.append(width - std::min(width, base::display_width(text)), ' ');
}

// A line about something that needs a person.
struct NeedyRow {
  std::string id;
  std::string who;
  std::string what;
  std::string age;
  // The command to act on it, or the deadline.
  std::string hint;
  // The same for narrow terminals.
  std::string brief_hint = hint;
};

NeedyRow needy_row(const Run& run, WallTime now) {
  const auto since = run.completed_at ? run.completed_at : run.last_output_at;
  return {.id = run.tool_run_id.text(),
          .who = base::visible(run.tool_name),
          .what = base::visible(run_note(run, now)),
          .age = since ? age_text(now - *since) : "",
          .hint = hint_for(run)};
}

NeedyRow needy_row(const model::Approval& approval, WallTime now) {
  return {.id = approval.approval_id.text(),
          .who = asker_text(approval),
          .what = question_line(approval),
          .age = age_text(now - approval.created_at),
          .hint = until_text(approval, now),
          .brief_hint = approval.expires_at ? "until " + clock_text(*approval.expires_at, now) : ""};
}

NeedyRow needy_row(const model::Execution& execution, WallTime now) {
  return {.id = execution.execution_id.text(),
          .who = base::visible(execution.workflow_name),
          .what = base::visible(execution_note(execution)),
          .age = age_text(now - execution.completed_at.value_or(execution.started_at)),
          .hint = fmt::format("reeve flow show {}", execution.execution_id.text())};
}

std::string reason_of(const model::Patch& patch) {
  return patch.history.empty() ? std::string() : patch.history.back().reason.value_or("");
}

std::string maker_of(const model::Patch& patch) {
  return fmt::format("{}/{}", patch.execution_id.text(), base::visible(patch.node_id));
}

NeedyRow needy_row(const model::Patch& patch, WallTime now) {
  return {.id = patch.patch_id.text(),
          .who = maker_of(patch),
          .what = fmt::format("{}: {}", base::spell(patch.state), base::visible(reason_of(patch))),
          .age = age_text(now - (patch.history.empty() ? patch.created_at : patch.history.back().at)),
          .hint = fmt::format("reeve patch show {}", patch.patch_id.text())};
}

// The group of an execution; executions never stall.
RunStatus group_of(const Run& run) { return run.status == RunStatus::failed_timeout ? RunStatus::failed : run.status; }

RunStatus group_of(const model::Execution& execution) {
  return execution.status == model::ExecutionStatus::waiting_approval ? RunStatus::waiting_approval : RunStatus::failed;
}

// The widths of the parts of a line, so that it fits the terminal.
struct NeedyWidths {
  std::size_t id = 0;
  std::size_t who = 0;
  std::size_t what = 0;
  std::size_t hint = 0;

  // The indent, the gaps and the age column.
  std::size_t total() const { return id + who + what + hint + 2 + 2 + 2 + 2 + 4 + 3; }
};

NeedyWidths measure(const std::vector<NeedyRow>& rows) {
  constexpr std::size_t who_columns = 20;
  constexpr std::size_t what_columns = 50;
  NeedyWidths widths;
  for (const NeedyRow& row : rows) {
    widths.id = std::max(widths.id, row.id.size());
    widths.who = std::max(widths.who, std::min(who_columns, base::display_width(row.who)));
    widths.what = std::max(widths.what, std::min(what_columns, base::display_width(row.what)));
    widths.hint = std::max(widths.hint, base::display_width(row.hint));
  }
  return widths;
}

// The least important part is shortened first: who it is, then the text, then the command.
NeedyWidths fit(std::vector<NeedyRow>& rows, std::size_t columns) {
  constexpr std::size_t least_who = 11;
  constexpr std::size_t least_what = 16;
  NeedyWidths widths = measure(rows);
  if (columns == 0) return widths;
  if (widths.total() > columns) {
    for (NeedyRow& row : rows) row.hint = row.brief_hint;
    widths = measure(rows);
  }
  const auto shorten = [&](std::size_t& width, std::size_t least) {
    const std::size_t excess = widths.total() > columns ? widths.total() - columns : 0;
    width -= std::min(excess, width - std::min(width, least));
  };
  shorten(widths.who, least_who);
  shorten(widths.what, least_what);
  shorten(widths.hint, 0);
  return widths;
}

std::string needy_lines(std::vector<NeedyRow> rows, const Style& style) {
  const NeedyWidths widths = fit(rows, style.columns);
  const auto cell = [&](const std::string& text, std::size_t width) {
    return padded(base::fit_width(text, width, style.ascii), width);
  };
  std::string text;
  for (const NeedyRow& row : rows) {
    std::string line = fmt::format("  {}  {}  {}  {:>4}   {}", padded(row.id, widths.id), cell(row.who, widths.who),
                                   cell(row.what, widths.what), row.age, cell(row.hint, widths.hint));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

// "◆ 2 waiting for you   ▲ 1 stalled", on as many lines as it takes.
class HeadLine {
 public:
  explicit HeadLine(const Style& style) : style_(style) {}

  void add(const Look& look, std::size_t count, std::string_view words) {
    constexpr std::size_t gap = 3;
    const std::string rest = fmt::format(" {} {}", count, words);
    const std::string_view sign = style_.pick(look.sign, look.ascii);
    const std::size_t width = base::display_width(sign) + base::display_width(rest);
    const bool fits = style_.columns == 0 || width_ + gap + width <= style_.columns;
    if (!text_.empty()) text_ += fits ? std::string(gap, ' ') : "\n";
    width_ = text_.empty() || !fits ? width : width_ + gap + width;
    text_ += style_.paint(look.tint, sign) + rest;
  }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  const Style& style_;
  std::string text_;
  std::size_t width_ = 0;
};

}  // namespace

std::string run_note(const Run& run, WallTime now) {
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

namespace {

void add_runs(Table& table, const std::vector<Run>& runs, const Style& style, std::optional<WallTime> now) {
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
               {note}});
  }
}

}  // namespace

Table runs_table(const std::vector<Run>& runs, const Style& style, std::optional<WallTime> now) {
  Table table({"ID", "STATUS", "TOOL", "AGE", "TOOK", "COMMAND", "NOTE"});
  table.shorten_first(5);
  add_runs(table, runs, style, now);
  return table;
}

std::string run_details(const Run& run, const std::vector<model::Approval>& asked, const Style& style,
                        std::optional<WallTime> now) {
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    if (value.empty()) return;
    if (!now) {
      text += fmt::format("{}\t{}\n", key, base::visible(value));
    } else {
      text += fmt::format("{}{}\n", style.paint(Tint::dim, fmt::format("{:<19}", key)), base::visible(value));
    }
  };
  const auto time = [&](std::string_view key, const std::optional<WallTime>& moment) {
    if (!moment) return;
    line(key, now ? fmt::format("{} ({} ago)", base::format_time(*moment), age_text(*now - *moment))
                  : base::format_time(*moment));
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
  line("execution_id", run.execution_id ? run.execution_id->text() : "");
  line("node_id", run.node_id.value_or(""));
  line("agent_id", run.agent_id ? run.agent_id->text() : "");
  time("started_at", run.started_at);
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
  for (const auto& [key, value] : run.metadata) line("meta." + key, value);
  return text;
}

std::vector<Run> by_attention(std::vector<Run> runs) {
  std::ranges::sort(runs, {}, [](const Run& run) { return std::pair(rank(run), -run.tool_run_id.number()); });
  return runs;
}

bool waits_for(const Run& run, const std::vector<model::Approval>& approvals) {
  return run.status == RunStatus::waiting_approval &&
         std::ranges::any_of(approvals, [&](const auto& approval) { return approval.tool_run_id == run.tool_run_id; });
}

namespace {

// ISO-3: patches that must be applied by hand.
void add_patches(const std::vector<model::Patch>& patches, WallTime now, Overview& overview, HeadLine& head,
                 std::vector<NeedyRow>& rows) {
  if (patches.empty()) return;
  for (const model::Patch& patch : patches) rows.push_back(needy_row(patch, now));
  if (overview.next.empty()) overview.next = fmt::format("reeve patch show {}", patches.front().patch_id.text());
  head.add(look_of(patches.front().state), patches.size(),
           patches.size() == 1 ? "patch not applied" : "patches not applied");
}

}  // namespace

NewsCounts count_news(const News& news) {
  NewsCounts counts{.waiting_approval = news.approvals.size(), .not_applied = news.patches.size()};
  for (const Group& group : groups) {
    for (const Run& run : news.runs) {
      counts.*group.count += group_of(run) == group.status && !waits_for(run, news.approvals) ? 1 : 0;
    }
    for (const model::Execution& execution : news.executions) {
      counts.*group.count += group_of(execution) == group.status ? 1 : 0;
    }
  }
  return counts;
}

Overview make_overview(const News& news, const Style& style, WallTime now) {
  // Only the head of a long queue; the listing has the rest.
  constexpr std::size_t max_questions = 20;
  Overview overview;
  HeadLine head(style);
  std::vector<NeedyRow> rows;
  for (const model::Approval& approval : news.approvals) {
    if (rows.size() == max_questions) break;
    rows.push_back(needy_row(approval, now));
  }
  const std::size_t hidden = news.approvals.size() - rows.size();
  if (!rows.empty()) overview.next = fmt::format("reeve show {}", rows.front().id);
  const NewsCounts counts = count_news(news);
  for (const auto& [wanted, words, member] : groups) {
    for (const Run& run : news.runs) {
      if (group_of(run) != wanted || waits_for(run, news.approvals)) continue;
      const bool is_needy = wanted != RunStatus::running && wanted != RunStatus::queued;
      if (!is_needy) continue;
      if (overview.next.empty()) overview.next = hint_for(run);
      rows.push_back(needy_row(run, now));
    }
    for (const model::Execution& execution : news.executions) {
      if (group_of(execution) != wanted) continue;
      rows.push_back(needy_row(execution, now));
      if (overview.next.empty()) overview.next = rows.back().hint;
    }
    if (counts.*member > 0) head.add(look_of(wanted), counts.*member, words);
  }
  add_patches(news.patches, now, overview, head, rows);
  overview.text = head.empty() ? "nothing is running and nothing is waiting for you" : head.text();
  overview.text += '\n';
  if (!rows.empty()) overview.text += '\n' + needy_lines(std::move(rows), style);
  if (hidden > 0) overview.text += fmt::format("  and {} more waiting for you: reeve approvals\n", hidden);
  return overview;
}

Table overview_table(const News& news, const Style& style) {
  std::vector<Run> others;
  std::ranges::copy_if(news.runs, std::back_inserter(others),
                       [&](const Run& run) { return !waits_for(run, news.approvals); });
  Table table = runs_table({}, style, {});
  for (const model::Approval& approval : news.approvals) {
    table.add({approval.approval_id.text(), std::string(base::spell(approval.status)), asker_text(approval),
               base::format_time(approval.created_at), "", "", question_line(approval)});
  }
  for (const model::Execution& execution : news.executions) {
    table.add({execution.execution_id.text(), std::string(base::spell(execution.status)), execution.workflow_name,
               base::format_time(execution.started_at), "", "", execution_note(execution)});
  }
  for (const model::Patch& patch : news.patches) {
    table.add({patch.patch_id.text(), std::string(base::spell(patch.state)), maker_of(patch),
               base::format_time(patch.created_at), "", "", reason_of(patch)});
  }
  add_runs(table, by_attention(std::move(others)), style, {});
  return table;
}

}  // namespace reeve::view
