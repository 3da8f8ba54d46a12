#include "engine/correction.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/inputs.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "ledger/executions.h"

// Correcting a failed execution before it is retried (GRF-14).
namespace reeve::ledger {

using base::Error;
using base::ErrorCode;
using base::Value;
using graph::NodeIndex;
using store::Sql;

namespace {

[[noreturn]] void refuse(base::ExecutionId execution, const std::string& why, std::string fix = {}) {
  throw Error(ErrorCode::execution_not_correctable,
              fmt::format("{} cannot continue with this: {}. Nothing changed.", execution.text(), why),
              fix.empty() ? "start a new execution: reeve flow run" : std::move(fix));
}

// The inputs with the corrected ones. Only the entry node receives them, so they are fixed once it has completed.
Value correct_seeds(const StoredExecution& view, const model::Workflow& workflow,
                    const WorkflowCorrection& correction) {
  const base::ExecutionId id(view.number());
  const NodeIndex entry = view.workflow().entry();
  const bool is_used = view.node(entry).status == model::NodeStatus::completed;
  if (is_used && correction.inputs) {
    refuse(id,
           fmt::format("its first node {} has completed and used the inputs",
                       base::quoted(view.workflow().graph().node(entry).id)),
           "correct the nodes that failed: reeve flow retry --with FILE");
  }
  if (is_used) return view.seeds();
  const Value seeds = correction.inputs ? engine::with_fields(view.seeds(), *correction.inputs) : view.seeds();
  if (!workflow.inputs) return seeds;
  auto checked = model::check_inputs(*workflow.inputs, seeds, model::Undeclared::refuse);
  if (checked) return std::move(*checked);
  std::vector<std::string> mistakes;
  for (const model::InputMistake& mistake : checked.error()) mistakes.push_back(mistake.message);
  throw Error(ErrorCode::flow_invalid_inputs, base::join(mistakes, "; "), "--input NAME=TEXT corrects an input");
}

// {name: hash} with the new names. What the execution started with stays, because children may have begun with it.
std::string add_subgraphs(Transaction& transaction, const StoredExecution& view, const WorkflowCorrection& correction) {
  Value known = json::parse(view.subgraphs()).value_or(Value::object());
  for (const auto& [name, subgraph] : correction.subgraphs) {
    if (known.find(name) != nullptr) continue;
    Workflows::put(transaction.session(), subgraph.hash, subgraph.workflow, transaction.now_text());
    known.set(name, Value::string(subgraph.hash));
  }
  return json::encode(known);
}

// `config` with the record of this correction.
std::string record_correction(Transaction& transaction, const StoredExecution& view, const std::string& hash,
                              const WorkflowCorrection& correction) {
  constexpr std::size_t max_kept = 100;
  Value config = Value::object();
  transaction.session().query(Sql::execution_origin, {{"execution", view.number()}}, [&](const store::Row& row) {
    if (!row.is_null(3)) config = json::parse(row.text(3)).value_or(Value::object());
  });
  Value::Array corrections;
  if (const Value* known = config.find("corrections"); known != nullptr && known->as_array() != nullptr) {
    corrections = *known->as_array();
  }
  if (corrections.size() >= max_kept) corrections.erase(corrections.begin());
  Value record = Value::object();
  record.set("at", Value::string(transaction.now_text()));
  record.set("by", Value::string(correction.by));
  record.set("from", Value::string(view.workflow_hash()));
  record.set("to", Value::string(hash));
  Value::Array names;
  if (correction.inputs && correction.inputs->as_object() != nullptr) {
    for (const base::Member& member : *correction.inputs->as_object()) names.push_back(Value::string(member.key));
  }
  record.set("inputs", Value::array(std::move(names)));
  corrections.push_back(std::move(record));
  std::erase_if(*config.as_object(), [](const base::Member& member) { return member.key == "corrections"; });
  config.set("corrections", Value::array(std::move(corrections)));
  return json::encode(config);
}

std::string list_new_nodes(const model::Workflow& workflow, std::size_t known) {
  Value::Array nodes;
  for (std::size_t i = known; i < workflow.nodes.size(); ++i) {
    const model::Node& node = workflow.nodes[i];
    nodes.push_back(Value::array({Value::string(node.id), Value::string(base::spell(node.type))}));
  }
  return json::encode(Value::array(std::move(nodes)));
}

// A node may have become an exit, or no longer be one.
std::int64_t count_exits(const StoredExecution& view, const model::Workflow& workflow) {
  const engine::CompiledWorkflow compiled(workflow);
  std::int64_t count = 0;
  for (NodeIndex node = 0; node < view.workflow().graph().node_count(); ++node) {
    const bool is_completed = view.node(node).status == model::NodeStatus::completed;
    if (is_completed && compiled.is_exit(node)) ++count;
  }
  return count;
}

}  // namespace

engine::RetryRequested Executions::correct(Transaction& transaction, base::ExecutionId execution,
                                           const WorkflowCorrection& correction) {
  StoredExecution* view = open(transaction, execution.number());
  if (view == nullptr) {
    throw Error(ErrorCode::execution_not_found, fmt::format("there is no execution {}", execution.text()));
  }
  if (view->status() != model::ExecutionStatus::failed || view->tally().failed == 0) {
    throw Error(ErrorCode::execution_not_failed, fmt::format("{} has no failed node to retry", execution.text()),
                "only a failed execution can be corrected and retried");
  }
  const model::Workflow& wanted = correction.workflow ? *correction.workflow : view->workflow().workflow();
  const Value seeds = correct_seeds(*view, wanted, correction);
  auto plan = engine::correct(*view, wanted, seeds == view->seeds() ? engine::Seeds::same : engine::Seeds::changed);
  if (!plan) refuse(execution, base::join(plan.error(), "; "));
  const std::string hash = correction.hash(plan->workflow);
  const std::size_t known = view->workflow().graph().node_count();
  Workflows::put(transaction.session(), hash, plan->workflow, transaction.now_text());
  transaction.session().write(Sql::execution_correct,
                              {{"workflow_hash", hash},
                               {"subgraphs", add_subgraphs(transaction, *view, correction)},
                               {"inputs", json::encode(seeds)},
                               {"config", record_correction(transaction, *view, hash, correction)},
                               {"exits_completed", count_exits(*view, plan->workflow)},
                               {"execution", view->number()},
                               {"version", view->version()}});
  if (plan->workflow.nodes.size() > known) {
    transaction.session().write_any(Sql::nodes_append, {{"execution", view->number()},
                                                        {"first", static_cast<std::int64_t>(known)},
                                                        {"nodes", list_new_nodes(plan->workflow, known)}});
  }
  // Read again with the new version.
  seen_.erase(execution.number());
  forget(execution.number());
  return {.is_part = false, .is_corrected = true, .fresh_inputs = std::move(plan->fresh_inputs)};
}

}  // namespace reeve::ledger
