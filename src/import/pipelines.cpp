#include <set>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "import/context.h"
#include "import/status.h"
#include "spec/pipeline_graph.h"

// pipelines, steps and their approvals (S5).
namespace reeve::import {

namespace {

using base::Value;
using model::NodeType;
using store::ForeignTable;
using store::ForeignValue;

// The agent name that S5 uses for approval steps.
constexpr std::string_view approval_agent = "__approval__";
constexpr std::size_t max_steps = 1'000;

struct PipelineColumns {
  explicit PipelineColumns(Columns& columns)
      : id(columns.pick({"id", "pipeline_id"})),
        name(columns.pick({"template", "template_name", "pipeline_name", "name"})),
        prompt(columns.pick({"prompt", "initial_prompt", "input"})),
        status(columns.pick({"status"})),
        error(columns.pick({"error", "error_message"})),
        started(columns.pick({"started_at", "created_at"})),
        created(columns.pick({"created_at"})),
        completed(columns.pick({"completed_at", "finished_at", "updated_at"})),
        updated(columns.pick({"updated_at"})) {}
  Column id, name, prompt, status, error, started, created, completed, updated;
};

struct StepColumns {
  explicit StepColumns(Columns& columns)
      : id(columns.pick({"id", "step_id"})),
        pipeline(columns.pick({"pipeline_id"})),
        order(columns.pick({"order_index", "step_order", "step_index", "position", "order", "step_number"})),
        agent(columns.pick({"agent_name", "agent"})),
        description(columns.pick({"description"})),
        status(columns.pick({"status"})),
        output(columns.pick({"output", "result", "response"})),
        error(columns.pick({"error", "error_message"})),
        started(columns.pick({"started_at", "created_at"})),
        created(columns.pick({"created_at"})),
        completed(columns.pick({"completed_at", "finished_at"})) {}
  Column id, pipeline, order, agent, description, status, output, error, started, created, completed;
};

struct ApprovalColumns {
  explicit ApprovalColumns(Columns& columns)
      : id(columns.pick({"id", "approval_id"})),
        step(columns.pick({"step_id"})),
        status(columns.pick({"status"})),
        comment(columns.pick({"comment"})),
        decided_by(columns.pick({"decided_by"})),
        created(columns.pick({"created_at"})),
        decided(columns.pick({"decided_at"})),
        pipeline(columns.pick({"pipeline_id"})) {}
  Column id, step, status, comment, decided_by, created, decided, pipeline;
};

struct OldStep {
  std::optional<std::string> agent;
  std::optional<std::string> description;
  OldNode node;
  // For an approval step: its question; the last if there are several.
  std::vector<OldApproval> approvals;
};

std::string step_id(std::size_t index) { return fmt::format("step-{}", index + 1); }

class PipelineImport {
 public:
  PipelineImport(ImportContext& context, const ForeignTable& pipelines, const ForeignTable* steps)
      : context_(context), pipelines_(pipelines), steps_(steps), approvals_(find_approvals(context.file())) {
    Columns of_pipelines(pipelines);
    pipeline_.emplace(of_pipelines);
    context.note_unused(pipelines, of_pipelines);
    if (steps_ != nullptr) {
      Columns of_steps(*steps_);
      step_.emplace(of_steps);
      context.note_unused(*steps_, of_steps);
    }
    if (approvals_ != nullptr && !has_column(*approvals_, "step_id")) approvals_ = nullptr;
    if (approvals_ == nullptr) return;
    Columns of_approvals(*approvals_);
    approval_.emplace(of_approvals);
    context.note_unused(*approvals_, of_approvals);
  }

  void run() {
    context_.file().scan(pipelines_, [&](const store::ForeignRow& row) { take_pipeline(OldRow(row)); });
    if (steps_ != nullptr) {
      context_.skip("steps", "its pipeline was not imported", context_.rows_of(*steps_) - seen_steps_);
    }
    if (approvals_ != nullptr) {
      context_.skip("approvals", "its step was not imported", context_.rows_of(*approvals_) - seen_approvals_);
    }
  }

 private:
  void take_pipeline(const OldRow& row) {
    const auto id = context_.new_id("pipelines", OldKind::pipeline, row, pipeline_->id);
    if (!id) return;
    const auto word = row.name(pipeline_->status);
    const auto end = word ? find_old_end(*word) : std::nullopt;
    if (!end) return context_.skip("pipelines", describe_unknown(word));
    const ExecutionEnd whole = execution_end(*end, row.text(pipeline_->error));
    asked_.clear();
    std::vector<OldStep> steps = read_steps(row.value(pipeline_->id), whole.status);
    const std::string name = row.name(pipeline_->name, base::limits::name_bytes).value_or("imported");
    OldExecution execution{.workflow_hash = store_workflow(context_, make_workflow(name, steps)),
                           .origin = ImportContext::origin(pipelines_, *id),
                           .label = {},
                           .status = whole.status,
                           .reason = whole.reason,
                           .inputs = Value::object(),
                           .failed_nodes = 0,
                           .started_at = row.time(pipeline_->started, context_.odd_times),
                           .completed_at = row.time(pipeline_->completed, context_.odd_times)};
    if (const auto prompt = row.text(pipeline_->prompt)) {
      execution.inputs.set(spec::pipeline_prompt, Value::string(*prompt));
    }
    for (const OldStep& step : steps) {
      if (step.node.status == model::NodeStatus::failed) ++execution.failed_nodes;
    }
    const std::int64_t number = insert_execution(context_, execution);
    context_.remember(OldKind::pipeline, *id, number);
    context_.take("pipelines");
    insert_steps(number, steps);
  }

  static model::Workflow make_workflow(const std::string& name, const std::vector<OldStep>& steps) {
    model::Workflow workflow;
    workflow.id = spec::pipeline_workflow_id(name);
    workflow.name = name;
    workflow.entry_point = step_id(0);
    // A workflow needs at least one node.
    if (steps.empty()) workflow.nodes.push_back(make_task_node(step_id(0), std::nullopt));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      model::Node node = make_task_node(step_id(i), steps[i].agent);
      node.description = steps[i].description;
      if (steps[i].node.type == NodeType::human) {
        node.type = NodeType::human;
        node.label = "approval";
        node.task_config.reset();
        node.human_config.emplace().title = steps[i].description.value_or("Go on?");
      }
      workflow.nodes.push_back(std::move(node));
      if (i == 0) continue;
      workflow.edges.push_back({.id = fmt::format("to-{}", step_id(i)),
                                .source = step_id(i - 1),
                                .target = step_id(i),
                                .condition = {},
                                .data_mapping = {},
                                .is_loop_edge = false});
    }
    return workflow;
  }

  std::vector<OldStep> read_steps(const ForeignValue& pipeline, model::ExecutionStatus whole) {
    std::vector<OldStep> steps;
    if (steps_ == nullptr || !step_->pipeline) return steps;
    store::ForeignFile::Selection selection{.column = steps_->columns[*step_->pipeline], .value = pipeline};
    for (const Column column : {step_->order, step_->id}) {
      if (column) selection.order.push_back(steps_->columns[*column]);
    }
    context_.file().scan(*steps_, selection, [&](const store::ForeignRow& row) {
      ++seen_steps_;
      if (steps.size() >= max_steps) return context_.skip("steps", "its pipeline has too many steps");
      if (auto step = read_step(OldRow(row), whole, step_id(steps.size()))) {
        steps.push_back(std::move(*step));
        context_.take("steps");
      }
    });
    return steps;
  }

  std::optional<OldStep> read_step(const OldRow& row, model::ExecutionStatus whole, const std::string& node_id) {
    const auto word = row.name(step_->status);
    const auto end = word ? find_old_end(*word) : std::nullopt;
    if (!end) {
      context_.skip("steps", describe_unknown(word));
      return std::nullopt;
    }
    OldStep step;
    step.agent = row.name(step_->agent);
    step.description = row.text(step_->description);
    const NodeEnd over = node_end(*end, row.text(step_->error), whole);
    OldNode& node = step.node;
    node.node_id = node_id;
    node.status = over.status;
    node.error = over.error;
    // For a step that never started, these columns hold the time when the row was written.
    if (*end != OldEnd::waiting && *end != OldEnd::skipped) {
      node.started_at = row.time(step_->started, context_.odd_times);
      node.completed_at = row.time(step_->completed, context_.odd_times);
    }
    if (step.agent == approval_agent) {
      node.type = NodeType::human;
      step.agent.reset();
      read_approvals(row.value(step_->id), step);
    } else if (const auto output = row.text(step_->output)) {
      node.outputs = Value::object();
      node.outputs->set("text", Value::string(*output));
    }
    return step;
  }

  void read_approvals(const ForeignValue& id, OldStep& step) {
    if (approvals_ == nullptr) return;
    store::ForeignFile::Selection selection{.column = approvals_->columns[*approval_->step], .value = id};
    if (approval_->id) selection.order.push_back(approvals_->columns[*approval_->id]);
    context_.file().scan(*approvals_, selection, [&](const store::ForeignRow& found) {
      ++seen_approvals_;
      const OldRow row(found);
      const auto old_id = context_.new_id("approvals", OldKind::approval, row, approval_->id);
      if (!old_id) return;
      if (!asked_.insert(*old_id).second) return context_.skip("approvals", "another row has the same id");
      const auto word = row.name(approval_->status);
      const auto status = word ? find_old_decision(*word) : std::nullopt;
      if (!status) return context_.skip("approvals", describe_unknown(word));
      if (step.approvals.size() >= max_steps) return context_.skip("approvals", "its step has too many approvals");
      OldApproval approval;
      approval.kind = model::ApprovalKind::human;
      approval.delivery = model::Delivery::node;
      approval.old_id = *old_id;
      approval.question = step.description.value_or("Go on?");
      approval.options = model::default_options();
      approval.status = *status;
      approval.comment = row.text(approval_->comment);
      approval.decided_by = row.name(approval_->decided_by);
      approval.created_at = row.time(approval_->created, context_.odd_times);
      if (!approval.created_at) approval.created_at = step.node.started_at;
      approval.decided_at = row.time(approval_->decided, context_.odd_times);
      if (*status == model::ApprovalStatus::approved) approval.chosen_value = "approve";
      if (*status == model::ApprovalStatus::rejected) approval.chosen_value = "reject";
      step.approvals.push_back(std::move(approval));
    });
  }

  void insert_steps(std::int64_t number, std::vector<OldStep>& steps) {
    if (steps.empty()) {
      OldNode none;
      none.node_id = step_id(0);
      insert_node(context_, number, 0, none);
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      OldNode& node = steps[i].node;
      for (OldApproval& approval : steps[i].approvals) {
        approval.execution = number;
        approval.node = static_cast<std::int64_t>(i);
        approval.node_id = node.node_id;
        node.approval = insert_approval(context_, approval);
        context_.remember(OldKind::approval, approval.old_id, *node.approval);
        context_.take("approvals");
        node.outputs = Value::object();
        if (approval.comment) node.outputs->set("comment", Value::string(*approval.comment));
        if (approval.decided_by) node.outputs->set("decided_by", Value::string(*approval.decided_by));
      }
      insert_node(context_, number, i, node);
    }
  }

  ImportContext& context_;
  const ForeignTable& pipelines_;
  const ForeignTable* steps_;
  const ForeignTable* approvals_;
  std::optional<PipelineColumns> pipeline_;
  std::optional<StepColumns> step_;
  std::optional<ApprovalColumns> approval_;
  // Approvals of this pipeline that are not written yet.
  std::set<std::string> asked_;
  std::int64_t seen_steps_ = 0;
  std::int64_t seen_approvals_ = 0;
};

}  // namespace

void import_pipelines(ImportContext& context) {
  const ForeignTable* pipelines = context.file().find("pipelines");
  if (pipelines == nullptr) pipelines = context.file().find("pipeline");
  const ForeignTable* steps = context.file().find("steps");
  if (steps == nullptr) steps = context.file().find("step");
  if (pipelines != nullptr) return PipelineImport(context, *pipelines, steps).run();
  constexpr std::string_view reason = "the file has no pipelines";
  const ForeignTable* approvals = find_approvals(context.file());
  if (steps != nullptr) context.skip("steps", reason, context.rows_of(*steps));
  if (approvals == nullptr || !has_column(*approvals, "step_id")) return;
  context.skip("approvals", reason, context.rows_of(*approvals));
}

}  // namespace reeve::import
