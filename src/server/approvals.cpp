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

// /api/approvals
namespace reeve::server {

namespace {

using base::Error;
using base::Value;
using engine::Answer;
using model::Approval;
using model::ApprovalStatus;

constexpr std::int64_t most_listed = 500;
constexpr auto longest_wait = std::chrono::minutes(5);
constexpr std::size_t longest_choice = 1'024;

// Pending ones where nothing is asked for.
std::vector<ApprovalStatus> parse_statuses(const Exchange& exchange) {
  const auto text = exchange.query("status");
  if (!text || text->empty()) {
    return exchange.query_flag("include_all") ? std::vector<ApprovalStatus>() : std::vector{ApprovalStatus::pending};
  }
  std::vector<ApprovalStatus> statuses;
  for (const std::string_view word : base::split(*text, ',')) {
    const auto status = base::find_enum<ApprovalStatus>(word);
    if (!status) {
      throw Error("api.bad_request", fmt::format("there is no status {}", base::quoted(word)),
                  fmt::format("statuses are {}", fmt::join(base::spellings<ApprovalStatus>(), ", ")));
    }
    if (std::ranges::find(statuses, *status) == statuses.end()) statuses.push_back(*status);
  }
  return statuses;
}

void list(SharedExchange exchange) {
  store::ApprovalFilter filter{.statuses = parse_statuses(*exchange),
                               .most = exchange->query_integer("limit", 50, 1, most_listed)};
  if (const auto run = exchange->query("run")) {
    filter.run = base::RunId::parse(*run);
    if (!filter.run) throw Error("api.bad_request", "`run` is no id of a run", "ids look like TR-17");
  }
  if (const auto cursor = exchange->query("cursor")) {
    filter.after = base::ApprovalId::parse(*cursor);
    if (!filter.after) throw Error("api.bad_request", "`cursor` is none that was given out");
  }
  // One more than asked for tells whether there are more.
  const std::int64_t asked = filter.most++;
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [filter](ledger::Transaction& transaction) { return store::list_approvals(transaction.session(), filter); },
      [exchange, asked](std::expected<std::vector<Approval>, Error> approvals) {
        if (!approvals) return exchange->refuse(approvals.error());
        const bool has_more = static_cast<std::int64_t>(approvals->size()) > asked;
        if (has_more) approvals->pop_back();
        Value document = Value::object();
        document.set("next_cursor", has_more ? Value::string(approvals->back().approval_id.text()) : Value());
        document.set("items", json::to_value(*approvals));
        exchange->send(200, document);
      });
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
  Value body = exchange->body();
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
  // A secret is kept nowhere, also not as a hash that somebody could try words against.
  std::erase_if(*body.as_object(), [](const base::Member& member) { return member.key == "secret"; });
  decision.idempotency = exchange->idempotency(json::encode(body));
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
          {"POST", "/api/approvals/*/decide", choose}};
}

}  // namespace reeve::server
