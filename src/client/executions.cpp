#include "client/executions.h"

#include "base/quantity.h"
#include "base/text.h"
#include "client/pages.h"

namespace reeve::client {

namespace {

using base::Value;

std::string path_of(base::ExecutionId id, std::string_view rest = {}) {
  return fmt::format("/api/executions/{}{}", id.text(), rest);
}

ExecutionRecord make_record(Value wire) {
  auto execution = decode<model::Execution>(wire);
  return {.wire = std::move(wire), .execution = std::move(execution)};
}

// Nothing if it is missing or null.
template <class T>
std::optional<T> find_member(const Value& document, std::string_view key) {
  const Value* found = document.find(key);
  return found != nullptr && !found->is_null() ? std::optional(decode<T>(*found)) : std::nullopt;
}

template <class T>
std::vector<T> decode_list(const Value& document, std::string_view key) {
  const Value* found = document.find(key);
  if (found == nullptr) throw_bad_answer(fmt::format("no `{}`", key));
  return decode<std::vector<T>>(*found);
}

}  // namespace

StartedExecution create_execution(Daemon& daemon, const Value& request) {
  StartedExecution started{.record = make_record(daemon.post("/api/executions?outputs=0", request)), .dirty = {}};
  if (started.record.wire.find("dirty") != nullptr) {
    started.dirty = decode_list<std::string>(started.record.wire, "dirty");
  }
  return started;
}

ExecutionRecord get_execution(Daemon& daemon, base::ExecutionId id, NodeText text) {
  return make_record(daemon.get(path_of(id, text == NodeText::brief ? "?outputs=0" : "")));
}

std::vector<ExecutionRecord> list_executions(Daemon& daemon, const ExecutionSelection& selection, std::size_t limit) {
  std::string question = "/api/executions?";
  if (!selection.statuses.empty()) question += fmt::format("status={}&", base::join(selection.statuses, ","));
  if (selection.label) question += fmt::format("label={}&", encode_part(*selection.label));
  if (selection.workflow) question += fmt::format("workflow={}&", encode_part(*selection.workflow));
  if (selection.project) question += fmt::format("project={}&", encode_part(*selection.project));
  if (!selection.with_parts) question += "parts=0&";
  std::vector<ExecutionRecord> records;
  read_pages(daemon, question, limit, [&](const Value& item) { records.push_back(make_record(item)); });
  return records;
}

ExecutionRecord cancel_execution(Daemon& daemon, base::ExecutionId id, const std::optional<std::string>& reason) {
  Value body = Value::object();
  if (reason) body.set("reason", Value::string(*reason));
  return make_record(daemon.post(path_of(id, "/cancel"), body));
}

void dismiss_execution(Daemon& daemon, base::ExecutionId id) { daemon.post(path_of(id, "/seen"), Value::object()); }

ExecutionRecord pause_execution(Daemon& daemon, base::ExecutionId id) {
  return make_record(daemon.post(path_of(id, "/pause"), Value::object()));
}

ExecutionRecord resume_execution(Daemon& daemon, base::ExecutionId id) {
  return make_record(daemon.post(path_of(id, "/resume"), Value::object()));
}

ExecutionRecord retry_execution(Daemon& daemon, base::ExecutionId id, const Value& correction) {
  return make_record(daemon.post(path_of(id, "/retry"), correction));
}

ExecutionRecord wait_execution(Daemon& daemon, base::ExecutionId id, Until until, base::Milliseconds time) {
  return make_record(daemon.get(path_of(id, fmt::format("/wait?timeout={}&through_approvals={}",
                                                        base::format_duration(time), until == Until::final ? 1 : 0))));
}

ExecutionHistory get_history(Daemon& daemon, base::ExecutionId id) {
  ExecutionHistory history{.wire = daemon.get(path_of(id, "/history")), .iterations = {}, .runs = {}, .approvals = {}};
  history.iterations = decode_list<model::NodeExecution>(history.wire, "iterations");
  history.runs = decode_list<model::Run>(history.wire, "runs");
  history.approvals = decode_list<model::Approval>(history.wire, "approvals");
  return history;
}

ExecutionDiff get_diff(Daemon& daemon, base::ExecutionId id) {
  ExecutionDiff found;
  found.wire = daemon.get(path_of(id, "/diff"));
  found.branch = find_member<std::string>(found.wire, "branch");
  found.base_commit = find_member<std::string>(found.wire, "base_commit");
  found.diff = find_member<std::string>(found.wire, "diff").value_or("");
  found.is_cut = find_member<bool>(found.wire, "is_cut").value_or(false);
  return found;
}

AppliedExecution apply_execution(Daemon& daemon, base::ExecutionId id) {
  AppliedExecution applied;
  applied.wire = daemon.post(path_of(id, "/apply"), Value::object());
  applied.outcome = find_member<std::string>(applied.wire, "outcome").value_or("");
  applied.message = find_member<std::string>(applied.wire, "message").value_or("");
  const auto approval = find_member<std::string>(applied.wire, "approval_id");
  if (approval) applied.approval_id = base::ApprovalId::parse(*approval);
  return applied;
}

ExecutionWorkflow get_workflow(Daemon& daemon, base::ExecutionId id) {
  const Value document = daemon.get(path_of(id, "/workflow"));
  const Value* hash = document.find("content_hash");
  const Value* workflow = document.find("workflow");
  if (hash == nullptr || workflow == nullptr) throw_bad_answer("no workflow");
  return {decode<std::string>(*hash), decode<model::Workflow>(*workflow)};
}

}  // namespace reeve::client
