#include "ledger/workflows.h"

#include <fmt/format.h>

#include "base/error.h"
#include "json/encode.h"
#include "store/stored_json.h"

namespace reeve::ledger {

using store::Row;
using store::Sql;

std::shared_ptr<const LoadedWorkflow> Workflows::get(store::Session& session, const std::string& hash) {
  if (const auto found = by_hash_.find(hash); found != by_hash_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return found->second->workflow;
  }
  std::string definition;
  session.query(Sql::workflow_find, {{"hash", hash}}, [&](const Row& row) { definition = row.text(0); });
  if (definition.empty()) {
    throw base::Error(base::ErrorCode::store_damaged, fmt::format("there is no stored workflow {}", hash));
  }
  auto workflow = store::decode_stored<model::Workflow>(definition);
  recent_.push_front({hash, std::make_shared<const LoadedWorkflow>(std::move(workflow))});
  by_hash_.emplace(hash, recent_.begin());
  if (recent_.size() > max_kept) {
    by_hash_.erase(recent_.back().hash);
    recent_.pop_back();
  }
  return recent_.front().workflow;
}

void Workflows::put(store::Session& session, const std::string& hash, const model::Workflow& workflow,
                    const std::string& now) {
  session.write_any(Sql::workflow_insert, {{"hash", hash},
                                           {"workflow_id", workflow.id},
                                           {"name", workflow.name},
                                           {"version", workflow.version},
                                           {"definition", json::encode(json::to_value(workflow, json::Defaults::omit))},
                                           {"now", now}});
}

}  // namespace reeve::ledger
