#include "cli/live/flow_check.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/connect.h"
#include "cli/host.h"
#include "cli/live/workflow_record.h"
#include "cli/read_problems.h"
#include "client/daemon.h"
#include "client/refusal.h"
#include "project/project.h"
#include "project/workflows.h"

namespace reeve::cli {

namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Value;

Value find_member(const Value& document, std::string_view key) {
  const Value* found = document.find(key);
  return found != nullptr ? *found : Value();
}

// Sends the text; the daemon looks up the names in it.
base::Result<CheckedFlow> check_text(client::Daemon& daemon, const std::string& file) {
  const auto read = project::read_source(file);
  const bool is_here = !is_elsewhere(daemon.place()) && file != "-";
  // A daemon on this machine can also read the files next to it.
  const std::string name = is_here ? fs::absolute(file).lexically_normal().string() : read->name();
  Value request = Value::object();
  request.set("source", Value::string(read->text()));
  request.set("file", Value::string(name));
  const Value answer = daemon.post("/api/workflows/validate", request);
  const Value problems = find_member(answer, "problems");
  CheckedFlow checked{
      .record = find_member(answer, "workflow"),
      .warnings = read_problems(&problems, is_here ? Files::here : Files::elsewhere, is_here ? nullptr : read)};
  if (checked.warnings.has_errors() || checked.record.is_null()) return std::unexpected(std::move(checked.warnings));
  checked.record.set("warnings", problems);
  return checked;
}

base::Result<CheckedFlow> check_named(client::Daemon& daemon, const std::string& name) {
  try {
    CheckedFlow checked{.record = daemon.get("/api/workflows/" + client::encode_part(name)), .warnings = {}};
    checked.record.set("warnings", Value::array());
    return checked;
  } catch (const client::Refusal& refusal) {
    if (!refusal.is(ErrorCode::flow_invalid)) throw;
    const Files files = is_elsewhere(daemon.place()) ? Files::elsewhere : Files::here;
    return std::unexpected(read_problems(refusal.document().find("errors"), files));
  }
}

// Whether the enclosing project, else the project of the file, has a config: the one that load_workflow() uses.
bool has_config(const std::string& file) {
  std::error_code error;
  const bool is_file = project::is_workflow_file(file) && file != "-";
  auto project = project::find_project(".");
  if (!project && is_file) project = project::find_project(fs::absolute(file, error).parent_path());
  return project && fs::exists(*project / ".reeve/config.yaml", error);
}

}  // namespace

base::Result<CheckedFlow> inspect_flow(const Call& call, const std::string& file) {
  if (find_host(call)) {
    client::Daemon daemon(daemon_place(call));
    return project::is_workflow_file(file) ? check_text(daemon, file) : check_named(daemon, file);
  }
  auto loaded = project::load_workflow(file, project::Tools::wished);
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  const graph::Graph graph(loaded->workflow);
  return CheckedFlow{.record = workflow_record(*loaded, graph), .warnings = std::move(loaded->warnings)};
}

base::Result<CheckedFlow> check_flow(const Call& call, const std::string& file) {
  auto checked = inspect_flow(call, file);
  if (call.is_json) return checked;
  if (find_host(call)) {
    print_aside("checked against the config of the daemon at {}\n", base::visible(daemon_place(call).host->url()));
  } else if (checked && !has_config(file)) {
    print_aside("note: no project config found; roles and gates were not checked\n");
  }
  return checked;
}

}  // namespace reeve::cli
