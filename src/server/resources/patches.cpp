#include "store/patches.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "ledger/patches.h"
#include "runtime/isolation/isolation.h"
#include "runtime/loop/store_task.h"
#include "server/access/in_run_caller.h"
#include "server/resources/listing.h"
#include "server/routing/api.h"

// /api/patches
namespace reeve::server {

namespace {

using base::Error;
using base::Value;
using model::Patch;
using model::PatchState;
using runtime::Isolation;

base::PatchId patch_id(const Exchange& exchange) {
  const auto id = base::PatchId::parse(exchange.parts.at(0));
  if (!id) {
    throw Error("patch.not_found", fmt::format("there is no patch {}", base::quoted(exchange.parts.at(0))),
                "ids look like PA-3");
  }
  return *id;
}

// For lists: without the diff, which can be large.
Value describe(const Patch& patch) {
  Value document = json::to_value(patch);
  std::erase_if(*document.as_object(), [](const base::Member& member) { return member.key == "diff"; });
  return document;
}

void list(SharedExchange exchange) {
  store::PatchFilter filter{.states = parse_words<PatchState>(exchange->query("state"), "state", "states"),
                            .before = parse_cursor<base::PatchId>(*exchange),
                            .most = exchange->query_integer("limit", listed_by_default, 1, max_listed)};
  if (const auto execution = exchange->query("execution")) {
    filter.execution = base::ExecutionId::parse(*execution);
    if (!filter.execution) {
      throw Error("api.bad_request", "`execution` is not a valid execution id", "ids look like EX-9");
    }
  }
  send_page(exchange, std::move(filter),
            Listing{store::list_patches, [](const Patch& patch) { return patch.patch_id; }, describe});
}

auto answer_with(SharedExchange exchange) {
  return [exchange](const std::expected<Patch, Error>& patch) {
    if (patch) {
      exchange->send(200, json::to_value(*patch));
    } else {
      exchange->refuse(patch.error());
    }
  };
}

void show(SharedExchange exchange) {
  const base::PatchId id = patch_id(*exchange);
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [id](ledger::Transaction& transaction) { return ledger::get_patch(transaction, id); }, answer_with(exchange));
}

void diff(SharedExchange exchange) {
  const base::PatchId id = patch_id(*exchange);
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [id](ledger::Transaction& transaction) { return ledger::get_patch(transaction, id); },
      [exchange](const std::expected<Patch, Error>& patch) {
        if (!patch) return exchange->refuse(patch.error());
        exchange->send({.content_type = "text/x-diff; charset=utf-8", .body = patch->diff});
      });
}

// APR-11: a run cannot decide about its own changes.
void act(SharedExchange exchange, Isolation::PatchAction action, std::string_view word) {
  const base::PatchId id = patch_id(*exchange);
  deny_in_run_caller(exchange, fmt::format("{} {}", word, id.text()));
  exchange->daemon.isolation().act(id, action, exchange->actor(), answer_with(exchange));
}

void apply(SharedExchange exchange) { act(std::move(exchange), Isolation::PatchAction::apply, "apply"); }
void drop(SharedExchange exchange) { act(std::move(exchange), Isolation::PatchAction::drop, "drop"); }
void rollback(SharedExchange exchange) { act(std::move(exchange), Isolation::PatchAction::rollback, "roll back"); }

}  // namespace

std::vector<Route> patch_routes() {
  return {{"GET", "/api/patches", list},         {"GET", "/api/patches/*", show},
          {"GET", "/api/patches/*/diff", diff},  {"POST", "/api/patches/*/apply", apply},
          {"POST", "/api/patches/*/drop", drop}, {"POST", "/api/patches/*/rollback", rollback}};
}

}  // namespace reeve::server
