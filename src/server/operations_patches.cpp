#include "model/patch.h"
#include "server/operations.h"

// /api/patches as it is promised (ISO-4).
namespace reeve::server {

namespace {

using base::Value;

Operation act(std::string_view path, std::string_view name, std::string_view summary, const Value& patch) {
  return {.method = "POST",
          .path = path,
          .name = name,
          .inside = Inside::reported,
          .summary = summary,
          .scope = Scope::approve,
          .body = json::object_schema({}, {}),
          .replies = {{200, patch}},
          .errors = {"patch.not_found", "patch.state", "patch.illegal_move", "patch.conflicted", "patch.gate_refused",
                     "patch.not_applied", "patch.no_repository", "git.dirty", "git.moved", "git.branch_in_use",
                     "git.elsewhere", "git.not_a_repository", "git.checkout_busy", "git.busy", "approval.inside_run",
                     "api.peer_gone"},
          .keeping = Keeping::answer};
}

}  // namespace

std::vector<Operation> patch_operations(json::Schemas& schemas) {
  const Value patch = schemas.of<model::Patch>();
  const Value summary = schemas.without(patch, "PatchSummary", {"diff"});
  return {{.method = "GET",
           .path = "/api/patches",
           .name = "listPatches",
           .inside = Inside::refused,
           .summary = "Newest first, without their diffs",
           .query = {{"execution", json::string_schema("^[Ee][Xx]-[1-9][0-9]*$"), "only those of that execution"},
                     words_parameter("state", base::spellings<model::PatchState>(), "only those"),
                     limit_parameter(),
                     cursor_parameter()},
           .replies = {{200, page_of(schemas, "PatchPage", summary)}}},
          {.method = "GET",
           .path = "/api/patches/{id}",
           .name = "getPatch",
           .inside = Inside::refused,
           .summary = "One patch with its diff and its history",
           .replies = {{200, patch}},
           .errors = {"patch.not_found"},
           .is_tagged = true},
          {.method = "GET",
           .path = "/api/patches/{id}/diff",
           .name = "getPatchDiff",
           .inside = Inside::refused,
           .summary = "The diff alone",
           .replies = {{200, json::string_schema(), "text/x-diff"}},
           .errors = {"patch.not_found"},
           .is_tagged = true},
          act("/api/patches/{id}/apply", "applyPatch", "Into the person's checkout; again: the same", patch),
          act("/api/patches/{id}/drop", "dropPatch", "It goes no further", patch),
          act("/api/patches/{id}/rollback", "rollBackPatch", "Out of the person's checkout again", patch)};
}

}  // namespace reeve::server
