#include "runtime/gate/grant_draft.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/call_gate.h"
#include "engine/grants.h"
#include "engine/shell_call.h"
#include "runtime/gate/call_facts.h"
#include "runtime/gate/call_request.h"
#include "runtime/runs/run_files.h"
#include "store/approvals.h"
#include "store/runs.h"
#include "store/tool_calls.h"

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;

namespace {

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

CallOrigin make_origin(const AskedCall& asked) {
  const std::string project = asked.run.project ? asked.run.project->path : std::string();
  return {.agent = asked.run.tool_name,
          .role = {},
          .project = project,
          // An unknown sandbox counts as none.
          .sandbox = model::Sandbox::none,
          .folder = find_confinement(asked.run.cwd, project, asked.run.node_id.has_value()),
          .channel = asked.call.channel};
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
  AskedCall asked{.approval = std::move(row->approval), .call = {}, .run = {}};
  if (asked.approval.kind != model::ApprovalKind::tool_call || !asked.approval.tool_run_id) {
    throw refused(fmt::format("{} does not ask about a tool call", id.text()));
  }
  auto call = find_call_of(session, *asked.approval.tool_run_id, id);
  auto run = store::find_run(session, *asked.approval.tool_run_id);
  if (!call || !run) throw refused(fmt::format("the call of {} is no longer stored", id.text()));
  asked.call = std::move(*call);
  asked.run = std::move(run->run);
  return asked;
}

CallFacts read_call_facts(const AskedCall& asked, const std::string& run_folder, const std::string& default_path) {
  const auto launch = read_launch(run_folder);
  std::string path = default_path;
  CallFacts facts;
  CallOrigin origin = make_origin(asked);
  if (launch.plan) {
    facts.terms = launch.plan->calls;
    origin.role = facts.terms->role;
    origin.sandbox = launch.plan->profile.sandbox;
    const auto found = launch.plan->environment.find("PATH");
    path = found != launch.plan->environment.end() ? found->second : std::string();
  }
  const model::ToolCall& call = asked.call;
  facts.subject = read_call_subject(origin, call.tool, call.arguments, call.cwd, path);
  const auto folder = read_folder_identity(facts.subject.cwd);
  facts.is_complete = folder && engine::digest_of_call(call.tool, call.arguments, *folder) == call.arguments_digest;
  return facts;
}

GrantDraft draft_grant(const AskedCall& asked, const CallFacts& facts, const wire::GrantTerms& terms) {
  if (asked.call.decision != model::CallDecision::ask) throw refused("the rules decided this call, not a person");
  if (!facts.terms) {
    throw refused(fmt::format("how {} was started is not known on this machine", asked.run.tool_run_id.text()),
                  "approve it once, or ask the daemon that manages the run");
  }
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
  if (const auto objection = engine::find_grant_objection(facts.terms->policies, facts.subject, wanted))
    throw refused(*objection);
  draft.grant = engine::make_grant(facts.subject, asked.call.arguments_digest, wanted);
  draft.grant.agent = asked.run.tool_name;
  draft.grant.approval_id = asked.approval.approval_id;
  limit_to_scope(asked, draft.grant);
  draft.also_allows = engine::describe_extent(draft.grant);
  if (draft.grant.match == GrantMatch::exact) {
    // The digest is that of the words, not of the files that they run.
    const std::vector<std::string> unbound = engine::describe_unbound(facts.subject);
    draft.also_allows.insert(draft.also_allows.begin(), unbound.begin(), unbound.end());
  }
  return draft;
}

std::optional<std::string> find_confirmation(const GrantDraft& draft) {
  const bool is_narrow = draft.grant.match == GrantMatch::exact && draft.grant.scope == GrantScope::run;
  if (is_narrow && draft.also_allows.empty()) return std::nullopt;
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

}  // namespace reeve::runtime
