#include "client/approvals.h"

#include "base/quantity.h"
#include "base/text.h"
#include "client/pages.h"

namespace reeve::client {

namespace {

using base::Value;

ApprovalRecord make_record(Value wire) {
  auto approval = decode<model::Approval>(wire);
  return {.wire = std::move(wire), .approval = std::move(approval)};
}

}  // namespace

std::vector<ApprovalRecord> list_approvals(Daemon& daemon, const ApprovalSelection& selection, std::size_t limit) {
  std::string target = "/api/approvals?";
  if (selection.all) target += "include_all=true&";
  if (!selection.statuses.empty()) target += fmt::format("status={}&", base::join(selection.statuses, ","));
  if (selection.run) target += fmt::format("run={}&", selection.run->text());
  if (selection.project) target += fmt::format("project={}&", encode_part(*selection.project));
  std::vector<ApprovalRecord> records;
  read_pages(daemon, target, limit, [&](const Value& item) { records.push_back(make_record(item)); });
  return records;
}

ApprovalRecord get_approval(Daemon& daemon, base::ApprovalId id) {
  return make_record(daemon.get(fmt::format("/api/approvals/{}", id.text())));
}

ApprovalRecord decide(Daemon& daemon, base::ApprovalId id, const Verdict& verdict) {
  Value body = Value::object();
  if (verdict.choice) body.set("choice", Value::string(*verdict.choice));
  if (verdict.answer) body.set("answer", Value::string(*verdict.answer));
  if (verdict.comment) body.set("comment", Value::string(*verdict.comment));
  if (verdict.secret) body.set("secret", Value::string(*verdict.secret));
  const std::string_view word = verdict.word == Verdict::Word::approve ? "approve" : "reject";
  return make_record(daemon.post(fmt::format("/api/approvals/{}/{}", id.text(), word), body));
}

ApprovalRecord wait_approval(Daemon& daemon, const std::string& name, base::Milliseconds time) {
  return make_record(
      daemon.get(fmt::format("/api/approvals/{}/wait?timeout={}", encode_part(name), base::format_duration(time))));
}

std::vector<Value> list_audit(Daemon& daemon, std::int64_t since, std::size_t limit) {
  std::vector<Value> entries;
  read_pages(daemon, fmt::format("/api/audit?since={}&", since), limit,
             [&](const Value& item) { entries.push_back(item); });
  return entries;
}

Value verify_audit(Daemon& daemon) { return daemon.get("/api/audit/verify"); }

}  // namespace reeve::client
