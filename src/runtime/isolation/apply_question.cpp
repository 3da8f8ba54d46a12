#include "runtime/isolation/apply_question.h"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "json/describe.h"
#include "ledger/approvals.h"
#include "ledger/risk.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/isolation/patch_ledger.h"
#include "store/approvals.h"

namespace reeve::runtime {

using base::Value;
using git::Repository;
using Applied = Isolation::Applied;
using ledger::Transaction;
using model::PatchState;
using store::PatchRow;

namespace {

constexpr std::size_t max_diff = std::size_t{64} << 10U;
constexpr std::size_t max_named = 10;

// A question about the branch at this commit: APR-10, another commit needs another question.
store::ApprovalRow make_question(base::ExecutionId root, const std::string& tip, const Repository::Diff& diff,
                                 const std::vector<std::string>& sensitive, const std::vector<PatchRow>& patches) {
  store::ApprovalRow row;
  model::Approval& approval = row.approval;
  approval.execution_id = root;
  approval.delivery = model::Delivery::apply;
  approval.digest = "git:" + tip;
  approval.question =
      fmt::format("Apply the changes of {} to your checkout ({})?", root.text(), describe_size(diff.files));
  if (!sensitive.empty()) {
    std::vector<std::string> shown;
    for (const std::string& path : sensitive) shown.push_back(base::visible(path));
    if (shown.size() > max_named) shown.resize(max_named);
    approval.question += fmt::format(" It changes files that control agents or Reeve: {}{}", base::join(shown, ", "),
                                     sensitive.size() > max_named ? ", …" : "");
  }
  approval.options = {{.value = "apply", .label = "Apply it", .approves = true},
                      {.value = "leave", .label = "Leave it on the branch " + branch_name(root), .approves = false}};
  Value arguments = Value::object();
  arguments.set("branch", Value::string(branch_name(root)));
  arguments.set("commit", Value::string(tip));
  Value::Array ids;
  for (const PatchRow& one : patches) ids.push_back(Value::string(one.patch.patch_id.text()));
  arguments.set("patches", Value::array(std::move(ids)));
  arguments.set("files", json::to_value(diff.files));
  arguments.set("diff", Value::string(base::truncate_utf8(diff.text, max_diff)));
  approval.arguments = std::move(arguments);
  return row;
}

ApplyConsent make_asked(base::ApprovalId id) {
  return {.answer = {.kind = Applied::Kind::asked,
                     .message = fmt::format("{} asks whether to apply it to your checkout", id.text()),
                     .approval = id}};
}

}  // namespace

ApplyConsent ask_to_apply(IsolationContext& context, const ExecutionBranch& branch,
                          const std::vector<PatchRow>& patches, model::ApplyWhen mode) {
  Repository::Diff diff = branch.repository().diff(branch.row().base_commit, branch.row().tip);
  const auto sensitive = find_sensitive(diff.files);
  if (mode != model::ApplyWhen::on_approval && sensitive.empty()) return {.answer = {}, .may_proceed = true};
  const base::ExecutionId root = branch.root();
  diff.text = context.secrets.redact(root, diff.text);
  const store::ApprovalRow question = make_question(root, branch.row().tip, diff, sensitive, patches);
  engine::RiskSubject subject{.source = engine::RiskSubject::Source::changes, .knows_all_files = true};
  for (const model::PatchFile& file : diff.files) {
    subject.files.push_back(context.secrets.redact(root, file.path));
    if (file.is_deleted) subject.deleted_files.push_back(subject.files.back());
  }
  return context.call([&](Transaction& transaction) {
    std::optional<store::ApprovalRow> last;
    transaction.session().query(store::Sql::approval_of_apply, {{"execution", root.number()}},
                                [&](const store::Row& row) { last = store::read_approval(row); });
    const bool is_same = last && last->approval.digest == question.approval.digest;
    if (last && last->approval.status == model::ApprovalStatus::pending) {
      if (is_same) return make_asked(last->approval.approval_id);
      ledger::close_question(transaction, *last, {.reason = "the branch has changed since"});
    } else if (last && last->approval.status == model::ApprovalStatus::approved &&
               last->approval.use == model::ApprovalUse::unused) {
      // A decision made by a plain SQL update that is not validated yet: the next poll finds it.
      if (!last->is_settled) return make_asked(last->approval.approval_id);
      const auto used = ledger::use_grant(transaction, last->approval.approval_id,
                                          {.attempt = last->approval.attempt, .digest = question.approval.digest});
      if (std::holds_alternative<engine::Used>(used)) {
        PatchLedger::move_all(transaction, patches, {.to = PatchState::queued, .reason = "approved"});
        return ApplyConsent{.answer = {}, .may_proceed = true};
      }
    } else if (is_same && last->approval.status != model::ApprovalStatus::approved) {
      return ApplyConsent{.answer = {.message = fmt::format("its changes stay on the branch {}: {} was {}; {}",
                                                            branch_name(root), last->approval.approval_id.text(),
                                                            base::spell(last->approval.status), merge_manually(root))}};
    }
    store::ApprovalRow wanted = question;
    ledger::set_risk(wanted.approval, subject, ledger::find_risk_levels(transaction, root));
    wanted.approval.created_at = transaction.now();
    if (const auto limit = context.expiry.after) wanted.approval.expires_at = transaction.now() + *limit;
    return make_asked(ledger::open_question(transaction, wanted));
  });
}

}  // namespace reeve::runtime
