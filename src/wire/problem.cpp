#include "wire/problem.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace reeve::wire {

namespace {

using base::Value;

Value text_or_null(std::string_view text) { return text.empty() ? Value() : Value::string(text); }

Value integer(std::size_t number) { return Value::integer(static_cast<std::int64_t>(number)); }

Value record(const base::Problem& problem) {
  Value object = Value::object();
  object.set("severity", Value::string(problem.severity == base::Severity::error ? "error" : "warning"));
  object.set("code", Value::string(problem.code));
  object.set("message", Value::string(problem.message));
  object.set("file", problem.place ? Value::string(problem.place->file) : Value());
  object.set("line", problem.place ? integer(problem.place->line) : Value());
  object.set("column", problem.place ? integer(problem.place->column) : Value());
  object.set("length", problem.place ? integer(problem.place->length) : Value());
  object.set("hint", text_or_null(problem.hint));
  object.set("allowed", text_or_null(problem.allowed));
  object.set("fix", text_or_null(problem.fix));
  return object;
}

Value document(std::string_view code, std::string_view title, int status, std::string_view detail,
               std::string_view fix) {
  Value object = Value::object();
  object.set("type", Value::string(fmt::format("urn:reeve:problem:{}", code)));
  object.set("title", Value::string(title));
  object.set("status", Value::integer(status));
  object.set("code", Value::string(code));
  object.set("detail", Value::string(detail));
  object.set("fix", text_or_null(fix));
  return object;
}

}  // namespace

int http_status(std::string_view code) noexcept {
  constexpr auto known = std::to_array<std::pair<std::string_view, int>>({
      {"cli.usage", 400},
      {"api.bad_request", 400},
      {"api.no_route", 404},
      {"api.method_not_allowed", 405},
      {"api.unsupported_media_type", 415},
      {"api.key_reused", 422},
      {"api.key_in_progress", 409},
      {"api.precondition_failed", 412},
      {"flow.invalid", 422},
      {"pipeline.invalid", 422},
      {"events.no_names", 400},
      {"events.too_many_names", 400},
      {"events.unknown_name", 400},
      {"events.since_ahead", 409},
      {"api.upgrade_required", 426},
      {"http.bad_upgrade", 400},
      {"api.unauthorized", 401},
      {"api.forbidden", 403},
      {"api.forged", 403},
      {"api.wrong_origin", 403},
      {"api.bad_code", 403},
      {"api.wrong_host", 421},
      {"api.too_many_failures", 429},
      {"token.already_exists", 409},
      {"token.too_many", 409},
      {"run.bad_request", 422},
      {"run.no_command", 422},
      {"run.unknown_tool", 422},
      {"run.headless_unsupported", 422},
      {"run.sandbox_unavailable", 422},
      {"run.not_running", 409},
      {"run.illegal_move", 409},
      {"run.no_input", 409},
      {"run.not_here", 409},
      {"run.no_descriptors", 503},
      {"run.inside_run", 403},
      {"approval.inside_run", 403},
      {"approval.one_at_a_time", 409},
      {"approval.gate_asks", 409},
      {"api.peer_gone", 403},
      {"api.peer_hidden", 403},
      {"api.inside_run", 403},
      {"api.not_from_a_run", 403},
      {"api.not_from_a_sandbox", 403},
      {"approval.already_resolved", 409},
      {"approval.expired", 409},
      {"approval.unknown_choice", 422},
      {"approval.choice_needed", 422},
      {"approval.contradiction", 422},
      {"approval.secret_needed", 422},
      {"execution.over", 409},
      {"execution.not_failed", 409},
      {"execution.is_part", 409},
      {"execution.imported", 409},
      {"import.unreadable", 422},
      {"import.not_a_database", 422},
      {"import.damaged", 422},
      {"import.too_large", 422},
      {"import.too_slow", 422},
      {"import.no_tables", 422},
      {"import.own_database", 409},
      {"import.busy", 409},
      {"import.not_here", 403},
      {"import.stopped", 503},
      {"execution.inside_run", 403},
      {"patch.state", 409},
      {"patch.illegal_move", 409},
      {"patch.conflicted", 409},
      {"patch.gate_refused", 409},
      {"patch.not_applied", 409},
      {"patch.no_repository", 409},
      {"git.dirty", 409},
      {"git.moved", 409},
      {"git.branch_in_use", 409},
      {"git.elsewhere", 409},
      {"git.remote_moved", 409},
      {"git.not_a_repository", 409},
      {"config.invalid", 422},
      {"pipeline.no_file", 404},
      {"pipeline.not_waiting", 409},
      {"pipeline.rejected", 409},
      {"git.no_commits", 422},
      {"git.unsafe_folder", 422},
      {"git.missing", 422},
      {"git.no_remote", 422},
      {"git.unsafe_remote", 422},
      {"git.remote_failed", 422},
      {"git.checkout_busy", 503},
      {"git.busy", 503},
      {"daemon.not_ready", 503},
      {"store.busy", 503},
      {"store.unavailable", 503},
      {"store.unknown_outcome", 503},
      {"store.files_removed", 503},
      {"project.moved", 409},
  });
  if (code.ends_with(".not_found")) return 404;
  // A node that cannot be run: reported before anything starts.
  if (code.starts_with("node.")) return 422;
  const auto found = std::ranges::find(known, code, &std::pair<std::string_view, int>::first);
  return found != known.end() ? found->second : 500;
}

Value problem_list(const base::Problems& problems) {
  Value::Array list;
  for (const base::Problem& problem : problems.list()) list.push_back(record(problem));
  return Value::array(std::move(list));
}

Value problem_document(std::string_view code, std::string_view title, const base::Problems& problems) {
  Value object =
      document(code, title, 422, fmt::format("{} errors, {} warnings", problems.errors(), problems.warnings()), {});
  object.set("errors", problem_list(problems));
  return object;
}

Value problem_document(const base::Error& error) {
  Value object = document(error.code(), error.message(), http_status(error.code()), error.message(), error.fix());
  object.set("errors", Value::array());
  return object;
}

}  // namespace reeve::wire
