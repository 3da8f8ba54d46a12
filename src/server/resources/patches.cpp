#include "store/patches.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "model/patch.h"
#include "runtime/isolation/isolation.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/listing.h"

// /api/patches
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using model::Patch;
using model::PatchState;
using runtime::Isolation;

base::PatchId patch_id(const Exchange& exchange) {
  const auto id = base::PatchId::parse(exchange.parts.at(0));
  if (!id) {
    throw Error(ErrorCode::patch_not_found, fmt::format("there is no patch {}", base::quoted(exchange.parts.at(0))),
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
      throw Error(ErrorCode::api_bad_request, "`execution` is not a valid execution id", "ids look like EX-9");
    }
  }
  filter.project = parse_project_filter(*exchange);
  if (filter.execution && filter.project) {
    throw Error(ErrorCode::api_bad_request, "`execution` and `project` cannot be combined", "omit one of them");
  }
  send_page(exchange, std::move(filter),
            Listing{&runtime::Queries::list_patches, [](const Patch& patch) { return patch.patch_id; }, describe});
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

void show(SharedExchange exchange) { exchange->daemon.queries().get_patch(patch_id(*exchange), answer_with(exchange)); }

void diff(SharedExchange exchange) {
  exchange->daemon.queries().get_patch(patch_id(*exchange), [exchange](const std::expected<Patch, Error>& patch) {
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

struct Change {
  std::string_view path;
  void (&handle)(SharedExchange exchange);
  std::string_view name;
  std::string_view summary;
};

Operation make_operation(const Change& change, const Value& patch) {
  return {.method = "POST",
          .path = change.path,
          .handle = change.handle,
          .name = change.name,
          .inside = InRunAccess::reported,
          .summary = change.summary,
          .scope = Scope::approve,
          .body = json::object_schema({}, {}),
          .replies = {{200, patch}},
          .errors = {ErrorCode::patch_not_found, ErrorCode::patch_state, ErrorCode::patch_illegal_move,
                     ErrorCode::patch_conflicted, ErrorCode::patch_gate_refused, ErrorCode::patch_not_applied,
                     ErrorCode::patch_no_repository, ErrorCode::git_dirty, ErrorCode::git_moved,
                     ErrorCode::git_branch_in_use, ErrorCode::git_elsewhere, ErrorCode::git_not_a_repository,
                     ErrorCode::git_checkout_busy, ErrorCode::git_busy, ErrorCode::approval_inside_run,
                     ErrorCode::api_peer_gone},
          .idempotency = IdempotencyMode::answer};
}

}  // namespace

std::vector<Operation> patch_operations(json::Schemas& schemas) {
  const Value patch = schemas.of<model::Patch>();
  const Value summary = schemas.without(patch, "PatchSummary", {"diff"});
  return {{.method = "GET",
           .path = "/api/patches",
           .handle = list,
           .name = "listPatches",
           .inside = InRunAccess::refused,
           .summary = "List patches, newest first, without diffs",
           .query = {{"execution", json::string_schema("^[Ee][Xx]-[1-9][0-9]*$"), "only patches of this execution"},
                     project_filter(),
                     words_parameter("state", base::spellings<model::PatchState>(), "only patches in these states"),
                     limit_parameter(),
                     cursor_parameter()},
           .replies = {{200, page_of(schemas, "PatchPage", summary)}}},
          {.method = "GET",
           .path = "/api/patches/{id}",
           .handle = show,
           .name = "getPatch",
           .inside = InRunAccess::refused,
           .summary = "Get a patch with its diff and history",
           .replies = {{200, patch}},
           .errors = {ErrorCode::patch_not_found},
           .is_tagged = true},
          {.method = "GET",
           .path = "/api/patches/{id}/diff",
           .handle = diff,
           .name = "getPatchDiff",
           .inside = InRunAccess::refused,
           .summary = "Get only the diff",
           .replies = {{200, json::string_schema(), "text/x-diff"}},
           .errors = {ErrorCode::patch_not_found},
           .is_tagged = true},
          make_operation({"/api/patches/{id}/apply", apply, "applyPatch",
                          "Apply a patch to the user's checkout; repeating it changes nothing"},
                         patch),
          make_operation({"/api/patches/{id}/drop", drop, "dropPatch", "Discard a patch"}, patch),
          make_operation({"/api/patches/{id}/rollback", rollback, "rollBackPatch",
                          "Remove an applied patch from the user's checkout"},
                         patch)};
}

}  // namespace reeve::server
