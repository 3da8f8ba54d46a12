#include "runtime/gate/call_grants.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/call_gate.h"
#include "json/decode.h"
#include "ledger/standing_grants.h"
#include "runtime/gate/call_facts.h"
#include "runtime/gate/suggestions.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_files.h"
#include "store/approvals.h"
#include "store/executions.h"
#include "store/runs.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using ledger::Transaction;
using model::GrantMatch;
using model::GrantScope;

Error refused(std::string why, std::string fix = "approve it once, without --always") {
  return {ErrorCode::grant_refused, std::move(why), std::move(fix)};
}

// The newest first, page by page: a question is usually about one of the last calls.
std::optional<model::ToolCall> find_call_of(store::Session& session, base::RunId run, base::ApprovalId approval) {
  constexpr std::int64_t page = 200;
  constexpr int max_pages = 50;
  store::CallFilter filter{.run = run, .most = page};
  for (int i = 0; i < max_pages; ++i) {
    std::vector<model::ToolCall> calls = store::list_calls(session, filter);
    for (model::ToolCall& call : calls) {
      if (call.approval_id == approval) return std::move(call);
    }
    if (calls.size() < static_cast<std::size_t>(page)) return std::nullopt;
    filter.before = calls.back().call_id;
  }
  return std::nullopt;
}

std::string find_role(store::Session& session, const model::Run& run) {
  if (!run.execution_id || !run.node_id) return {};
  const auto stored = store::find_execution_workflow(session, *run.execution_id);
  if (!stored) return {};
  const auto workflow = json::from_value<model::Workflow>(stored->definition);
  if (!workflow) return {};
  for (const model::Node& node : workflow->nodes) {
    if (node.id == *run.node_id && node.task_config) return node.task_config->role;
  }
  return {};
}

base::Milliseconds find_time(const wire::GrantTerms& terms) {
  if (!terms.expires_in_seconds) return model::default_grant_time;
  const std::int64_t most = std::chrono::duration_cast<std::chrono::seconds>(max_grant_time).count();
  if (*terms.expires_in_seconds < 1 || *terms.expires_in_seconds > most) {
    throw refused("a standing grant lasts between a second and 30 days",
                  "choose a shorter time, or write a rule into the config: `reeve policy suggest`");
  }
  return std::chrono::seconds(*terms.expires_in_seconds);
}

// What the grant is limited to; of another scope nothing is set.
void limit_to_scope(const AskedCall& asked, model::Grant& grant) {
  const model::Run& run = asked.run;
  grant.project = run.project;
  switch (grant.scope) {
    case GrantScope::run:
      grant.tool_run_id = run.tool_run_id;
      return;
    case GrantScope::execution:
      if (!run.execution_id) {
        throw refused(fmt::format("{} belongs to no execution", run.tool_run_id.text()), "use --for run");
      }
      grant.execution_id = run.execution_id;
      return;
    case GrantScope::project:
      if (!run.project) throw refused(fmt::format("{} belongs to no project", run.tool_run_id.text()), "use --for run");
      return;
  }
}

CallOrigin make_origin(const AskedCall& asked, model::Sandbox sandbox) {
  return {.agent = asked.run.tool_name,
          .role = asked.role,
          .project = asked.run.project ? asked.run.project->path : std::string(),
          .sandbox = sandbox,
          .folder = asked.run.cwd,
          .channel = asked.call.channel};
}

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
        AskedCall of_run{.approval = {}, .call = {}, .run = std::move(run->run), .role = {}};
        of_run.role = find_role(session, of_run.run);
        known = runs.emplace(call.tool_run_id, std::move(of_run)).first;
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

Error grant_not_found(base::GrantId id) {
  return {ErrorCode::grant_not_found, fmt::format("there is no standing grant {}", id.text()),
          "`reeve policy grants --all` lists them"};
}

AskedCall find_asked_call(store::Session& session, base::ApprovalId id) {
  auto row = store::find_approval(session, id);
  if (!row) {
    throw Error(ErrorCode::approval_not_found, fmt::format("there is no approval {}", id.text()),
                "`reeve approvals --all` lists them");
  }
  AskedCall asked{.approval = std::move(row->approval), .call = {}, .run = {}, .role = {}};
  if (asked.approval.kind != model::ApprovalKind::tool_call || !asked.approval.tool_run_id) {
    throw refused(fmt::format("{} does not ask about a tool call", id.text()));
  }
  auto call = find_call_of(session, *asked.approval.tool_run_id, id);
  auto run = store::find_run(session, *asked.approval.tool_run_id);
  if (!call || !run) throw refused(fmt::format("the call of {} is no longer stored", id.text()));
  asked.call = std::move(*call);
  asked.run = std::move(run->run);
  asked.role = find_role(session, asked.run);
  return asked;
}

CallFacts read_call_facts(const AskedCall& asked, const std::string& run_folder, const std::string& default_path) {
  const auto launch = read_launch(run_folder);
  std::string path = default_path;
  // Unknown sandboxes count as none.
  model::Sandbox sandbox = model::Sandbox::none;
  if (launch.plan) {
    sandbox = launch.plan->profile.sandbox;
    if (const auto found = launch.plan->environment.find("PATH"); found != launch.plan->environment.end()) {
      path = found->second;
    }
  }
  const model::ToolCall& call = asked.call;
  CallFacts facts{.subject = read_call_subject(make_origin(asked, sandbox), call.tool, call.arguments, call.cwd, path)};
  const auto folder = read_folder_identity(call.cwd);
  facts.is_complete = folder && engine::digest_of_call(call.tool, call.arguments, *folder) == call.arguments_digest;
  return facts;
}

GrantDraft draft_grant(const AskedCall& asked, const CallFacts& facts, const model::Policies& policies,
                       const wire::GrantTerms& terms) {
  if (asked.call.decision != model::CallDecision::ask) throw refused("the rules decided this call, not a person");
  if (asked.run.tool_name.empty()) throw refused("the run has no tool profile to grant anything to");
  if ((terms.match == GrantMatch::path) != terms.path.has_value()) {
    throw refused(terms.path ? "`path` belongs to the match `path`" : "the match `path` needs a pattern",
                  "--match path=GLOB, relative to the worktree");
  }
  GrantDraft draft{.grant = {}, .time = find_time(terms), .also_allows = {}};
  if (!facts.is_complete && terms.match != GrantMatch::exact) {
    throw refused(
        "the stored arguments are not the whole call: secrets were masked, it was too long, or its folder is "
        "no longer the same. What a wider grant covers cannot be shown",
        "use --match exact");
  }
  const engine::GrantTerms wanted{.scope = terms.scope, .match = terms.match, .path = terms.path.value_or("")};
  if (const auto objection = engine::find_grant_objection(policies, facts.subject, wanted)) throw refused(*objection);
  draft.grant = engine::make_grant(facts.subject, asked.call.arguments_digest, wanted);
  draft.grant.agent = asked.run.tool_name;
  draft.grant.approval_id = asked.approval.approval_id;
  limit_to_scope(asked, draft.grant);
  draft.also_allows = engine::describe_extent(draft.grant);
  return draft;
}

std::optional<std::string> find_confirmation(const GrantDraft& draft) {
  const bool is_narrow = draft.grant.match == GrantMatch::exact && draft.grant.scope == GrantScope::run;
  if (is_narrow) return std::nullopt;
  return draft.also_allows.empty() ? draft.grant.describes : base::join(draft.also_allows, "\n");
}

void require_confirmation(const GrantDraft& draft, const wire::GrantTerms& terms) {
  const auto needed = find_confirmation(draft);
  if (!needed || terms.confirmed == needed) return;
  throw Error(
      ErrorCode::grant_unconfirmed,
      fmt::format("this also allows: {}",
                  base::join(draft.also_allows.empty() ? std::vector{draft.grant.describes} : draft.also_allows, "; ")),
      terms.confirmed ? "what was confirmed is not what this grant allows; read the preview again"
                      : "send the preview's `confirm` as `confirmed`, or use --match exact --for run");
}

CallGrants::CallGrants(RuntimeContext& context, Approvals& approvals, PolicySource policies)
    : context_(context), approvals_(approvals), policies_(std::move(policies)), facts_(context.loop) {}

std::string CallGrants::default_path() const {
  const auto found = context_.environment.find("PATH");
  return found != context_.environment.end() ? found->second : std::string();
}

// Nothing if the approval is no longer pending.
void CallGrants::draft(base::ApprovalId id, wire::GrantTerms terms, Done<std::optional<GrantDraft>> done) {
  auto made = [done, terms = std::move(terms)](const AskedCall& asked, const CallFacts& facts,
                                               const model::Policies& policies) {
    try {
      done(draft_grant(asked, facts, policies, terms));
    } catch (const Error& error) {
      done(std::unexpected(error));
    }
  };
  ask_store(
      context_.ledger, context_.loop,
      [id](Transaction& transaction) { return find_asked_call(transaction.session(), id); },
      [this, done = std::move(done), made = std::move(made)](std::expected<AskedCall, Error> asked) {
        if (!asked) return done(std::unexpected(asked.error()));
        if (asked->approval.status != model::ApprovalStatus::pending) return done(std::optional<GrantDraft>());
        try {
          auto policies = policies_(asked->run.project ? asked->run.project->path : std::string());
          auto shared = std::make_shared<const AskedCall>(std::move(*asked));
          facts_.ask(
              [shared, folder = run_folder(context_, shared->run.tool_run_id), path = default_path()] {
                return read_call_facts(*shared, folder, path);
              },
              [shared, policies = std::move(policies), done, made](const std::expected<CallFacts, Error>& facts) {
                if (!facts) return done(std::unexpected(facts.error()));
                made(*shared, *facts, policies);
              });
        } catch (const Error& error) {
          done(std::unexpected(error));
        }
      });
}

void CallGrants::preview(base::ApprovalId id, wire::GrantTerms terms, Done<wire::GrantPreview> done) {
  draft(id, std::move(terms),
        [this, id, done = std::move(done)](const std::expected<std::optional<GrantDraft>, Error>& draft) {
          if (!draft) return done(std::unexpected(draft.error()));
          if (!*draft) {
            return done(std::unexpected(refused(fmt::format("{} is already decided", id.text()),
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
