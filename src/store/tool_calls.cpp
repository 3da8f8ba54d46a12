#include "store/tool_calls.h"

#include <limits>

#include "json/encode.h"
#include "store/stored_json.h"
#include "store/stored_project.h"

namespace reeve::store {

namespace {

template <class Id>
std::optional<Id> find_id(const Row& row, int column) {
  const auto number = row.find_integer(column);
  return number ? std::optional<Id>(Id(*number)) : std::nullopt;
}

template <class E>
std::optional<E> find_word(const Row& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.word<E>(column));
}

std::optional<std::string> text_of(const std::optional<base::WallTime>& time) {
  return time ? std::optional(base::format_time(*time)) : std::nullopt;
}

template <class Id>
std::int64_t bound_of(const std::optional<Id>& before) {
  return before ? before->number() : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

CallRow read_call(const Row& row) {
  CallRow result;
  model::ToolCall& call = result.call;
  call.call_id = base::CallId(row.integer(0));
  call.tool_run_id = base::RunId(row.integer(1));
  call.attempt = static_cast<int>(row.integer(2));
  call.session_id = row.find_text(3);
  call.native_id = row.text(4);
  call.parent_native_id = row.find_text(5);
  call.native_tool = row.text(6);
  call.tool = row.text(7);
  call.arguments = decode_stored<base::Value>(row.text(8));
  call.arguments_digest = row.text(9);
  call.cwd = row.text(10);
  call.decision = row.word<model::CallDecision>(11);
  call.rule = row.text(12);
  call.reason = row.find_text(13);
  call.approval_id = find_id<base::ApprovalId>(row, 14);
  call.grant_id = find_id<base::GrantId>(row, 15);
  call.decided_by = row.find_text(16);
  call.answer = find_word<model::CallDecision>(row, 17);
  call.asked_at = row.time(18);
  call.answered_at = row.find_time(19);
  call.outcome = find_word<model::CallOutcome>(row, 20);
  call.result_digest = row.find_text(21);
  call.result_bytes = row.find_integer(22);
  call.duration_ms = row.find_integer(23);
  call.channel = row.word<model::CallChannel>(24);
  call.project = find_project(row, 25);
  result.may_defer = row.integer(26) != 0;
  result.is_hosted = row.integer(27) != 0;
  result.begun_at = row.find_time(28);
  result.result = row.find_text(29);
  result.child_run = find_id<base::RunId>(row, 30);
  if (const auto attempt = row.find_integer(31)) result.taken_attempt = static_cast<int>(*attempt);
  return result;
}

std::optional<CallRow> find_call(Session& session, base::CallId id) {
  std::optional<CallRow> found;
  session.query(Sql::call_load, {{"call", id.number()}}, [&](const Row& row) { found = read_call(row); });
  return found;
}

std::optional<base::CallId> find_call_named(Session& session, base::RunId run, const std::string& name) {
  if (const auto id = base::CallId::parse(name)) {
    const auto row = find_call(session, *id);
    if (row && row->call.tool_run_id == run) return id;
  }
  std::optional<base::CallId> found;
  session.query(Sql::call_named, {{"run", run.number()}, {"native_id", name}},
                [&](const Row& row) { found = base::CallId(row.integer(0)); });
  return found;
}

base::CallId insert_call(Session& session, const CallRow& row, std::int64_t ordinal) {
  const model::ToolCall& call = row.call;
  const std::string arguments = json::encode(call.arguments);
  const std::string asked_at = base::format_time(call.asked_at);
  const auto answered_at = text_of(call.answered_at);
  const auto project = path_of(call.project);
  return base::CallId(session.insert(Sql::call_insert, "tool_calls",
                                     {{"run", call.tool_run_id.number()},
                                      {"ordinal", ordinal},
                                      {"attempt", call.attempt},
                                      {"session_id", call.session_id},
                                      {"native_id", call.native_id},
                                      {"parent_native_id", call.parent_native_id},
                                      {"native_tool", call.native_tool},
                                      {"tool", call.tool},
                                      {"arguments", arguments},
                                      {"digest", call.arguments_digest},
                                      {"cwd", call.cwd},
                                      {"decision", call.decision},
                                      {"rule", call.rule},
                                      {"reason", call.reason},
                                      {"approval", number_of(call.approval_id)},
                                      {"grant", number_of(call.grant_id)},
                                      {"decided_by", call.decided_by},
                                      {"answer", call.answer},
                                      {"now", asked_at},
                                      {"answered_at", answered_at},
                                      {"channel", call.channel},
                                      {"may_defer", std::int64_t{row.may_defer}},
                                      {"hosted", std::int64_t{row.is_hosted}},
                                      {"project", project}}));
}

std::vector<model::ToolCall> list_calls(Session& session, const CallFilter& filter) {
  std::vector<model::ToolCall> found;
  const auto take = [&](const Row& row) { found.push_back(read_call(row).call); };
  const std::int64_t before = bound_of(filter.before);
  if (filter.run && filter.after) {
    session.query(
        Sql::calls_list_of_run_after,
        {{"run", filter.run->number()}, {"after", filter.after->number()}, {"before", before}, {"most", filter.most}},
        take);
  } else if (filter.run) {
    session.query(Sql::calls_list_of_run, {{"run", filter.run->number()}, {"before", before}, {"most", filter.most}},
                  take);
  } else if (filter.after) {
    session.query(
        Sql::calls_list_after,
        {{"after", filter.after->number()}, {"before", before}, {"project", filter.project}, {"most", filter.most}},
        take);
  } else {
    session.query(Sql::calls_list, {{"before", before}, {"project", filter.project}, {"most", filter.most}}, take);
  }
  return found;
}

model::Grant read_grant(const Row& row) {
  model::Grant grant;
  grant.grant_id = base::GrantId(row.integer(0));
  grant.scope = row.word<model::GrantScope>(1);
  grant.project = find_project(row, 2);
  grant.tool_run_id = find_id<base::RunId>(row, 3);
  grant.execution_id = find_id<base::ExecutionId>(row, 4);
  grant.agent = row.text(5);
  grant.tool = row.text(6);
  grant.match = row.word<model::GrantMatch>(7);
  grant.digest = row.find_text(8);
  grant.program = decode_stored<std::vector<std::string>>(row.text(9));
  grant.path = row.find_text(10);
  grant.describes = row.text(11);
  grant.approval_id = base::ApprovalId(row.integer(12));
  grant.created_by = row.text(13);
  grant.created_at = row.time(14);
  grant.expires_at = row.time(15);
  grant.revoked_by = row.find_text(16);
  grant.revoked_at = row.find_time(17);
  grant.uses = row.integer(18);
  grant.last_used_at = row.find_time(19);
  return grant;
}

std::optional<model::Grant> find_grant(Session& session, base::GrantId id) {
  std::optional<model::Grant> found;
  session.query(Sql::grant_load, {{"grant", id.number()}}, [&](const Row& row) { found = read_grant(row); });
  return found;
}

base::GrantId insert_grant(Session& session, const model::Grant& grant) {
  const std::string program = json::encode(json::to_value(grant.program));
  const std::string created_at = base::format_time(grant.created_at);
  const std::string expires_at = base::format_time(grant.expires_at);
  const auto project = path_of(grant.project);
  return base::GrantId(session.insert(Sql::grant_insert, "grants",
                                      {{"scope", grant.scope},
                                       {"project", project},
                                       {"run", number_of(grant.tool_run_id)},
                                       {"execution", number_of(grant.execution_id)},
                                       {"agent", grant.agent},
                                       {"tool", grant.tool},
                                       {"match_by", grant.match},
                                       {"digest", grant.digest},
                                       {"program", program},
                                       {"path", grant.path},
                                       {"describes", grant.describes},
                                       {"approval", grant.approval_id.number()},
                                       {"created_by", grant.created_by},
                                       {"now", created_at},
                                       {"expires_at", expires_at}}));
}

std::vector<model::Grant> list_grants(Session& session, const GrantFilter& filter, base::WallTime now) {
  std::vector<model::Grant> found;
  session.query(Sql::grants_list,
                {{"before", bound_of(filter.before)},
                 {"with_ended", filter.with_ended ? 1 : 0},
                 {"now", base::format_time(now)},
                 {"project", filter.project},
                 {"most", filter.most}},
                [&](const Row& row) { found.push_back(read_grant(row)); });
  return found;
}

}  // namespace reeve::store
