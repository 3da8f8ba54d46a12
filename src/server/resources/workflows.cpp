#include "project/workflows.h"

#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "json/describe.h"
#include "os/file.h"
#include "project/project.h"
#include "runtime/queries.h"
#include "server/access/project_policy.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/named_page.h"
#include "server/resources/own_project.h"
#include "server/resources/workflow_drawing.h"
#include "store/executions.h"
#include "wire/problem.h"

// /api/workflows: the project's files, and the versions that were started.
namespace reeve::server {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Value;

constexpr std::string_view hash_start = "sha256:";

std::int64_t count(std::size_t number) { return static_cast<std::int64_t>(number); }

Value show_file(const fs::path& project, const model::Config& config, const fs::path& file) {
  WorkflowItem item{.name = file.stem().string(), .file = file.string()};
  try {
    const auto source =
        std::make_shared<const spec::Source>(file.string(), os::read_file(file, base::limits::spec_file_bytes));
    const auto checked = project::check_workflow({.source = source, .project = project, .folder = {}}, config);
    if (checked) {
      item.workflow_id = checked->workflow.id;
      item.workflow_name = checked->workflow.name;
      item.version = checked->workflow.version;
      item.content_hash = checked->content_hash;
    }
    const base::Problems& problems = checked ? checked->warnings : checked.error();
    item.errors = count(problems.errors());
    item.warnings = count(problems.warnings());
  } catch (const Error&) {
    // Deleted since it was listed, or unreadable: listed anyway, but it cannot be started.
    item.errors = 1;
  }
  return json::to_value(item);
}

void list(SharedExchange exchange) {
  const fs::path project = project_of(*exchange);
  const model::Config config = load_config(*exchange);
  std::map<std::string, fs::path> files;
  for (const fs::path& file : project::list_workflow_files(project)) files.emplace(file.filename().string(), file);
  send_names(exchange, files,
             [&](const std::string&, const fs::path& file) { return show_file(project, config, file); });
}

// Calls `act` with the workflow of the path: a stored version by hash, or one of the project by name.
template <class Act>
void with_workflow(const SharedExchange& exchange, Act act) {
  const std::string name = exchange->parts.at(0);
  if (!name.starts_with(hash_start)) {
    const auto place = project::find_workflow(project_of(*exchange), name);
    const auto checked = project::check_workflow(place, load_config(*exchange));
    if (!checked) return exchange->refuse(ErrorCode::flow_invalid, "the workflow is not valid", checked.error());
    return act(checked->workflow, checked->content_hash);
  }
  exchange->daemon.queries().find_workflow(
      name, [exchange, act, name](const std::expected<std::optional<store::StoredWorkflow>, Error>& found) {
        exchange->go_on([&] {
          if (!found) throw found.error();
          if (!*found) {
            throw Error(ErrorCode::flow_not_found,
                        fmt::format("no workflow with the hash {} was ever started", base::quoted(name)),
                        "GET /api/workflows/NAME/versions lists the started versions");
          }
          act(runtime::decode_workflow(**found), name);
        });
      });
}

void show(SharedExchange exchange) {
  with_workflow(exchange, [exchange](const model::Workflow& workflow, const std::string& hash) {
    exchange->send(200, json::to_value(make_workflow_record(workflow, hash)));
  });
}

void draw(SharedExchange exchange) {
  check_drawing(*exchange);
  with_workflow(exchange,
                [exchange](const model::Workflow& workflow, const std::string&) { send_drawing(exchange, workflow); });
}

// "2026-11-16T08:00:00.000Z,sha256:…"
struct VersionCursor {
  base::WallTime at;
  std::string hash;

  static std::optional<VersionCursor> parse(std::string_view text) {
    const std::size_t comma = text.find(',');
    const auto time = base::parse_time(text.substr(0, comma));
    if (!time || comma == std::string_view::npos || text.find('\0') != std::string_view::npos) return std::nullopt;
    return VersionCursor{*time, std::string(text.substr(comma + 1))};
  }
  std::string text() const { return fmt::format("{},{}", base::format_time(at), hash); }
};

void versions(SharedExchange exchange) {
  store::VersionFilter filter{.workflow = exchange->parts.at(0),
                              .most = exchange->query_integer("limit", listed_by_default, 1, max_listed)};
  if (const auto cursor = parse_cursor<VersionCursor>(*exchange)) filter.before.emplace(cursor->at, cursor->hash);
  send_page(exchange, std::move(filter),
            Listing{&runtime::Queries::list_workflow_versions,
                    [](const store::WorkflowVersion& version) {
                      return VersionCursor{version.created_at, version.content_hash};
                    },
                    [](const store::WorkflowVersion& version) { return json::to_value(version); }});
}

void validate(SharedExchange exchange) {
  const Value& body = exchange->body();
  const auto source = find_text(body, "source", base::limits::spec_file_bytes);
  if (!source) throw Error(ErrorCode::api_bad_request, "`source` is required: the text of a workflow");
  const std::string file = find_text(body, "file", longest_text).value_or("<workflow>");
  project::WorkflowPlace place{
      .source = std::make_shared<const spec::Source>(file, *source), .project = {}, .folder = {}};
  const fs::path named = named_project(*exchange, find_text(body, "project", longest_text));
  const fs::path project = named.empty() ? own_project(exchange->daemon) : named;
  if (!project.empty()) place.project = project;
  // Workflows next to the file, if its path is known. For a caller that may not name paths, it is only a name.
  if (fs::path(file).is_absolute() && may_name_paths(*exchange)) place.folder = fs::path(file).parent_path();
  const auto checked = project::check_workflow(place, load_config_around(*exchange, named));
  const base::Problems& problems = checked ? checked->warnings : checked.error();
  Value document = Value::object();
  document.set("valid", Value::boolean(checked.has_value()));
  document.set("errors", Value::integer(count(problems.errors())));
  document.set("warnings", Value::integer(count(problems.warnings())));
  document.set("problems", wire::problem_list(problems));
  document.set("workflow",
               checked ? json::to_value(make_workflow_record(checked->workflow, checked->content_hash)) : Value());
  exchange->send(200, document);
}

Value validation(json::Schemas& schemas, const Value& workflow) {
  const Value number = schemas.of<std::int64_t>();
  return schemas.add("Validation",
                     json::object_schema({{"valid", schemas.of<bool>()},
                                          {"errors", number},
                                          {"warnings", number},
                                          {"problems", json::array_schema(json::reference_schema("FileProblem"))},
                                          {"workflow", json::nullable_schema(workflow)}},
                                         {"valid", "errors", "warnings", "problems", "workflow"}));
}

}  // namespace

std::vector<Operation> workflow_operations(json::Schemas& schemas) {
  const Value workflow = schemas.of<WorkflowRecord>();
  std::vector<Parameter> drawing = {project_parameter()};
  std::ranges::move(drawing_parameters(), std::back_inserter(drawing));
  return {
      {.method = "GET",
       .path = "/api/workflows",
       .handle = list,
       .name = "listWorkflows",
       .inside = InRunAccess::refused,
       .summary = "List the project's workflow files, by name",
       .query = {project_parameter(), limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "WorkflowPage", schemas.of<WorkflowItem>())}},
       .errors = {ErrorCode::config_invalid}},
      {.method = "GET",
       .path = "/api/workflows/{name}",
       .handle = show,
       .name = "getWorkflow",
       .inside = InRunAccess::refused,
       .summary = "Get a workflow of the project by id, name or file name, or a started version by its `sha256:…`",
       .query = {project_parameter()},
       .replies = {{200, workflow}},
       .errors = {ErrorCode::flow_not_found, ErrorCode::flow_invalid, ErrorCode::config_invalid},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/workflows/{name}/graph",
       .handle = draw,
       .name = "drawWorkflow",
       .inside = InRunAccess::refused,
       .summary = "Draw a workflow (GRF-15)",
       .query = drawing,
       .replies = drawing_replies(),
       .errors = {ErrorCode::flow_not_found, ErrorCode::flow_invalid, ErrorCode::config_invalid}},
      {.method = "GET",
       .path = "/api/workflows/{name}/versions",
       .handle = versions,
       .name = "listWorkflowVersions",
       .inside = InRunAccess::refused,
       .summary = "List the started versions of a workflow, by its id or name, newest first",
       .query = {limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "WorkflowVersionPage", schemas.of<store::WorkflowVersion>())}}},
      {.method = "POST",
       .path = "/api/workflows/validate",
       .handle = validate,
       .name = "validateWorkflow",
       .inside = InRunAccess::refused,
       .summary =
           "Report every error in a workflow text (GRF-1). `file`: its name in messages; if absolute, its folder is "
           "searched for referenced workflows. `project`: a folder of the project whose config applies",
       .body = json::object_schema({{"source", json::string_schema()},
                                    {"file", json::nullable_schema(json::string_schema())},
                                    {"project", json::nullable_schema(json::string_schema())}},
                                   {"source"}),
       .replies = {{200, validation(schemas, workflow)}},
       .errors = {ErrorCode::config_invalid}}};
}

}  // namespace reeve::server
