#include "ledger/standing_grants.h"

#include <fmt/format.h>

#include "base/error.h"
#include "json/describe.h"
#include "store/stored_project.h"

namespace reeve::ledger {

using base::Value;
using store::Row;
using store::Sql;

namespace {

// Standing grants for one tool of one agent: all of them are compared with each call.
constexpr std::int64_t max_standing = 1'000;

Value describe_grant(const model::Grant& grant) {
  Value data = Value::object();
  data.set("grant_id", Value::string(grant.grant_id.text()));
  data.set("approval_id", Value::string(grant.approval_id.text()));
  data.set("scope", Value::string(base::spell(grant.scope)));
  data.set("tool_run_id", json::to_value(grant.tool_run_id));
  data.set("execution_id", json::to_value(grant.execution_id));
  data.set("project", json::to_value(store::path_of(grant.project)));
  data.set("agent", Value::string(grant.agent));
  data.set("tool", Value::string(grant.tool));
  data.set("match", Value::string(base::spell(grant.match)));
  data.set("digest", json::to_value(grant.digest));
  data.set("program", json::to_value(grant.program));
  data.set("path", json::to_value(grant.path));
  data.set("describes", Value::string(grant.describes));
  data.set("expires_at", json::to_value(grant.expires_at));
  return data;
}

}  // namespace

model::Grant create_grant(Transaction& transaction, model::Grant grant) {
  const std::int64_t standing = transaction.session().query_number(
      Sql::grants_count, {{"agent", grant.agent}, {"tool", grant.tool}, {"now", transaction.now_text()}});
  if (standing >= max_standing) {
    throw base::Error(base::ErrorCode::grant_refused,
                      fmt::format("{} grants stand for {} of {}", standing, grant.tool, grant.agent),
                      "revoke some of them first: `reeve policy grants` lists them");
  }
  grant.created_at = transaction.now();
  grant.revoked_by.reset();
  grant.revoked_at.reset();
  grant.uses = 0;
  grant.last_used_at.reset();
  grant.grant_id = store::insert_grant(transaction.session(), grant);
  transaction.record(model::AuditKind::grant_created, grant.created_by, describe_grant(grant));
  return grant;
}

std::optional<model::Grant> revoke_grant(Transaction& transaction, base::GrantId id, const std::string& by) {
  auto grant = store::find_grant(transaction.session(), id);
  if (!grant || grant->revoked_at) return grant;
  transaction.session().write(Sql::grant_revoke, {{"by", by}, {"now", transaction.now_text()}, {"grant", id.number()}});
  grant->revoked_by = by;
  grant->revoked_at = transaction.now();
  transaction.record(model::AuditKind::grant_revoked, by, describe_grant(*grant));
  return grant;
}

std::vector<model::Grant> find_standing(Transaction& transaction, const model::Run& run, const std::string& agent,
                                        const std::string& tool) {
  std::vector<model::Grant> found;
  const std::optional<std::int64_t> execution =
      run.execution_id ? std::optional(run.execution_id->number()) : std::nullopt;
  const auto project = store::path_of(run.project);
  transaction.session().query(Sql::grants_standing,
                              {{"agent", agent},
                               {"tool", tool},
                               {"now", transaction.now_text()},
                               {"run", run.tool_run_id.number()},
                               {"execution", execution},
                               {"project", project},
                               {"most", max_standing}},
                              [&](const Row& row) { found.push_back(store::read_grant(row)); });
  return found;
}

void use_standing(Transaction& transaction, base::GrantId id) {
  transaction.session().write_any(Sql::grant_used, {{"now", transaction.now_text()}, {"grant", id.number()}});
}

}  // namespace reeve::ledger
