#include "view/execution_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"
#include "view/approval_text.h"
#include "view/project_names.h"
#include "view/run_text.h"
#include "view/status.h"

namespace reeve::view {

namespace {

using base::WallTime;
using model::Execution;
using model::ExecutionStatus;
using model::NodeExecution;

constexpr std::size_t note_columns = 60;
// Of inputs or outputs, on one line of a terminal.
constexpr std::size_t value_columns = 100;
constexpr std::size_t field_columns = 13;

std::string time_or_empty(const std::optional<WallTime>& time, const std::optional<WallTime>& now) {
  if (!time) return {};
  return now ? age_text(*now - *time) : base::format_time(*time);
}

// Of the latest attempt, without the pause before it.
std::string span_of(const NodeExecution& node, const std::optional<WallTime>& now) {
  const bool has_begun = node.status != model::NodeStatus::pending && node.status != model::NodeStatus::ready;
  if (!node.started_at || !has_begun) return {};
  const auto end = node.completed_at ? node.completed_at : now;
  if (!end) return {};
  return now ? span_text(*end - *node.started_at) : fmt::format("{}", (*end - *node.started_at).count());
}

// The time during which at least one of its runs was active.
base::Milliseconds time_in_runs(const std::vector<model::Run>& runs, WallTime now) {
  std::vector<std::pair<WallTime, WallTime>> spans;
  for (const model::Run& run : runs) {
    if (run.started_at) spans.emplace_back(*run.started_at, std::max(*run.started_at, run.completed_at.value_or(now)));
  }
  std::ranges::sort(spans);
  base::Milliseconds total{0};
  std::optional<WallTime> counted;
  for (const auto& [begin, end] : spans) {
    const WallTime from = counted ? std::max(*counted, begin) : begin;
    if (end > from) total += end - from;
    counted = counted ? std::max(*counted, end) : end;
  }
  return total;
}

std::string count_of(std::int64_t count, std::string_view what) {
  return count > 0 ? fmt::format("{} {}", count, what) : std::string();
}

std::string text_of(const std::optional<base::Value>& value) {
  const bool is_empty = !value || value->is_null() || (value->as_object() != nullptr && value->as_object()->empty());
  return is_empty ? std::string() : json::encode(*value);
}

// The ids that a node, or an earlier iteration of it, refers to.
std::string links_of(const NodeExecution& node) {
  std::vector<std::string> links;
  if (node.tool_run_id) links.push_back(node.tool_run_id->text());
  if (node.approval_id) links.push_back(node.approval_id->text());
  if (node.child_execution_id) links.push_back(node.child_execution_id->text());
  return base::join(links, " ");
}

// ISO-2: changed files that are in no patch, because they were copied in and may contain secrets.
std::vector<std::string> left_out_of(const NodeExecution& node) {
  std::vector<std::string> files;
  const base::Value* list = node.outputs ? node.outputs->find("left_out") : nullptr;
  if (list == nullptr || list->as_array() == nullptr) return files;
  for (const base::Value& file : *list->as_array()) {
    if (file.as_string() != nullptr) files.push_back(*file.as_string());
  }
  return files;
}

std::string counts_of(const NodeExecution& node) {
  std::string text;
  if (node.attempt > 1) text += fmt::format("attempt {}", node.attempt);
  if (node.iteration > 0) text += fmt::format("{}round {}", text.empty() ? "" : ", ", node.iteration + 1);
  return text;
}

// Only once it is completed: before, nothing is meant to be in the checkout.
std::string unapplied_text(const Execution& execution) {
  const bool counts = execution.status == ExecutionStatus::completed && execution.unapplied_patches > 0;
  return counts ? fmt::format("{}", execution.unapplied_patches) : std::string();
}

// Piped lines: the kind, then tab-separated fields.
class PipeLines {
 public:
  void add(std::string_view about, const std::vector<std::string>& fields) {
    text_ += about;
    for (const std::string& field : fields) text_ += "\t" + base::visible(field);
    text_ += '\n';
  }
  void add_field(std::string_view key, const std::string& value) {
    if (!value.empty()) add("execution", {std::string(key), value});
  }
  void add_node(std::string_view about, const NodeExecution& node) {
    add(about, {node.node_id, std::string(base::spell(node.type)), std::string(base::spell(node.status)),
                fmt::format("{}", node.attempt), fmt::format("{}", node.iteration), links_of(node), span_of(node, {}),
                node.error.value_or(""), text_of(node.inputs), text_of(node.outputs)});
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string details_for_pipe(const ExecutionStory& story) {
  const Execution& execution = story.execution;
  PipeLines lines;
  lines.add_field("execution_id", execution.execution_id.text());
  lines.add_field("workflow_id", execution.workflow_id);
  lines.add_field("workflow_name", execution.workflow_name);
  lines.add_field("label", execution.label.value_or(""));
  lines.add_field("phase_name", execution.phase_name.value_or(""));
  for (const auto& [key, value] : execution.metadata) lines.add_field("meta." + key, value);
  lines.add_field("status", std::string(base::spell(execution.status)));
  lines.add_field("reason", execution.reason.value_or(""));
  lines.add_field("unapplied_patches", unapplied_text(execution));
  lines.add_field("started_at", base::format_time(execution.started_at));
  lines.add_field("paused_at", time_or_empty(execution.paused_at, {}));
  lines.add_field("completed_at", time_or_empty(execution.completed_at, {}));
  if (execution.parent) {
    lines.add_field("parent", fmt::format("{}/{}", execution.parent->execution_id.text(), execution.parent->node_id));
  }
  const base::Value* origin = execution.config ? execution.config->find("imported_from") : nullptr;
  if (origin != nullptr && origin->as_string() != nullptr) lines.add_field("imported_from", *origin->as_string());
  lines.add_field("inputs", text_of(execution.inputs));
  for (const NodeExecution& node : execution.nodes) lines.add_node("node", node);
  for (const NodeExecution& node : story.iterations) lines.add_node("iteration", node);
  for (const model::Run& run : story.runs) {
    lines.add("run", {run.tool_run_id.text(), run.node_id.value_or(""), std::string(base::spell(run.status)),
                      fmt::format("{}", run.attempt), command_text(run.argv)});
  }
  for (const model::Approval& approval : story.approvals) {
    lines.add("approval",
              {approval.approval_id.text(), approval.node_id.value_or(""), std::string(base::spell(approval.status)),
               approval.chosen_value.value_or(""), approval.decided_by.value_or(""), question_line(approval)});
  }
  for (const std::vector<std::string>& patch : story.patches) lines.add("patch", patch);
  return lines.take();
}

class Page {
 public:
  Page(const Style& style, WallTime now) : style_(style), now_(now) {}

  void heading(const Execution& execution, const std::vector<model::Run>& runs) {
    text_ += fmt::format("{}  {}  {}\n\n", style_.paint(Tint::bold, execution.execution_id.text()),
                         base::visible(execution.workflow_name), status_text(execution.status, style_));
    field("reason", execution.reason.value_or(""));
    if (execution.paused_at) {
      field("paused", fmt::format("{} ago; let it continue: reeve resume {}", age_text(now_ - *execution.paused_at),
                                  execution.execution_id.text()));
    }
    if (const std::string count = unapplied_text(execution); !count.empty()) {
      const std::string id = execution.execution_id.text();
      field("checkout", fmt::format("{} not in your checkout: reeve flow diff {}, then reeve flow apply {}",
                                    execution.unapplied_patches == 1 ? "1 patch is" : count + " patches are", id, id));
    }
    // S6 calls the label `--workflow-id`, so the text distinguishes the two.
    field("workflow_id", execution.workflow_id + "  (the workflow's own `id`, the same for every start)");
    field("label", execution.label ? *execution.label + "  (set for this start by --label, or run-graph --workflow-id)"
                                   : "none  (`flow run --label L` sets one)");
    field("phase", execution.phase_name.value_or(""));
    for (const auto& [key, value] : execution.metadata) field("meta." + key, value);
    if (execution.parent) {
      field("part of", fmt::format("{}/{}", execution.parent->execution_id.text(), execution.parent->node_id));
    }
    field("started",
          fmt::format("{} ({} ago)", base::format_time(execution.started_at), age_text(now_ - execution.started_at)));
    // From start to end, including waits.
    const std::string in_runs = runs.empty() ? "" : fmt::format(" ({} in runs)", span_text(time_in_runs(runs, now_)));
    field("took", span_text(execution_span(execution, now_)) + in_runs);
    if (execution.config) {
      for (const char* key : {"project", "base_commit", "apply", "imported_from"}) {
        const base::Value* found = execution.config->find(key);
        if (found != nullptr && found->as_string() != nullptr) field(key, *found->as_string());
      }
    }
    field("inputs", base::fit_width(base::visible(text_of(execution.inputs)), room_of(value_columns, field_columns),
                                    style_.ascii));
  }

  void section(std::string_view title) { text_ += fmt::format("\n{}\n", style_.paint(Tint::bold, title)); }

  void node(const NodeExecution& node) {
    const Look look = look_of(node.status);
    std::string line = fmt::format("{} {}  {}", style_.paint(look.tint, style_.pick(look.sign, look.ascii)),
                                   base::visible(node.node_id), base::spell(node.type));
    for (const std::string& part :
         {std::string(base::spell(node.status)), span_of(node, now_), counts_of(node), links_of(node)}) {
      if (!part.empty()) line += "  " + part;
    }
    text_ += line + '\n';
    value("in", text_of(node.inputs));
    value("out", text_of(node.outputs));
    const auto left_out = left_out_of(node);
    if (!left_out.empty()) value("left", base::join(left_out, ", ") + " (copied in beforehand, not part of the patch)");
    // For a node that has not failed, the error is that of an earlier attempt.
    value(node.status == model::NodeStatus::failed ? "error" : "before", node.error.value_or(""));
  }

  void row(const std::vector<std::string>& parts) {
    std::string line = " ";
    for (const std::string& part : parts) {
      if (!part.empty()) line += " " + part + " ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text_ += line + '\n';
  }

  // The width of a column: `most` if the terminal has room for it next to the others.
  std::size_t room_of(std::size_t most, std::size_t others) const {
    constexpr std::size_t least = 10;
    if (style_.columns == 0) return most;
    return std::clamp(style_.columns - std::min(style_.columns, others), least, most);
  }

  std::string take() { return std::move(text_); }
  WallTime now() const noexcept { return now_; }
  const Style& style() const noexcept { return style_; }

 private:
  void field(std::string_view key, const std::string& value) {
    if (value.empty()) return;
    text_ +=
        fmt::format("{}{}\n", style_.paint(Tint::dim, fmt::format("{:<{}}", key, field_columns)), base::visible(value));
  }
  void value(std::string_view key, const std::string& text) {
    if (text.empty()) return;
    constexpr std::size_t indent = 4;
    constexpr std::size_t key_columns = 7;
    text_ +=
        fmt::format("{:{}}{}{}\n", "", indent, style_.paint(Tint::dim, fmt::format("{:<{}}", key, key_columns)),
                    base::fit_width(base::visible(text), room_of(value_columns, indent + key_columns), style_.ascii));
  }

  const Style& style_;
  WallTime now_;
  std::string text_;
};

// The width of the other cells of a row, with gaps.
std::size_t width_of(const std::vector<std::string>& cells) {
  std::size_t width = 2;
  for (const std::string& cell : cells) width += cell.empty() ? 0 : base::display_width(cell) + 2;
  return width;
}

std::string details_for_terminal(const ExecutionStory& story, const Style& style, WallTime now) {
  Page page(style, now);
  page.heading(story.execution, story.runs);
  page.section("Nodes");
  for (const NodeExecution& node : story.execution.nodes) page.node(node);
  if (!story.iterations.empty()) page.section("Earlier rounds");
  for (const NodeExecution& node : story.iterations) page.node(node);
  if (!story.runs.empty()) page.section("Runs");
  for (const model::Run& run : story.runs) {
    const std::vector<std::string> head = {run.tool_run_id.text(), base::visible(run.node_id.value_or("")),
                                           status_text(run.status, Style{.ascii = style.ascii})};
    const std::size_t room = page.room_of(note_columns, width_of(head));
    page.row({head[0], head[1], status_text(run.status, style),
              base::fit_width(base::visible(command_text(run.argv)), room, style.ascii)});
  }
  if (!story.approvals.empty()) page.section("Approvals");
  for (const model::Approval& approval : story.approvals) {
    const std::vector<std::string> others = {approval.approval_id.text(), base::visible(approval.node_id.value_or("")),
                                             status_text(approval.status, Style{.ascii = style.ascii}),
                                             decision_text(approval, now)};
    const std::size_t room = page.room_of(note_columns, width_of(others));
    page.row({others[0], others[1], status_text(approval.status, style),
              base::fit_width(question_line(approval), room, style.ascii), others[3]});
  }
  if (!story.patches.empty()) page.section("Patches");
  for (std::vector<std::string> patch : story.patches) {
    for (std::string& cell : patch) cell = base::visible(cell);
    page.row(patch);
  }
  return page.take();
}

}  // namespace

std::string execution_note(const Execution& execution) {
  if (execution.paused_at) return "paused";
  switch (execution.status) {
    case ExecutionStatus::failed:
    case ExecutionStatus::cancelled:
      return execution.reason.value_or("");
    case ExecutionStatus::completed:
      return execution.unapplied_patches > 0 ? "not in your checkout" : "";
    case ExecutionStatus::running:
    case ExecutionStatus::waiting_approval:
      break;
  }
  std::vector<std::string> parts;
  for (std::string part :
       {count_of(execution.tally.waiting, "waiting for you"), count_of(execution.tally.running, "running"),
        count_of(execution.tally.ready, "ready"), count_of(execution.tally.failed, "failed")}) {
    if (!part.empty()) parts.push_back(std::move(part));
  }
  return base::join(parts, ", ");
}

base::Milliseconds execution_span(const Execution& execution, WallTime now) {
  return execution.completed_at.value_or(now) - execution.started_at;
}

Table executions_table(const std::vector<Execution>& executions, const Style& style, std::optional<WallTime> now) {
  Table table({"ID", "STATUS", "WORKFLOW", "LABEL", "AGE", "TOOK", "NOTE", "PROJECT"});
  ProjectNames projects;
  projects.add_all(executions);
  for (const Execution& execution : executions) {
    const Look look = look_of(execution.status);
    std::string status(base::spell(execution.status));
    std::string note = execution_note(execution);
    if (execution.parent) {
      note += fmt::format("{}part of {}/{}", note.empty() ? "" : "; ", execution.parent->execution_id.text(),
                          execution.parent->node_id);
    }
    if (now) {
      status = fmt::format("{} {}", style.pick(look.sign, look.ascii), status);
      note = base::fit_width(base::visible(note), note_columns, style.ascii);
    }
    const bool is_over = execution.completed_at.has_value();
    const std::string took = now       ? span_text(execution_span(execution, *now))
                             : is_over ? fmt::format("{}", execution_span(execution, *execution.completed_at).count())
                                       : std::string();
    table.add({{execution.execution_id.text()},
               {status, look.tint},
               {execution.workflow_name},
               {execution.label.value_or("")},
               {time_or_empty(execution.started_at, now)},
               {took},
               {note},
               {now ? projects.of(execution.project) : path_text(execution.project)}});
  }
  return table;
}

std::string execution_details(const ExecutionStory& story, const Style& style, std::optional<WallTime> now) {
  return now ? details_for_terminal(story, style, *now) : details_for_pipe(story);
}

}  // namespace reeve::view
