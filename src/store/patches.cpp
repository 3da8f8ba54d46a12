#include "store/patches.h"

#include <algorithm>
#include <limits>

#include "json/encode.h"
#include "store/stored_json.h"
#include "store/stored_project.h"

namespace reeve::store {

namespace {

constexpr int project_column = 15;
constexpr int diff_column = 16;

PatchRow read_patch(const Row& row) {
  PatchRow result;
  model::Patch& patch = result.patch;
  patch.patch_id = base::PatchId(row.integer(0));
  patch.execution_id = base::ExecutionId(row.find_integer(1).value_or(0));
  patch.root_id = base::ExecutionId(row.find_integer(2).value_or(patch.execution_id.number()));
  patch.node_id = row.text(3);
  patch.iteration = static_cast<int>(row.integer(4));
  patch.attempt = static_cast<int>(row.integer(5));
  patch.base_commit = row.text(6);
  patch.commit = row.text(7);
  patch.branch_commit = row.find_text(8);
  patch.applied_commit = row.find_text(9);
  patch.files = decode_stored<std::vector<model::PatchFile>>(row.text(10));
  patch.state = row.word<model::PatchState>(11);
  patch.history = decode_stored<std::vector<model::PatchStep>>(row.text(12));
  patch.created_at = row.time(13);
  result.version = row.integer(14);
  patch.project = find_project(row, project_column);
  return result;
}

}  // namespace

std::optional<PatchRow> find_patch(Session& session, base::PatchId id) {
  std::optional<PatchRow> found;
  session.query(Sql::patch_load, {{"patch", id.number()}}, [&](const Row& row) {
    found = read_patch(row);
    found->patch.diff = row.text(diff_column);
  });
  return found;
}

std::optional<PatchRow> find_patch(Session& session, const PatchPlace& place) {
  std::optional<PatchRow> found;
  session.query(Sql::patch_of_place,
                {{"root", place.root.number()},
                 {"execution", place.execution.number()},
                 {"node_id", place.node_id},
                 {"iteration", place.iteration},
                 {"attempt", place.attempt}},
                [&](const Row& row) { found = read_patch(row); });
  return found;
}

std::vector<PatchRow> find_patches(Session& session, base::ExecutionId root) {
  std::vector<PatchRow> found;
  session.query(Sql::patches_of_root, {{"root", root.number()}},
                [&](const Row& row) { found.push_back(read_patch(row)); });
  return found;
}

std::vector<model::Patch> list_patches(Session& session, const PatchFilter& filter) {
  // ",created,validated,"
  std::string states;
  for (const model::PatchState state : filter.states) {
    states += states.empty() ? "," : "";
    states += base::spell(state);
    states += ',';
  }
  const std::int64_t before = filter.before ? filter.before->number() : std::numeric_limits<std::int64_t>::max();
  std::vector<model::Patch> found;
  const auto take = [&](const Row& row) { found.push_back(read_patch(row).patch); };
  if (filter.execution) {
    session.query(
        Sql::patches_list_of_execution,
        {{"execution", filter.execution->number()}, {"before", before}, {"states", states}, {"most", filter.most}},
        take);
  } else {
    const bool is_unapplied = !filter.states.empty() && std::ranges::all_of(filter.states, [](model::PatchState state) {
      return state == model::PatchState::conflicted || state == model::PatchState::apply_failed;
    });
    session.query(is_unapplied ? Sql::patches_list_unapplied : Sql::patches_list,
                  {{"before", before}, {"states", states}, {"project", filter.project}, {"most", filter.most}}, take);
  }
  return found;
}

base::PatchId insert_patch(Session& session, const model::Patch& patch, const std::string& now) {
  const std::string files = json::encode(json::to_value(patch.files));
  const std::string history = json::encode(json::to_value(patch.history));
  return base::PatchId(session.insert(Sql::patch_insert, "patch_ledger",
                                      {{"execution", patch.execution_id.number()},
                                       {"root", patch.root_id.number()},
                                       {"node_id", patch.node_id},
                                       {"iteration", patch.iteration},
                                       {"attempt", patch.attempt},
                                       {"base_commit", patch.base_commit},
                                       {"commit", patch.commit},
                                       {"files", files},
                                       {"diff", patch.diff},
                                       {"history", history},
                                       {"now", now}}));
}

void write_patch_move(Session& session, const PatchRow& row) {
  const model::Patch& patch = row.patch;
  const std::string history = json::encode(json::to_value(patch.history));
  session.write(Sql::patch_move, {{"state", patch.state},
                                  {"history", history},
                                  {"branch_commit", patch.branch_commit},
                                  {"applied_commit", patch.applied_commit},
                                  {"patch", patch.patch_id.number()},
                                  {"version", row.version}});
}

void write_patch_change(Session& session, const PatchRow& row) {
  const model::Patch& patch = row.patch;
  const std::string files = json::encode(json::to_value(patch.files));
  session.write(Sql::patch_change, {{"base_commit", patch.base_commit},
                                    {"commit", patch.commit},
                                    {"files", files},
                                    {"diff", patch.diff},
                                    {"patch", patch.patch_id.number()},
                                    {"version", row.version}});
}

}  // namespace reeve::store
