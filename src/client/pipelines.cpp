#include "client/pipelines.h"

#include "base/text.h"
#include "client/pages.h"

namespace reeve::client {

namespace {

using base::Value;

std::string path_of(base::ExecutionId id, std::string_view rest = {}) {
  return fmt::format("/api/pipelines/{}{}", id.text(), rest);
}

PipelineRecord make_record(Value wire) {
  auto pipeline = decode<wire::PipelineRecord>(wire);
  return {.wire = std::move(wire), .pipeline = std::move(pipeline)};
}

Value body_of(const std::optional<std::string>& comment) {
  Value body = Value::object();
  if (comment) body.set("comment", Value::string(*comment));
  return body;
}

}  // namespace

StartedExecution create_pipeline(Daemon& daemon, const Value& request) {
  const PipelineRecord created = make_record(daemon.post("/api/pipelines", request));
  StartedExecution started{.record = get_execution(daemon, created.pipeline.pipeline_id, NodeText::brief), .dirty = {}};
  if (const Value* dirty = created.wire.find("dirty")) started.dirty = decode<std::vector<std::string>>(*dirty);
  return started;
}

PipelineRecord get_pipeline(Daemon& daemon, base::ExecutionId id) { return make_record(daemon.get(path_of(id))); }

std::vector<PipelineRecord> list_pipelines(Daemon& daemon, const PipelineSelection& selection, std::size_t limit) {
  std::string question = "/api/pipelines?";
  if (!selection.statuses.empty()) question += fmt::format("status={}&", base::join(selection.statuses, ","));
  if (selection.pipeline) question += fmt::format("pipeline={}&", encode_part(*selection.pipeline));
  if (selection.project) question += fmt::format("project={}&", encode_part(*selection.project));
  std::vector<PipelineRecord> records;
  read_pages(daemon, question, limit, [&](const Value& item) { records.push_back(make_record(item)); });
  return records;
}

PipelineRecord decide_pipeline(Daemon& daemon, base::ExecutionId id, Verdict::Word word,
                               const std::optional<std::string>& comment) {
  return make_record(
      daemon.post(path_of(id, word == Verdict::Word::approve ? "/approve" : "/reject"), body_of(comment)));
}

PipelineRecord abort_pipeline(Daemon& daemon, base::ExecutionId id, const std::optional<std::string>& comment) {
  return make_record(daemon.post(path_of(id, "/abort"), body_of(comment)));
}

}  // namespace reeve::client
