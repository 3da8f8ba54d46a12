#include "store/patches.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "ledger/patches.h"
#include "runtime/isolation.h"
#include "runtime/store_task.h"
#include "server/api.h"
#include "server/insider.h"

// /api/patches
namespace reeve::server {

namespace {

using base::Error;
using base::Value;
using model::Patch;
using model::PatchState;
using runtime::Isolation;

constexpr std::int64_t most_listed = 500;

base::PatchId patch_id(const Exchange& exchange) {
  const auto id = base::PatchId::parse(exchange.parts.at(0));
  if (!id) {
    throw Error("patch.not_found", fmt::format("there is no patch {}", base::quoted(exchange.parts.at(0))),
                "ids look like PA-3");
  }
  return *id;
}

std::vector<PatchState> parse_states(const std::optional<std::string>& text) {
  std::vector<PatchState> states;
  if (!text || text->empty()) return states;
  for (const std::string_view word : base::split(*text, ',')) {
    const auto state = base::find_enum<PatchState>(word);
    if (!state) {
      throw Error("api.bad_request", fmt::format("there is no state {}", base::quoted(word)),
                  fmt::format("states are {}", fmt::join(base::spellings<PatchState>(), ", ")));
    }
    states.push_back(*state);
  }
  return states;
}

// A record of a listing: without its diff, which can be large.
Value describe(const Patch& patch) {
  Value document = json::to_value(patch);
  std::erase_if(*document.as_object(), [](const base::Member& member) { return member.key == "diff"; });
  return document;
}

void list(SharedExchange exchange) {
  store::PatchFilter filter{.states = parse_states(exchange->query("state")),
                            .most = exchange->query_integer("limit", 50, 1, most_listed)};
  if (const auto execution = exchange->query("execution")) {
    filter.execution = base::ExecutionId::parse(*execution);
    if (!filter.execution) {
      throw Error("api.bad_request", "`execution` is no id of an execution", "ids look like EX-9");
    }
  }
  if (const auto cursor = exchange->query("cursor")) {
    filter.before = base::PatchId::parse(*cursor);
    if (!filter.before) throw Error("api.bad_request", "`cursor` is none that was given out");
  }
  // One more than asked for tells whether there are more.
  const std::int64_t asked = filter.most++;
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [filter](ledger::Transaction& transaction) { return store::list_patches(transaction.session(), filter); },
      [exchange, asked](std::expected<std::vector<Patch>, Error> patches) {
        if (!patches) return exchange->refuse(patches.error());
        const bool has_more = static_cast<std::int64_t>(patches->size()) > asked;
        if (has_more) patches->pop_back();
        Value::Array items;
        for (const Patch& patch : *patches) items.push_back(describe(patch));
        Value document = Value::object();
        document.set("next_cursor", has_more ? Value::string(patches->back().patch_id.text()) : Value());
        document.set("items", Value::array(std::move(items)));
        exchange->send(200, document);
      });
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

// APR-11: what a run changed goes no further by its own word.
void act(SharedExchange exchange, Isolation::PatchAction action, std::string_view word) {
  const base::PatchId id = patch_id(*exchange);
  refuse_insider(exchange, fmt::format("{} {}", word, id.text()));
  exchange->daemon.isolation().act(id, action, exchange->actor(), answer_with(exchange));
}

void apply(SharedExchange exchange) { act(std::move(exchange), Isolation::PatchAction::apply, "apply"); }
void drop(SharedExchange exchange) { act(std::move(exchange), Isolation::PatchAction::drop, "drop"); }
void rollback(SharedExchange exchange) { act(std::move(exchange), Isolation::PatchAction::rollback, "roll back"); }

}  // namespace

std::vector<Route> patch_routes() {
  return {{"GET", "/api/patches", list},
          {"GET", "/api/patches/*", show},
          {"POST", "/api/patches/*/apply", apply},
          {"POST", "/api/patches/*/drop", drop},
          {"POST", "/api/patches/*/rollback", rollback}};
}

}  // namespace reeve::server
