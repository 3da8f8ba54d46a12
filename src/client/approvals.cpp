#include "client/approvals.h"

#include "base/quantity.h"
#include "base/text.h"
#include "client/pages.h"
#include "client/refusal.h"
#include "json/describe.h"

namespace reeve::client {

namespace {

using base::Value;

ApprovalRecord make_record(Value wire) {
  auto approval = decode<model::Approval>(wire);
  return {.wire = std::move(wire), .approval = std::move(approval)};
}

std::string path_of(base::ApprovalId id) { return fmt::format("/api/approvals/{}", id.text()); }

struct Tagged {
  model::Approval approval;
  std::string tag;
};
Tagged get_tagged(Daemon& daemon, base::ApprovalId id) {
  auto read = daemon.get_tagged(path_of(id));
  return {decode<model::Approval>(read.document), std::move(read.tag)};
}

ApprovalRecord post(Daemon& daemon, base::ApprovalId id, const Verdict& verdict, const Daemon::PostTerms& terms) {
  Value body = Value::object();
  if (verdict.choice) body.set("choice", Value::string(*verdict.choice));
  if (verdict.answer) body.set("answer", Value::string(*verdict.answer));
  if (verdict.comment) body.set("comment", Value::string(*verdict.comment));
  if (verdict.secret) body.set("secret", Value::string(*verdict.secret));
  if (verdict.always) body.set("always", json::to_value(*verdict.always));
  const std::string_view word = verdict.word == Verdict::Word::approve ? "approve" : "reject";
  return make_record(daemon.post(fmt::format("{}/{}", path_of(id), word), body, terms));
}

base::Error has_changed(base::ApprovalId id) {
  return {base::ErrorCode::api_precondition_failed,
          fmt::format("{} has changed since it was shown; nothing was decided", id.text()),
          fmt::format("read it again: reeve show {}", id.text())};
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

ApprovalRecord get_approval(Daemon& daemon, base::ApprovalId id) { return make_record(daemon.get(path_of(id))); }

ApprovalRecord decide(Daemon& daemon, base::ApprovalId id, const Verdict& verdict) {
  return post(daemon, id, verdict, {.key = make_key(), .tag = {}});
}

ApprovalRecord decide_shown(Daemon& daemon, const model::Approval& shown, const Verdict& verdict) {
  const base::ApprovalId id = shown.approval_id;
  const auto is_open = [](const model::Approval& approval) {
    return approval.status == model::ApprovalStatus::pending;
  };
  const std::string key = make_key();
  const Tagged now = get_tagged(daemon, id);
  if (is_open(now.approval)) {
    if (now.approval != shown) throw has_changed(id);
    try {
      return post(daemon, id, verdict, {.key = key, .tag = now.tag});
    } catch (const Refusal& refusal) {
      if (!refusal.is(base::ErrorCode::api_precondition_failed)) throw;
    }
    if (is_open(get_tagged(daemon, id).approval)) throw has_changed(id);
  }
  // Decided meanwhile. By this request, if the daemon died before it answered: with the same key, it answers now.
  // Otherwise the refusal says who decided.
  return post(daemon, id, verdict, {.key = key, .tag = {}});
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
