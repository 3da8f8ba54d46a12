#include "cli/live/workflow_record.h"

#include "graph/summary.h"
#include "json/describe.h"
#include "wire/problem.h"

namespace reeve::cli {

base::Value workflow_record(const spec::WorkflowFile& file, const graph::Graph& graph) {
  using base::Value;
  const model::Workflow& workflow = file.workflow;
  Value record = Value::object();
  record.set("workflow_id", Value::string(workflow.id));
  record.set("workflow_name", Value::string(workflow.name));
  record.set("version", Value::string(workflow.version));
  record.set("content_hash", Value::string(file.content_hash));
  record.set("entry_point", Value::string(workflow.entry_point));
  record.set("inputs", json::to_value(workflow.inputs));
  record.set("nodes", Value::integer(static_cast<std::int64_t>(workflow.nodes.size())));
  record.set("edges", Value::integer(static_cast<std::int64_t>(workflow.edges.size())));
  Value analysis = json::to_value(graph::summarize(graph));
  for (base::Member& member : *analysis.as_object()) record.set(member.key, std::move(member.value));
  record.set("warnings", wire::problem_list(file.warnings));
  return record;
}

}  // namespace reeve::cli
