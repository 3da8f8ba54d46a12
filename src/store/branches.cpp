#include "store/branches.h"

namespace reeve::store {

namespace {

BranchRow read_branch(const Row& row) {
  return {.root = base::ExecutionId(row.integer(0)),
          .host = std::string(row.text(1)),
          .project = std::string(row.text(2)),
          .base_commit = std::string(row.text(3)),
          .tip = std::string(row.text(4)),
          .is_open = row.integer(5) != 0,
          .home = std::string(row.text(6)),
          .remote = row.find_text(7),
          .pushed = row.find_text(8),
          .sending = row.find_text(9)};
}

WorktreeRow read_worktree(const Row& row) {
  WorktreeRow result{.name = std::string(row.text(0)),
                     .is_ready = row.integer(1) != 0,
                     .base_commit = std::string(row.text(6)),
                     .start_commit = std::string(row.text(7)),
                     .kept_commit = std::string(row.text(8))};
  if (const auto execution = row.find_integer(2)) {
    result.holder = WorktreeLease{base::ExecutionId(*execution), std::string(row.text(3)),
                                  static_cast<int>(row.integer(4)), static_cast<int>(row.integer(5))};
  }
  return result;
}

}  // namespace

std::optional<BranchRow> find_branch(Session& session, base::ExecutionId root) {
  std::optional<BranchRow> found;
  session.query(Sql::branch_load, {{"root", root.number()}}, [&](const Row& row) { found = read_branch(row); });
  return found;
}

std::vector<BranchRow> find_open_branches(Session& session, const std::string& host) {
  std::vector<BranchRow> found;
  session.query(Sql::branches_open, {{"host", host}}, [&](const Row& row) { found.push_back(read_branch(row)); });
  return found;
}

void insert_branch(Session& session, const BranchRow& row) {
  session.write(Sql::branch_insert, {{"root", row.root.number()},
                                     {"host", row.host},
                                     {"project", row.project},
                                     {"base_commit", row.base_commit},
                                     {"remote", row.remote}});
}

void move_branch(Session& session, const BranchRow& from, const std::string& tip) {
  session.write(Sql::branch_move,
                {{"tip", tip}, {"root", from.root.number()}, {"from", from.tip}, {"home", from.home}});
}

void write_pushed(Session& session, const BranchRow& from, const std::optional<std::string>& pushed,
                  const std::optional<std::string>& sending) {
  session.write(Sql::branch_push,
                {{"pushed", pushed}, {"sending", sending}, {"root", from.root.number()}, {"home", from.home}});
}

void move_owner_host(Session& session, const BranchRow& from, const std::string& host) {
  session.write(Sql::branch_rehome,
                {{"host", host}, {"root", from.root.number()}, {"from", from.home}, {"tip", from.tip}});
  session.write_any(Sql::worktrees_vacate, {{"root", from.root.number()}, {"host", host}});
}

void set_branch_open(Session& session, base::ExecutionId root, bool is_open) {
  session.write(Sql::branch_open, {{"is_open", std::int64_t{is_open}}, {"root", root.number()}});
}

std::optional<std::string> find_branch_place(Session& session, base::ExecutionId root, const std::string& host) {
  std::optional<std::string> project;
  session.query(Sql::branch_place_load, {{"root", root.number()}, {"host", host}},
                [&](const Row& row) { project = row.text(0); });
  return project;
}

void write_branch_place(Session& session, base::ExecutionId root, const std::string& host, const std::string& project) {
  session.write(Sql::branch_place_write, {{"root", root.number()}, {"host", host}, {"project", project}});
}

void delete_branch_place(Session& session, base::ExecutionId root, const std::string& host) {
  session.write_any(Sql::branch_place_delete, {{"root", root.number()}, {"host", host}});
}

std::vector<WorktreeRow> find_worktrees(Session& session, base::ExecutionId root, const std::string& host) {
  std::vector<WorktreeRow> found;
  session.query(Sql::worktrees_load, {{"root", root.number()}, {"host", host}},
                [&](const Row& row) { found.push_back(read_worktree(row)); });
  return found;
}

void write_worktree(Session& session, base::ExecutionId root, const std::string& host, const WorktreeRow& row) {
  std::optional<std::int64_t> execution;
  std::optional<std::string> node_id;
  std::optional<std::int64_t> iteration;
  std::optional<std::int64_t> attempt;
  if (row.holder) {
    execution = row.holder->execution.number();
    node_id = row.holder->node_id;
    iteration = row.holder->iteration;
    attempt = row.holder->attempt;
  }
  session.write(Sql::worktree_write, {{"root", root.number()},
                                      {"host", host},
                                      {"name", row.name},
                                      {"is_ready", std::int64_t{row.is_ready}},
                                      {"execution", execution},
                                      {"node_id", node_id},
                                      {"iteration", iteration},
                                      {"attempt", attempt},
                                      {"base_commit", row.base_commit},
                                      {"start_commit", row.start_commit},
                                      {"kept_commit", row.kept_commit}});
}

void delete_worktree(Session& session, base::ExecutionId root, const std::string& host, const std::string& name) {
  session.write_any(Sql::worktree_delete, {{"root", root.number()}, {"host", host}, {"name", name}});
}

}  // namespace reeve::store
