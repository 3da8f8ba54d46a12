#include "view/pipeline_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"
#include "view/safe_text.h"
#include "view/status.h"

namespace reeve::view {

namespace {

using base::WallTime;
using model::PipelineStatus;
using model::StepStatus;
using wire::PipelineRecord;
using wire::PipelineStepRecord;

constexpr std::size_t note_columns = 60;
// The last lines of an agent's output on a terminal; `reeve logs` has all of it.
constexpr std::size_t output_lines = 6;
constexpr std::size_t key_columns = 10;

Look pipeline_look(PipelineStatus status) { return look_of(wire::execution_status(status)); }

Look step_look(const PipelineStepRecord& step) {
  if (step.status == StepStatus::pending) return look_of(model::NodeStatus::pending);
  if (step.status == StepStatus::done) return look_of(model::NodeStatus::completed);
  if (step.status == StepStatus::failed) return look_of(model::NodeStatus::failed);
  const bool asks = step.type == model::StepType::approval;
  return look_of(asks ? model::NodeStatus::waiting_approval : model::NodeStatus::running);
}

std::string name_of(const PipelineStepRecord& step) {
  return base::visible(step.agent_name.value_or(std::string(base::spell(step.type))));
}

std::string link_of(const PipelineStepRecord& step) {
  if (step.tool_run_id) return step.tool_run_id->text();
  return step.approval_id ? step.approval_id->text() : std::string();
}

std::string span_of(const std::optional<WallTime>& from, const std::optional<WallTime>& to,
                    const std::optional<WallTime>& now) {
  const auto end = to ? to : now;
  if (!from || !end) return {};
  return now ? span_text(*end - *from) : fmt::format("{}", (*end - *from).count());
}

std::string inputs_text(const PipelineRecord& pipeline) {
  const bool has_any =
      pipeline.inputs && pipeline.inputs->as_object() != nullptr && !pipeline.inputs->as_object()->empty();
  return has_any ? json::encode(*pipeline.inputs) : std::string();
}

std::string details_for_pipe(const PipelineRecord& pipeline) {
  std::string text;
  const auto field = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("pipeline\t{}\t{}\n", key, base::visible(value));
  };
  field("pipeline_id", pipeline.pipeline_id.text());
  field("pipeline", pipeline.pipeline);
  field("status", std::string(base::spell(pipeline.status)));
  field("reason", pipeline.reason.value_or(""));
  field("prompt", pipeline.prompt.value_or(""));
  field("inputs", inputs_text(pipeline));
  field("approval_id", pipeline.approval_id ? pipeline.approval_id->text() : "");
  field("started_at", base::format_time(pipeline.started_at));
  if (pipeline.completed_at) field("completed_at", base::format_time(*pipeline.completed_at));
  for (const PipelineStepRecord& step : pipeline.steps) {
    const std::string fields[] = {step.step_id,
                                  std::string(base::spell(step.type)),
                                  step.agent_name.value_or(""),
                                  std::string(base::spell(step.status)),
                                  link_of(step),
                                  span_of(step.started_at, step.completed_at, {}),
                                  step.description.value_or(""),
                                  step.error.value_or(""),
                                  step.comment.value_or(""),
                                  step.decided_by.value_or(""),
                                  step.output.value_or("")};
    text += "step";
    for (const std::string& one : fields) text += "\t" + base::visible(one);
    text += '\n';
  }
  return text;
}

std::vector<std::string> last_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(base::trim(text), '\n')) lines.push_back(safe_line(line));
  if (lines.size() > output_lines) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(output_lines));
    lines.insert(lines.begin(), "...");
  }
  return lines;
}

void add_step(const PipelineStepRecord& step, const Style& style, WallTime now, std::string& text) {
  const Look look = step_look(step);
  text += fmt::format("  {} {}", style.paint(look.tint, style.pick(look.sign, look.ascii)), name_of(step));
  if (step.description) text += "  " + base::visible(*step.description);
  for (const std::string& more : {link_of(step), span_of(step.started_at, step.completed_at, now)}) {
    if (!more.empty()) text += "  " + style.paint(Tint::dim, more);
  }
  text += '\n';
  const auto add = [&](const std::string& line) { text += fmt::format("      {}\n", line); };
  if (step.error) add(style.paint(Tint::red, base::visible(*step.error)));
  if (step.decided_by) {
    const bool has_words = step.comment && !step.comment->empty();
    add(fmt::format("{} by {}{}", step.status == StepStatus::done ? "approved" : "rejected",
                    base::visible(*step.decided_by), has_words ? ": " + base::visible(*step.comment) : ""));
  }
  if (!step.output || base::trim(*step.output).empty()) return;
  for (const std::string& line : last_lines(*step.output)) add(style.paint(Tint::dim, line));
}

}  // namespace

std::string status_text(PipelineStatus status, const Style& style) {
  const Look look = pipeline_look(status);
  return style.paint(look.tint, fmt::format("{} {}", style.pick(look.sign, look.ascii), base::spell(status)));
}

Table pipelines_table(const std::vector<PipelineRecord>& pipelines, const Style& style, std::optional<WallTime> now) {
  if (!now) {
    Table table({"ID", "STATUS", "PIPELINE", "STARTED", "MILLISECONDS", "NOTE"});
    for (const PipelineRecord& pipeline : pipelines) {
      table.add({pipeline.pipeline_id.text(), std::string(base::spell(pipeline.status)), pipeline.pipeline,
                 base::format_time(pipeline.started_at), span_of(pipeline.started_at, pipeline.completed_at, {}),
                 pipeline.reason.value_or("")});
    }
    return table;
  }
  Table table({"ID", "STATUS", "PIPELINE", "AGE", "TOOK", "NOTE"});
  for (const PipelineRecord& pipeline : pipelines) {
    const Look look = pipeline_look(pipeline.status);
    table.add({{pipeline.pipeline_id.text()},
               {fmt::format("{} {}", style.pick(look.sign, look.ascii), base::spell(pipeline.status)), look.tint},
               {pipeline.pipeline},
               {age_text(*now - pipeline.started_at)},
               {span_of(pipeline.started_at, pipeline.completed_at, now)},
               {base::fit_width(base::visible(pipeline.reason.value_or("")), note_columns, style.ascii)}});
  }
  return table;
}

std::string pipeline_details(const PipelineRecord& pipeline, const Style& style, std::optional<WallTime> now) {
  if (!now) return details_for_pipe(pipeline);
  std::string text = fmt::format("{}  {}  {}\n\n", style.paint(Tint::bold, pipeline.pipeline_id.text()),
                                 base::visible(pipeline.pipeline), status_text(pipeline.status, style));
  const auto field = [&](std::string_view key, const std::string& value) {
    if (value.empty()) return;
    text += style.paint(Tint::dim, fmt::format("{:<{}}", key, key_columns)) + base::visible(value) + "\n";
  };
  field("prompt", pipeline.prompt.value_or(""));
  field("inputs", inputs_text(pipeline));
  field("started",
        fmt::format("{} ({} ago)", base::format_time(pipeline.started_at), age_text(*now - pipeline.started_at)));
  field("took", pipeline.completed_at ? span_of(pipeline.started_at, pipeline.completed_at, now) : "");
  field("reason", pipeline.reason.value_or(""));
  text += '\n';
  for (const PipelineStepRecord& step : pipeline.steps) add_step(step, style, *now, text);
  return text;
}

Table pipeline_definitions(const model::Pipelines& pipelines) {
  Table table({"PIPELINE", "STEPS", "DESCRIPTION"});
  for (const auto& [name, pipeline] : pipelines.pipelines) {
    std::vector<std::string> steps;
    for (const model::PipelineStep& step : pipeline.steps) {
      steps.push_back(step.agent.value_or(std::string(base::spell(step.type))));
    }
    table.add({name, base::join(steps, ", "), pipeline.description.value_or("")});
  }
  return table;
}

}  // namespace reeve::view
