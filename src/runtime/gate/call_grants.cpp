#include "runtime/gate/call_grants.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "ledger/standing_grants.h"
#include "runtime/gate/suggestions.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/loop/store_task.h"
#include "store/runs.h"
#include "store/tool_calls.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using ledger::Transaction;

// Those that a person approved among the last calls, newest first.
std::vector<AskedCall> find_approved_calls(Transaction& transaction, const CallGrants::SuggestionTerms& terms) {
  constexpr std::int64_t page = 200;
  constexpr int max_pages = 10;
  constexpr std::size_t max_approved = 500;
  store::Session& session = transaction.session();
  store::CallFilter filter{.run = terms.run, .most = page};
  if (!terms.run && !terms.project.empty()) filter.project = terms.project;
  std::map<base::RunId, AskedCall> runs;
  std::vector<AskedCall> approved;
  for (int i = 0; i < max_pages; ++i) {
    const std::vector<model::ToolCall> calls = store::list_calls(session, filter);
    for (const model::ToolCall& call : calls) {
      const bool is_too_old = terms.since && call.asked_at < transaction.now() - *terms.since;
      if (is_too_old || approved.size() == max_approved) return approved;
      const bool is_approved = call.decision == model::CallDecision::ask && call.answer == model::CallDecision::allow;
      if (!is_approved || call.grant_id) continue;
      auto known = runs.find(call.tool_run_id);
      if (known == runs.end()) {
        auto run = store::find_run(session, call.tool_run_id);
        if (!run) continue;
        known = runs.emplace(call.tool_run_id, AskedCall{.approval = {}, .call = {}, .run = std::move(run->run)}).first;
      }
      approved.push_back(known->second);
      approved.back().call = call;
    }
    if (calls.size() < static_cast<std::size_t>(page)) break;
    filter.before = calls.back().call_id;
  }
  return approved;
}

// Refuses the decision: something has decided it, or undone a decision, since it was read.
void refuse_race(Transaction& /*transaction*/, const model::Approval& approval) {
  throw Error(ErrorCode::approval_already_resolved, fmt::format("{} changed meanwhile", approval.approval_id.text()),
              "read it again, then decide");
}

}  // namespace

CallGrants::CallGrants(RuntimeContext& context, Approvals& approvals, PolicySource policies)
    : context_(context), approvals_(approvals), policies_(std::move(policies)), facts_(context.loop) {}

std::string CallGrants::default_path() const {
  const auto found = context_.environment.find("PATH");
  return found != context_.environment.end() ? found->second : std::string();
}

// Nothing if the approval is no longer pending.
void CallGrants::draft(base::ApprovalId id, wire::GrantTerms terms, Done<std::optional<GrantDraft>> done) {
  ask_store(
      context_.ledger, context_.loop,
      [id](Transaction& transaction) { return find_asked_call(transaction.session(), id); },
      [this, terms = std::move(terms), done = std::move(done)](std::expected<AskedCall, Error> asked) {
        if (!asked) return done(std::unexpected(asked.error()));
        if (asked->approval.status != model::ApprovalStatus::pending) return done(std::optional<GrantDraft>());
        const std::string folder = run_folder(context_, asked->run.tool_run_id);
        facts_.ask(
            [asked = std::move(*asked), terms, folder, path = default_path()] {
              return std::optional(draft_grant(asked, read_call_facts(asked, folder, path), terms));
            },
            done);
      });
}

void CallGrants::preview(base::ApprovalId id, wire::GrantTerms terms, Done<wire::GrantPreview> done) {
  draft(id, std::move(terms),
        [this, id, done = std::move(done)](const std::expected<std::optional<GrantDraft>, Error>& draft) {
          if (!draft) return done(std::unexpected(draft.error()));
          if (!*draft) {
            return done(std::unexpected(Error(ErrorCode::grant_refused, fmt::format("{} is already decided", id.text()),
                                              "grants are made together with the decision")));
          }
          done(wire::GrantPreview{.describes = (*draft)->grant.describes,
                                  .also_allows = (*draft)->also_allows,
                                  .confirm = find_confirmation(**draft),
                                  .expires_at = context_.clock.wall_now() + (*draft)->time});
        });
}

void CallGrants::approve(base::ApprovalId id, wire::GrantTerms terms, Approvals::Decision decision,
                         Approvals::Answered answered) {
  auto shared = std::make_shared<Approvals::Decision>(std::move(decision));
  draft(id, terms,
        [this, id, terms, shared,
         answered = std::move(answered)](const std::expected<std::optional<GrantDraft>, Error>& draft) {
          if (!draft) return answered(std::unexpected(draft.error()));
          // Already decided: the decision answers a repeated request, and refuses any other.
          if (!*draft) {
            shared->along = refuse_race;
            return approvals_.decide(id, std::move(*shared), answered);
          }
          try {
            require_confirmation(**draft, terms);
          } catch (const Error& error) {
            return answered(std::unexpected(error));
          }
          shared->along = [draft = **draft, by = shared->answer.decided_by](Transaction& transaction,
                                                                            const model::Approval&) {
            model::Grant grant = draft.grant;
            grant.created_by = by;
            grant.created_at = transaction.now();
            grant.expires_at = grant.created_at + draft.time;
            ledger::create_grant(transaction, std::move(grant));
          };
          approvals_.decide(id, std::move(*shared), answered);
        });
}

void CallGrants::revoke(base::GrantId id, const std::string& by, Done<model::Grant> done) {
  ask_store(
      context_.ledger, context_.loop,
      [id, by](Transaction& transaction) {
        auto grant = ledger::revoke_grant(transaction, id, by);
        if (!grant) throw grant_not_found(id);
        return std::move(*grant);
      },
      std::move(done));
}

void CallGrants::suggest(const SuggestionTerms& terms, Done<wire::PolicySuggestions> done) {
  ask_store(
      context_.ledger, context_.loop,
      [terms](Transaction& transaction) { return find_approved_calls(transaction, terms); },
      [this, terms, done = std::move(done)](std::expected<std::vector<AskedCall>, Error> found) {
        if (!found) return done(std::unexpected(found.error()));
        try {
          std::string project = terms.project;
          if (terms.run && !found->empty() && found->front().run.project) project = found->front().run.project->path;
          auto policies = policies_(project);
          std::map<base::RunId, std::string> folders;
          for (const AskedCall& asked : *found) {
            folders.try_emplace(asked.run.tool_run_id, run_folder(context_, asked.run.tool_run_id));
          }
          facts_.ask(
              [found = std::move(*found), folders = std::move(folders), policies = std::move(policies),
               path = default_path()] {
                std::vector<ApprovedCall> calls;
                for (const AskedCall& asked : found) {
                  CallFacts facts = read_call_facts(asked, folders.at(asked.run.tool_run_id), path);
                  calls.push_back({asked.call, std::move(facts.subject), facts.is_complete});
                }
                return make_suggestions(calls, policies);
              },
              done);
        } catch (const Error& error) {
          done(std::unexpected(error));
        }
      });
}

}  // namespace reeve::runtime
