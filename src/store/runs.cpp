#include "store/runs.h"

#include <algorithm>
#include <limits>

#include "json/encode.h"
#include "json/plain_reader.h"
#include "store/stored_json.h"
#include "store/stored_project.h"

namespace reeve::store {

namespace {

// Fast path: listings read thousands of these per second, and nearly all are plain.
template <class T>
T decode_column(std::string_view text) {
  T value{};
  json::PlainReader reader(text);
  if (reader.read(value) && reader.is_over()) return value;
  return decode_stored<T>(text);
}

}  // namespace

RunRow read_run(const Row& row) {
  RunRow result;
  model::Run& run = result.run;
  run.tool_run_id = base::RunId(row.integer(0));
  run.tool_name = row.text(1);
  if (const auto number = row.find_integer(2)) run.execution_id = base::ExecutionId(*number);
  run.node_id = row.find_text(3);
  if (const auto number = row.find_integer(4)) run.agent_id = base::AgentId(*number);
  run.status = row.word<model::RunStatus>(5);
  run.reason = row.find_text(6);
  if (!row.is_null(7)) run.outcome = row.word<model::Outcome>(7);
  if (const auto code = row.find_integer(8)) run.exit_code = static_cast<int>(*code);
  run.attempt = static_cast<int>(row.integer(9));
  run.argv = decode_column<std::vector<std::string>>(row.text(10));
  run.cwd = row.text(11);
  run.started_at = row.find_time(12);
  run.completed_at = row.find_time(13);
  run.duration_ms = row.find_integer(14);
  run.last_output_at = row.find_time(15);
  run.last_heartbeat_at = row.find_time(16);
  run.last_error = row.find_text(17);
  if (!row.is_null(18)) run.progress = decode_column<model::Progress>(row.text(18));
  if (!row.is_null(19)) run.usage = decode_column<model::Usage>(row.text(19));
  run.tool_errors = decode_column<std::vector<model::ToolError>>(row.text(20));
  run.metadata = decode_column<std::map<std::string, std::string>>(row.text(21));
  result.version = row.integer(22);
  run.project = find_project(row, 23);
  run.paused_at = row.find_time(24);
  run.seen_at = row.find_time(25);
  run.not_before = row.find_time(26);
  return result;
}

std::optional<RunRow> find_run(Session& session, base::RunId id) {
  std::optional<RunRow> found;
  session.query(Sql::run_load, {{"run", id.number()}}, [&](const Row& row) { found = read_run(row); });
  return found;
}

std::vector<model::Run> list_runs(Session& session, const RunFilter& filter) {
  // ",running,stalled,"
  std::string statuses;
  for (const model::RunStatus status : filter.statuses) {
    statuses += statuses.empty() ? "," : "";
    statuses += base::spell(status);
    statuses += ',';
  }
  const std::int64_t before = filter.before ? filter.before->number() : std::numeric_limits<std::int64_t>::max();
  std::vector<model::Run> found;
  const auto take = [&](const Row& row) { found.push_back(read_run(row).run); };
  // The history may be long, and both lists are mostly short.
  const auto has_only = [&](auto is_one) {
    return !filter.statuses.empty() && std::ranges::all_of(filter.statuses, is_one);
  };
  const bool is_alive = has_only([](model::RunStatus status) { return !is_final(status); });
  const bool has_failed = has_only([](model::RunStatus status) {
    return status == model::RunStatus::failed || status == model::RunStatus::failed_timeout;
  });
  if (is_alive) {
    session.query(Sql::runs_list_alive,
                  {{"before", before}, {"statuses", statuses}, {"project", filter.project}, {"most", filter.most}},
                  take);
  } else if (has_failed && !filter.project) {
    session.query(Sql::runs_list_failed, {{"before", before}, {"statuses", statuses}, {"most", filter.most}}, take);
  } else if (filter.project) {
    session.query(Sql::runs_list_of_project,
                  {{"project", *filter.project}, {"before", before}, {"statuses", statuses}, {"most", filter.most}},
                  take);
  } else {
    session.query(Sql::runs_list, {{"before", before}, {"statuses", statuses}, {"most", filter.most}}, take);
  }
  return found;
}

std::vector<model::Run> list_runs_of_tree(Session& session, base::ExecutionId root, std::int64_t most) {
  std::vector<model::Run> found;
  session.query(Sql::runs_of_tree, {{"root", root.number()}, {"most", most}},
                [&](const Row& row) { found.push_back(read_run(row).run); });
  return found;
}

std::vector<RemoteAttempt> list_remote_attempts(Session& session, base::ExecutionId root, const std::string& own_host,
                                                std::int64_t most) {
  std::vector<RemoteAttempt> found;
  session.query(Sql::attempts_remote, {{"root", root.number()}, {"host", own_host}, {"most", most}},
                [&](const Row& row) {
                  found.push_back({.run = base::RunId(row.integer(0)),
                                   .attempt = static_cast<int>(row.integer(1)),
                                   .host = std::string(row.text(2))});
                });
  return found;
}

std::optional<std::string> find_run_launch(Session& session, base::RunId id) {
  std::optional<std::string> launch;
  session.query(Sql::run_launch, {{"run", id.number()}}, [&](const Row& row) { launch = row.find_text(0); });
  return launch;
}

base::RunId insert_run(Session& session, const model::Run& run, const std::string& now,
                       const std::optional<std::string>& launch) {
  return base::RunId(session.insert(Sql::run_insert, "tool_runs",
                                    {{"tool_name", run.tool_name},
                                     {"execution", number_of(run.execution_id)},
                                     {"node_id", run.node_id},

                                     {"agent", number_of(run.agent_id)},
                                     {"argv", json::encode(json::to_value(run.argv))},
                                     {"cwd", run.cwd},
                                     {"metadata", json::encode(json::to_value(run.metadata))},
                                     {"now", now},
                                     {"project", path_of(run.project)},
                                     {"launch", launch}}));
}

}  // namespace reeve::store
