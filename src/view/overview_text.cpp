#include "view/overview_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "view/approval_text.h"
#include "view/execution_text.h"
#include "view/patch_text.h"
#include "view/project_names.h"
#include "view/run_text.h"
#include "view/status.h"

namespace reeve::view {

namespace {

using base::WallTime;
using model::Run;
using model::RunStatus;

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

// Nothing in them happens until a person resumes them.
bool is_paused(const Run& run) {
  return run.paused_at && (run.status == RunStatus::running || run.status == RunStatus::stalled);
}
bool is_paused(const model::Execution& execution) {
  return execution.paused_at && execution.status == model::ExecutionStatus::running;
}
// It continues with its execution, which is listed itself.
bool is_held(const Run& run, const News& news) {
  return is_paused(run) && run.execution_id && std::ranges::any_of(news.executions, [&](const auto& execution) {
           return execution.execution_id == *run.execution_id && is_paused(execution);
         });
}

std::string padded(std::string text, std::size_t width) {
  return text.append(width - std::min(width, base::display_width(text)), ' ');
}

// A line about something that needs a person.
struct NeedyRow {
  std::string id;
  std::string project = {};
  std::string who;
  std::string what;
  std::string age;
  // The command to act on it, or the deadline.
  std::string hint;
  // The same for narrow terminals.
  std::string brief_hint = hint;
};

// For a record of another state folder, whose ids need a prefix.
void add_prefix(NeedyRow& row, const std::string& prefix) {
  if (prefix.empty()) return;
  const std::string id = fmt::format("{}/{}", prefix, row.id);
  for (std::string* text : {&row.hint, &row.brief_hint}) {
    if (text->ends_with(row.id)) text->replace(text->size() - row.id.size(), row.id.size(), id);
  }
  row.id = id;
}

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

NeedyRow paused_row(std::string id, std::string who, WallTime since, WallTime now) {
  std::string hint = fmt::format("reeve resume {}", id);
  return {.id = std::move(id),
          .who = std::move(who),
          .what = "paused",
          .age = age_text(now - since),
          .hint = std::move(hint)};
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
  std::size_t project = 0;
  std::size_t who = 0;
  std::size_t what = 0;
  std::size_t hint = 0;

  // The indent, the gaps and the age column.
  std::size_t total() const { return id + project + (project > 0 ? 2 : 0) + who + what + hint + 2 + 2 + 2 + 2 + 4 + 3; }
};

NeedyWidths measure(const std::vector<NeedyRow>& rows) {
  constexpr std::size_t project_columns = 16;
  constexpr std::size_t who_columns = 20;
  constexpr std::size_t what_columns = 50;
  NeedyWidths widths;
  for (const NeedyRow& row : rows) {
    widths.id = std::max(widths.id, row.id.size());
    widths.project = std::max(widths.project, std::min(project_columns, base::display_width(row.project)));
    widths.who = std::max(widths.who, std::min(who_columns, base::display_width(row.who)));
    widths.what = std::max(widths.what, std::min(what_columns, base::display_width(row.what)));
    widths.hint = std::max(widths.hint, base::display_width(row.hint));
  }
  return widths;
}

// The least important part is shortened first: who it is, then the text, then the command.
NeedyWidths fit(std::vector<NeedyRow>& rows, std::size_t columns) {
  constexpr std::size_t least_project = 6;
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
  shorten(widths.project, least_project);
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
    const std::string project = widths.project > 0 ? cell(row.project, widths.project) + "  " : std::string();
    std::string line =
        fmt::format("  {}  {}{}  {}  {:>4}   {}", padded(row.id, widths.id), project, cell(row.who, widths.who),
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

bool waits_for(const Run& run, const std::vector<model::Approval>& approvals) {
  return run.status == RunStatus::waiting_approval &&
         std::ranges::any_of(approvals, [&](const auto& approval) { return approval.tool_run_id == run.tool_run_id; });
}

NewsCounts count_news(const std::vector<News>& parts) {
  NewsCounts counts;
  for (const News& news : parts) {
    counts.waiting_approval += news.approvals.size();
    counts.not_applied += news.patches.size();
    for (const Group& group : groups) {
      for (const Run& run : news.runs) {
        const bool counts_here = group_of(run) == group.status && !is_paused(run) && !waits_for(run, news.approvals);
        counts.*group.count += counts_here ? 1 : 0;
      }
      for (const model::Execution& execution : news.executions) {
        counts.*group.count += group_of(execution) == group.status && !is_paused(execution) ? 1 : 0;
      }
    }
    const auto pauses = [&](const Run& run) { return is_paused(run) && !is_held(run, news); };
    counts.paused += static_cast<std::size_t>(std::ranges::count_if(news.runs, pauses));
    for (const model::Execution& execution : news.executions) counts.paused += is_paused(execution) ? 1 : 0;
  }
  return counts;
}

namespace {

// Collects the lines in the order in which they need a person.
class OverviewRows {
 public:
  OverviewRows(const std::vector<News>& parts, WallTime now) : parts_(parts), now_(now) {
    for (const News& news : parts) {
      projects_.add_all(news.approvals);
      projects_.add_all(news.runs);
      projects_.add_all(news.executions);
    }
  }

  // Returns how many were left out: only the head of a long queue is shown, the listing has the rest.
  std::size_t add_questions() {
    constexpr std::size_t max_questions = 20;
    std::size_t hidden = 0;
    for (const News& news : parts_) {
      for (const model::Approval& approval : news.approvals) {
        if (rows_.size() == max_questions) {
          ++hidden;
          continue;
        }
        add(needy_row(approval, now_), news, approval.project);
        if (next_.empty()) next_ = fmt::format("reeve show {}", rows_.back().id);
      }
    }
    return hidden;
  }

  void add_group(RunStatus group) {
    const bool is_needy = group != RunStatus::running && group != RunStatus::queued;
    for (const News& news : parts_) {
      for (const Run& run : news.runs) {
        // It continues by itself.
        if (group == RunStatus::queued && run.not_before) add(needy_row(run, now_), news, run.project);
        if (!is_needy || group_of(run) != group || is_paused(run) || waits_for(run, news.approvals)) continue;
        add(needy_row(run, now_), news, run.project);
        if (next_.empty()) next_ = rows_.back().hint;
      }
      for (const model::Execution& execution : news.executions) {
        if (group_of(execution) != group || is_paused(execution)) continue;
        add(needy_row(execution, now_), news, execution.project);
        if (next_.empty()) next_ = rows_.back().hint;
      }
    }
  }

  void add_paused() {
    for (const News& news : parts_) {
      for (const model::Execution& execution : news.executions) {
        if (!is_paused(execution)) continue;
        add(paused_row(execution.execution_id.text(), base::visible(execution.workflow_name), *execution.paused_at,
                       now_),
            news, execution.project);
        if (next_.empty()) next_ = rows_.back().hint;
      }
      for (const Run& run : news.runs) {
        if (!is_paused(run) || is_held(run, news)) continue;
        add(paused_row(run.tool_run_id.text(), base::visible(run.tool_name), *run.paused_at, now_), news, run.project);
        if (next_.empty()) next_ = rows_.back().hint;
      }
    }
  }

  // ISO-3: patches that must be applied by hand.
  void add_patches(HeadLine& head) {
    std::size_t count = 0;
    std::optional<Look> look;
    for (const News& news : parts_) {
      for (const model::Patch& patch : news.patches) {
        add(needy_row(patch, now_), news, std::nullopt);
        if (next_.empty()) next_ = rows_.back().hint;
        if (!look) look = look_of(patch.state);
        ++count;
      }
    }
    if (look) head.add(*look, count, count == 1 ? "patch not applied" : "patches not applied");
  }

  const std::string& next() const { return next_; }
  std::vector<NeedyRow> take() { return std::move(rows_); }

 private:
  void add(NeedyRow row, const News& news, const std::optional<model::ProjectRef>& project) {
    row.project = projects_.of(project);
    add_prefix(row, news.prefix);
    rows_.push_back(std::move(row));
  }

  const std::vector<News>& parts_;
  WallTime now_;
  ProjectNames projects_;
  std::vector<NeedyRow> rows_;
  // The command for the first of them.
  std::string next_;
};

}  // namespace

Overview make_overview(const std::vector<News>& parts, const Style& style, WallTime now) {
  HeadLine head(style);
  OverviewRows collected(parts, now);
  const std::size_t hidden = collected.add_questions();
  const NewsCounts counts = count_news(parts);
  for (const auto& [group, words, member] : groups) {
    if (group == RunStatus::running) {
      collected.add_paused();
      if (counts.paused > 0) head.add({.sign = "‖", .ascii = "=", .tint = Tint::yellow}, counts.paused, "paused");
    }
    collected.add_group(group);
    if (counts.*member > 0) head.add(look_of(group), counts.*member, words);
  }
  collected.add_patches(head);
  Overview overview{.text = head.empty() ? "nothing is running and nothing is waiting for you" : head.text(),
                    .next = collected.next()};
  overview.text += '\n';
  std::vector<NeedyRow> rows = collected.take();
  if (!rows.empty()) overview.text += '\n' + needy_lines(std::move(rows), style);
  if (hidden > 0) overview.text += fmt::format("  and {} more waiting for you: reeve approvals\n", hidden);
  return overview;
}

}  // namespace reeve::view
