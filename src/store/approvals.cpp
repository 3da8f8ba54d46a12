#include "store/approvals.h"

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

}  // namespace

std::optional<base::WallTime> read_foreign_time(std::string_view text) {
  if (const auto time = base::parse_time(text)) return time;
  constexpr std::size_t day = 10;
  std::string spelled(text);
  if (spelled.size() > day && spelled[day] == ' ') spelled[day] = 'T';
  if (!spelled.ends_with('Z')) spelled += 'Z';
  return base::parse_time(spelled);
}

ApprovalRow read_approval(const Row& row) {
  ApprovalRow result;
  model::Approval& approval = result.approval;
  approval.approval_id = base::ApprovalId(row.integer(0));
  approval.kind = row.word<model::ApprovalKind>(1);
  approval.tool_run_id = find_id<base::RunId>(row, 2);
  approval.execution_id = find_id<base::ExecutionId>(row, 3);
  result.node = row.find_integer(4);
  approval.node_id = row.find_text(5);
  result.iteration = static_cast<int>(row.find_integer(6).value_or(0));
  approval.agent_id = find_id<base::AgentId>(row, 7);
  approval.tool_name = row.find_text(8);
  approval.tool_ref = row.find_text(9);
  if (!row.is_null(10)) approval.arguments = decode_stored<base::Value>(row.text(10));
  approval.question = row.text(11);
  approval.options = decode_stored<std::vector<model::ApprovalOption>>(row.text(12));
  approval.default_value = row.find_text(13);
  approval.status = row.word<model::ApprovalStatus>(14);
  approval.chosen_value = row.find_text(15);
  approval.comment = row.find_text(16);
  approval.decided_by = row.find_text(17);
  approval.digest = row.find_text(18);
  approval.use = row.word<model::ApprovalUse>(19);
  approval.attempt = static_cast<int>(row.integer(20));
  approval.created_at = row.time(21);
  // A direct SQL update may write the time in any form; it is corrected when the update is settled.
  approval.decided_at = row.is_null(22) ? std::nullopt : read_foreign_time(row.text(22));
  approval.expires_at = row.is_null(23) ? std::nullopt : read_foreign_time(row.text(23));
  result.is_settled = row.integer(24) != 0;
  approval.delivery = row.word<model::Delivery>(25);
  result.prompt = row.find_integer(26);
  approval.secret = row.integer(27) != 0;
  approval.advisory = row.integer(28) != 0;
  approval.answer = row.find_text(29);
  approval.project = find_project(row, 30);
  approval.risk = row.word<model::Risk>(31);
  if (!row.is_null(32)) approval.risk_reasons = decode_stored<std::vector<std::string>>(row.text(32));
  approval.context = row.find_text(33);
  approval.asked_by = row.find_text(34);
  return result;
}

std::optional<ApprovalRow> find_approval(Session& session, base::ApprovalId id) {
  std::optional<ApprovalRow> found;
  session.query(Sql::approval_load, {{"approval", id.number()}}, [&](const Row& row) { found = read_approval(row); });
  return found;
}

base::ApprovalId insert_approval(Session& session, const ApprovalRow& row, const std::string& now) {
  const model::Approval& approval = row.approval;
  const std::optional<std::string> arguments =
      approval.arguments ? std::optional(json::encode(*approval.arguments)) : std::nullopt;
  const std::optional<std::string> expires_at =
      approval.expires_at ? std::optional(base::format_time(*approval.expires_at)) : std::nullopt;
  const std::optional<std::int64_t> iteration = row.node ? std::optional<std::int64_t>(row.iteration) : std::nullopt;
  std::optional<std::string> remind_at;
  const auto created = base::parse_time(now);
  if (created && !approval.expires_at) {
    remind_at = base::format_time(*created + reminder_interval);
  } else if (created && *approval.expires_at > *created) {
    remind_at = base::format_time(*created + (*approval.expires_at - *created) / 2);
  }
  const std::string options = json::encode(json::to_value(approval.options));
  const std::string risk_reasons = json::encode(json::to_value(approval.risk_reasons));
  return base::ApprovalId(session.insert(Sql::approval_insert, "approvals",
                                         {{"kind", row.approval.kind},
                                          {"run", number_of(approval.tool_run_id)},
                                          {"execution", number_of(approval.execution_id)},
                                          {"node", row.node},
                                          {"node_id", approval.node_id},
                                          {"iteration", iteration},
                                          {"agent", number_of(approval.agent_id)},
                                          {"tool_name", approval.tool_name},
                                          {"tool_ref", approval.tool_ref},
                                          {"arguments", arguments},
                                          {"question", approval.question},
                                          {"options", options},
                                          {"default_value", approval.default_value},
                                          {"digest", approval.digest},
                                          {"attempt", approval.attempt},
                                          {"now", now},
                                          {"expires_at", expires_at},
                                          {"delivery", approval.delivery},
                                          {"prompt", row.prompt},
                                          {"secret", std::int64_t{approval.secret}},
                                          {"advisory", std::int64_t{approval.advisory}},
                                          {"remind_at", remind_at},
                                          {"risk", approval.risk},
                                          {"risk_reasons", risk_reasons},
                                          {"context", approval.context},
                                          {"asked_by", approval.asked_by},
                                          {"project", path_of(approval.project)}}));
}

std::vector<model::Approval> list_approvals(Session& session, const ApprovalFilter& filter) {
  std::vector<model::Approval> found;
  const auto take = [&](const Row& row) { found.push_back(read_approval(row).approval); };
  const bool is_pending = filter.statuses == std::vector{model::ApprovalStatus::pending};
  if (is_pending) {
    const std::int64_t after = filter.after ? filter.after->number() : 0;
    if (filter.run) {
      session.query(Sql::approvals_pending_of_run,
                    {{"run", filter.run->number()}, {"after", after}, {"most", filter.most}}, take);
    } else {
      session.query(Sql::approvals_pending, {{"after", after}, {"project", filter.project}, {"most", filter.most}},
                    take);
    }
    return found;
  }
  // ",approved,rejected,"
  std::string statuses;
  for (const model::ApprovalStatus status : filter.statuses) {
    statuses += statuses.empty() ? "," : "";
    statuses += base::spell(status);
    statuses += ',';
  }
  const std::int64_t before = filter.after ? filter.after->number() : std::numeric_limits<std::int64_t>::max();
  if (filter.run) {
    session.query(Sql::approvals_list_of_run,
                  {{"run", filter.run->number()}, {"before", before}, {"statuses", statuses}, {"most", filter.most}},
                  take);
  } else {
    session.query(Sql::approvals_list,
                  {{"before", before}, {"statuses", statuses}, {"project", filter.project}, {"most", filter.most}},
                  take);
  }
  return found;
}

}  // namespace reeve::store
