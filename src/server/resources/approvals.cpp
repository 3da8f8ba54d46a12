#include "store/approvals.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "json/encode.h"
#include "runtime/approvals/approvals.h"
#include "runtime/loop/store_task.h"
#include "server/access/in_run_caller.h"
#include "server/request/long_poll.h"
#include "server/resources/listing.h"
#include "server/routing/api.h"

// /api/approvals
namespace reeve::server {

namespace {

using base::Error;
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
    if (!filter.run) throw Error("api.bad_request", "`run` is not a valid run id", "ids look like TR-17");
  }
  filter.after = parse_cursor<base::ApprovalId>(*exchange);
  send_page(exchange, std::move(filter),
            Listing{store::list_approvals, [](const Approval& approval) { return approval.approval_id; },
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
  const base::ApprovalId id = exchange->approval_id();
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [id](ledger::Transaction& transaction) {
        auto found = store::find_approval(transaction.session(), id);
        if (!found) {
          throw Error("approval.not_found", fmt::format("there is no approval {}", id.text()),
                      "`reeve approvals --all` lists them");
        }
        return std::move(found->approval);
      },
      answer_with(exchange));
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
  decision.answer.decided_by = exchange->actor();
  decision.secret = find_text(body, "secret", longest_text);
  if (word == Answer::Word::choose && !decision.answer.choice) {
    throw Error("api.bad_request", "`choice` is required", "name one of the question's options");
  }
  // Not part of the comment, which may be typed into the tool.
  decision.answer.note = find_text(body, "decided_by", longest_name);
  decision.idempotency = exchange->key;
  exchange->daemon.approvals().decide(id, std::move(decision), answer_with(exchange));
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

}  // namespace

std::vector<Route> approval_routes() {
  return {{"GET", "/api/approvals", list},
          {"GET", "/api/approvals/*", show},
          {"GET", "/api/approvals/*/wait", wait},
          {"POST", "/api/approvals/*/approve", approve},
          {"POST", "/api/approvals/*/reject", reject},
          {"POST", "/api/approvals/*/deny", reject},
          {"POST", "/api/approvals/*/decide", choose}};
}

}  // namespace reeve::server
