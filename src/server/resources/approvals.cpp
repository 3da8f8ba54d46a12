#include "store/approvals.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "model/approval.h"
#include "runtime/approvals/approvals.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/request/long_poll.h"
#include "server/resources/contract.h"
#include "server/resources/listing.h"
#include "wire/grant.h"
#include "wire/tool_call.h"

// /api/approvals
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using engine::Answer;
using model::Approval;
using model::ApprovalStatus;

constexpr std::size_t longest_choice = 1'024;

// Pending approvals by default.
std::vector<ApprovalStatus> parse_statuses(const Exchange& exchange) {
  const auto text = exchange.query("status");
  const bool says_nothing = !text || text->empty();
  // Both names are read, so that an invalid value of either is reported.
  const bool include_all = exchange.query_flag("include_all");
  const bool is_all = exchange.query_flag("all") || include_all;
  if (says_nothing && !is_all) return {ApprovalStatus::pending};
  auto statuses = parse_words<ApprovalStatus>(text, "status", "statuses");
  std::ranges::sort(statuses);
  const auto repeated = std::ranges::unique(statuses);
  statuses.erase(repeated.begin(), repeated.end());
  return statuses;
}

void list(SharedExchange exchange) {
  store::ApprovalFilter filter{.statuses = parse_statuses(*exchange),
                               .most = exchange->query_integer("limit", listed_by_default, 1, max_listed)};
  if (const auto run = exchange->query("run")) {
    filter.run = base::RunId::parse(*run);
    if (!filter.run) throw Error(ErrorCode::api_bad_request, "`run` is not a valid run id", "ids look like TR-17");
  }
  filter.project = parse_project_filter(*exchange);
  if (filter.run && filter.project) {
    throw Error(ErrorCode::api_bad_request, "`run` and `project` cannot be combined", "omit one of them");
  }
  filter.after = parse_cursor<base::ApprovalId>(*exchange);
  send_page(exchange, std::move(filter),
            Listing{&runtime::Queries::list_approvals, [](const Approval& approval) { return approval.approval_id; },
                    [](const Approval& approval) { return json::to_value(approval); }});
}

auto answer_with(SharedExchange exchange) {
  return [exchange](std::expected<Approval, Error> approval) {
    if (approval) {
      exchange->send(200, json::to_value(*approval));
    } else {
      exchange->refuse(approval.error());
    }
  };
}

void show(SharedExchange exchange) {
  exchange->daemon.queries().get_approval(exchange->approval_id(), answer_with(exchange));
}

// TOOL-8: a standing grant widens what agents may do, so it takes more than the right to decide one question.
void require_grantor(const Exchange& exchange) {
  const Request& request = exchange.request;
  const bool may_grant =
      request.peer.entrance == Entrance::unix_socket || model::allows(request.caller.scopes, model::Scope::admin);
  if (may_grant) return;
  throw Error(ErrorCode::api_forbidden,
              fmt::format("{} lacks the scope `admin`, which standing grants need", request.caller.name),
              "approve once, without `always`, or use a token with that scope");
}

wire::GrantTerms decode_terms(const Value& value) {
  auto terms = json::from_value<wire::GrantTerms>(value);
  if (!terms) throw Error(ErrorCode::api_bad_request, "`always`: " + terms.error());
  constexpr std::size_t longest_path = 4'096;
  if (terms->path && terms->path->size() > longest_path) {
    throw Error(ErrorCode::api_bad_request, "`path` is too long");
  }
  return std::move(*terms);
}

// The only entry point for decisions. The decider comes from the credential; a name in the body is stored as a note
// (APR-12).
void decide(SharedExchange exchange, Answer::Word word) {
  const base::ApprovalId id = exchange->approval_id();
  deny_in_run_caller(exchange, fmt::format("decide {}", id.text()));
  const Value& body = exchange->body();
  runtime::Approvals::Decision decision;
  decision.answer.word = word;
  decision.answer.choice = find_text(body, "choice", longest_choice);
  decision.answer.comment = find_text(body, "comment", longest_text);
  decision.answer.text = find_text(body, "answer", longest_text);
  decision.answer.decided_by = exchange->actor();
  decision.secret = find_text(body, "secret", longest_text);
  if (word == Answer::Word::choose && !decision.answer.choice && !decision.answer.text) {
    throw Error(ErrorCode::api_bad_request, "`choice` is required", "name one of the question's options");
  }
  // Not part of the comment, which the tool can read.
  decision.answer.note = find_text(body, "decided_by", longest_name);
  decision.idempotency = exchange->key;
  const Value* always = body.find("always");
  if (always == nullptr || always->is_null()) {
    return exchange->daemon.approvals().decide(id, std::move(decision), answer_with(exchange));
  }
  require_grantor(*exchange);
  exchange->daemon.call_grants().approve(id, decode_terms(*always), std::move(decision), answer_with(exchange));
}

// Tells what a grant would allow. Changes nothing, but only those who may make one have a use for it.
void preview_grant(SharedExchange exchange) {
  const base::ApprovalId id = exchange->approval_id();
  deny_in_run_caller(exchange, fmt::format("preview a grant from {}", id.text()));
  exchange->daemon.call_grants().preview(id, decode_terms(exchange->body()),
                                         [exchange](const std::expected<wire::GrantPreview, Error>& preview) {
                                           if (!preview) return exchange->refuse(preview.error());
                                           exchange->send(200, json::to_value(*preview));
                                         });
}

void approve(SharedExchange exchange) { decide(std::move(exchange), Answer::Word::approve); }
void reject(SharedExchange exchange) { decide(std::move(exchange), Answer::Word::reject); }
void choose(SharedExchange exchange) { decide(std::move(exchange), Answer::Word::choose); }

void wait(SharedExchange exchange) {
  const base::ApprovalId id = exchange->approval_id();
  const base::Milliseconds timeout = parse_poll_timeout(exchange->request);
  if (timeout.count() == 0) return show(exchange);
  const auto poll = LongPoll::begin(exchange->daemon.loop(), *exchange->responder);
  poll->expire_after(timeout, [exchange] { show(exchange); });
  // Reads the approval after subscribing.
  poll->keep(exchange->daemon.approvals().wait(id, poll->once(answer_with(exchange))));
}

Value text_of(std::int64_t longest) {
  return json::extended(json::string_schema(), "maxLength", Value::integer(longest));
}

struct Decision {
  std::string_view path;
  void (&handle)(SharedExchange exchange);
  std::string_view name;
  std::string_view summary;
};

// `always`: the schema of the terms of a grant; null where none can be made.
Operation make_operation(const Decision& decision, const Value& approval, const Value& always = {}) {
  Value::Object members = {{"choice", text_of(1'024)},
                           {"answer", text_of(4'096)},
                           {"comment", text_of(4'096)},
                           {"secret", text_of(4'096)},
                           {"decided_by", text_of(255)}};
  std::vector<ErrorCode> errors = {ErrorCode::approval_not_found,     ErrorCode::approval_already_resolved,
                                   ErrorCode::approval_expired,       ErrorCode::approval_unknown_choice,
                                   ErrorCode::approval_choice_needed, ErrorCode::approval_contradiction,
                                   ErrorCode::approval_text_needed,   ErrorCode::approval_takes_no_text,
                                   ErrorCode::approval_secret_needed, ErrorCode::approval_inside_run,
                                   ErrorCode::api_peer_gone,          ErrorCode::run_not_here};
  if (!always.is_null()) {
    members.push_back({"always", always});
    errors.insert(errors.end(), {ErrorCode::grant_refused, ErrorCode::grant_unconfirmed, ErrorCode::config_invalid});
  }
  return {.method = "POST",
          .path = decision.path,
          .handle = decision.handle,
          .name = decision.name,
          .inside = InRunAccess::reported,
          .summary = decision.summary,
          .scope = Scope::approve,
          .body = optional_members(std::move(members)),
          .replies = {{200, approval}},
          .errors = std::move(errors),
          .idempotency = IdempotencyMode::change_then_answer};
}

}  // namespace

std::vector<Operation> approval_operations(json::Schemas& schemas) {
  const Value approval = schemas.of<model::Approval>();
  const Value terms = schemas.of_request<wire::GrantTerms>({});
  return {
      {.method = "GET",
       .path = "/api/approvals",
       .handle = list,
       .name = "listApprovals",
       .inside = InRunAccess::own_approvals,
       .summary = "List pending approvals, oldest first (PIP-5); other selections are newest first",
       .query = {words_parameter("status", base::spellings<model::ApprovalStatus>(),
                                 "only approvals with these statuses"),
                 flag_parameter("include_all", "1: approvals of every status"),
                 flag_parameter("all", "same as include_all"),
                 {"run", json::string_schema("^[Tt][Rr]-[1-9][0-9]*$"), "only approvals of this run"},
                 project_filter(),
                 limit_parameter(),
                 cursor_parameter()},
       .replies = {{200, page_of(schemas, "ApprovalPage", approval)}}},
      {.method = "GET",
       .path = "/api/approvals/{id}",
       .handle = show,
       .name = "getApproval",
       .inside = InRunAccess::own_approval,
       .summary = "Get an approval",
       .replies = {{200, approval}},
       .errors = {ErrorCode::approval_not_found},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/approvals/{id}/wait",
       .handle = wait,
       .name = "waitForApproval",
       .inside = InRunAccess::own_approval,
       .summary = "Wait until the approval is decided or expires, or `timeout` passes; returns it either way",
       .query = {duration_parameter("timeout", "default 60s, at most 5m")},
       .replies = {{200, approval}},
       .errors = {ErrorCode::approval_not_found}},
      make_operation({"/api/approvals/{id}/approve", approve, "approve",
                      "Approve; `choice` selects one if several options approve. `always` also makes a standing grant "
                      "from a tool call, in the same transaction (TOOL-8): needs the daemon's socket or the scope "
                      "`admin`"},
                     approval, terms),
      {.method = "POST",
       .path = "/api/approvals/{id}/grant-preview",
       .handle = preview_grant,
       .name = "previewGrant",
       .inside = InRunAccess::reported,
       .summary = "Tell what a standing grant on these terms would allow beyond the call; nothing is decided",
       .scope = Scope::approve,
       .body = terms,
       .replies = {{200, schemas.of<wire::GrantPreview>()}},
       .errors = {ErrorCode::approval_not_found, ErrorCode::approval_inside_run, ErrorCode::grant_refused,
                  ErrorCode::config_invalid, ErrorCode::api_peer_gone}},
      make_operation({"/api/approvals/{id}/reject", reject, "reject", "Reject"}, approval),
      make_operation({"/api/approvals/{id}/deny", reject, "deny", "Same as reject"}, approval),
      make_operation(
          {"/api/approvals/{id}/decide", choose, "decide", "Choose one of the options by its value (`choice`)"},
          approval)};
}

}  // namespace reeve::server
