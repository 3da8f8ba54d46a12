#include "store/approvals.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/quantity.h"
#include "base/text.h"
#include "json/describe.h"
#include "json/encode.h"
#include "runtime/approvals.h"
#include "runtime/store_task.h"
#include "server/api.h"
#include "server/insider.h"
#include "server/listing.h"

// /api/approvals
namespace reeve::server {

namespace {

using base::Error;
using base::Value;
using engine::Answer;
using model::Approval;
using model::ApprovalStatus;

constexpr auto longest_wait = std::chrono::minutes(5);
constexpr std::size_t longest_choice = 1'024;

// Pending ones where nothing is asked for.
std::vector<ApprovalStatus> parse_statuses(const Exchange& exchange) {
  const auto text = exchange.query("status");
  const bool says_nothing = !text || text->empty();
  // Both names are read, so that a wrong value of either is told.
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
                               .most = exchange->query_integer("limit", listed_by_default, 1, most_listed)};
  if (const auto run = exchange->query("run")) {
    filter.run = base::RunId::parse(*run);
    if (!filter.run) throw Error("api.bad_request", "`run` is no id of a run", "ids look like TR-17");
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
                      "`reeve approvals --all` shows those there are");
        }
        return std::move(found->approval);
      },
      answer_with(exchange));
}

// The one way in which a decision is asked for. Who decides comes from the credential; what a body says about it is
// kept as a note (APR-12).
void decide(SharedExchange exchange, Answer::Word word) {
  const base::ApprovalId id = exchange->approval_id();
  refuse_insider(exchange, fmt::format("decide {}", id.text()));
  const Value& body = exchange->body();
  runtime::Approvals::Decision decision;
  decision.answer.word = word;
  decision.answer.choice = find_text(body, "choice", longest_choice);
  decision.answer.comment = find_text(body, "comment", longest_text);
  decision.answer.decided_by = exchange->actor();
  decision.secret = find_text(body, "secret", longest_text);
  if (word == Answer::Word::choose && !decision.answer.choice) {
    throw Error("api.bad_request", "`choice` is needed", "name one of the question's options");
  }
  // Not in the comment, which may be typed into the tool.
  decision.answer.note = find_text(body, "decided_by", longest_name);
  decision.idempotency = exchange->key;
  exchange->daemon.approvals().decide(id, std::move(decision), answer_with(exchange));
}

void approve(SharedExchange exchange) { decide(std::move(exchange), Answer::Word::approve); }
void reject(SharedExchange exchange) { decide(std::move(exchange), Answer::Word::reject); }
void choose(SharedExchange exchange) { decide(std::move(exchange), Answer::Word::choose); }

void wait(SharedExchange exchange) {
  const base::ApprovalId id = exchange->approval_id();
  auto patience = base::parse_duration(exchange->query("timeout").value_or("60s"));
  if (!patience) throw Error("api.bad_request", fmt::format("`timeout` must be {}", base::duration_forms));
  patience = std::min<base::Milliseconds>(*patience, longest_wait);
  if (patience->count() == 0) return show(exchange);
  struct Waiting {
    runtime::Loop::Hold over;
    runtime::Loop::Hold timer;
    bool is_over = false;
  };
  auto waiting = std::make_shared<Waiting>();
  runtime::Daemon& daemon = exchange->daemon;
  // Nothing is ended from within its own call.
  const auto end = [waiting, &daemon] {
    waiting->is_over = true;
    daemon.loop().post([waiting] {
      waiting->over = {};
      waiting->timer = {};
    });
  };
  exchange->responder->on_closed(end);
  waiting->timer = daemon.loop().at(daemon.loop().now() + *patience, [exchange, waiting, end] {
    if (waiting->is_over) return;
    end();
    show(exchange);
  });
  waiting->over = daemon.approvals().wait(id, [exchange, waiting, end](std::expected<Approval, Error> approval) {
    if (waiting->is_over) return;
    end();
    answer_with(exchange)(std::move(approval));
  });
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
