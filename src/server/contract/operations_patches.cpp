#include "model/patch.h"
#include "server/contract/operations.h"

// Contract of /api/patches (ISO-4).
namespace reeve::server {

namespace {

using base::Value;

Operation act(std::string_view path, std::string_view name, std::string_view summary, const Value& patch) {
  return {.method = "POST",
          .path = path,
          .name = name,
          .inside = InRunAccess::reported,
          .summary = summary,
          .scope = Scope::approve,
          .body = json::object_schema({}, {}),
          .replies = {{200, patch}},
          .errors = {"patch.not_found", "patch.state", "patch.illegal_move", "patch.conflicted", "patch.gate_refused",
                     "patch.not_applied", "patch.no_repository", "git.dirty", "git.moved", "git.branch_in_use",
                     "git.elsewhere", "git.not_a_repository", "git.checkout_busy", "git.busy", "approval.inside_run",
                     "api.peer_gone"},
          .idempotency = IdempotencyMode::answer};
}

}  // namespace

std::vector<Operation> patch_operations(json::Schemas& schemas) {
  const Value patch = schemas.of<model::Patch>();
  const Value summary = schemas.without(patch, "PatchSummary", {"diff"});
  return {
      {.method = "GET",
       .path = "/api/patches",
       .name = "listPatches",
       .inside = InRunAccess::refused,
       .summary = "List patches, newest first, without diffs",
       .query = {{"execution", json::string_schema("^[Ee][Xx]-[1-9][0-9]*$"), "only patches of this execution"},
                 words_parameter("state", base::spellings<model::PatchState>(), "only patches in these states"),
                 limit_parameter(),
                 cursor_parameter()},
       .replies = {{200, page_of(schemas, "PatchPage", summary)}}},
      {.method = "GET",
       .path = "/api/patches/{id}",
       .name = "getPatch",
       .inside = InRunAccess::refused,
       .summary = "Get a patch with its diff and history",
       .replies = {{200, patch}},
       .errors = {"patch.not_found"},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/patches/{id}/diff",
       .name = "getPatchDiff",
       .inside = InRunAccess::refused,
       .summary = "Get only the diff",
       .replies = {{200, json::string_schema(), "text/x-diff"}},
       .errors = {"patch.not_found"},
       .is_tagged = true},
      act("/api/patches/{id}/apply", "applyPatch", "Apply a patch to the user's checkout; repeating it changes nothing",
          patch),
      act("/api/patches/{id}/drop", "dropPatch", "Discard a patch", patch),
      act("/api/patches/{id}/rollback", "rollBackPatch", "Remove an applied patch from the user's checkout", patch)};
}

}  // namespace reeve::server
