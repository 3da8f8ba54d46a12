#include "project/workflows.h"

#include <deque>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "os/file.h"
#include "project/project.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;

fs::path folder_of(const std::string& file) {
  std::error_code error;
  if (file == "-") return fs::current_path(error);
  const fs::path absolute = fs::absolute(file, error);
  return error ? fs::path(".") : absolute.parent_path();
}

fs::path workflow_folder(const fs::path& project) { return project / ".reeve" / "workflows"; }

// An unreadable file cannot be a subgraph; if a subgraph is missing because of it, that is reported.
std::shared_ptr<const spec::Source> read_or_skip(const fs::path& path) {
  auto text = os::find_file(path, base::limits::spec_file_bytes);
  return text ? std::make_shared<const spec::Source>(shown_path(path), std::move(*text)) : nullptr;
}

// The project's workflows, then those next to the file.
spec::WorkflowCatalog load_catalog(const std::optional<fs::path>& project, const std::optional<fs::path>& folder) {
  std::vector<fs::path> folders;
  if (project) folders.push_back(workflow_folder(*project));
  if (folder && (folders.empty() || folders.front() != *folder)) folders.push_back(*folder);
  spec::WorkflowCatalog catalog;
  for (const fs::path& place : folders) {
    for (const fs::path& file : os::list_files(place, {".yaml", ".yml"}, base::limits::workflow_files)) {
      if (auto source = read_or_skip(file)) catalog.add(file.stem().string(), std::move(source));
    }
  }
  return catalog;
}

void add_names(const model::Workflow& workflow, std::deque<std::string>& names) {
  for (const model::Node& node : workflow.nodes) {
    if (node.subgraph_config) names.push_back(node.subgraph_config->workflow_name);
  }
}

// Which workflow was probably meant by a file that does not exist.
std::string suggest_file(const std::string& name) {
  const fs::path wanted(name);
  std::vector<std::string> names;
  for (const fs::path& file : os::list_files(folder_of(name), {".yaml", ".yml"}, base::limits::workflow_files)) {
    names.push_back(file.filename().string());
  }
  if (const auto meant = base::find_closest(wanted.filename().string(), names)) {
    return fmt::format("did you mean `{}`?", base::visible((wanted.parent_path() / *meant).string()));
  }
  names.clear();
  if (const auto project = find_project(".")) {
    for (const fs::path& file : list_workflow_files(*project)) names.push_back(file.stem().string());
  }
  const auto meant = base::find_closest(wanted.stem().string(), names);
  if (meant) return fmt::format("did you mean `{}`, a workflow of this project?", base::visible(*meant));
  return "give the path of a workflow file, or the name of one in .reeve/workflows/";
}

std::shared_ptr<const spec::Source> read_workflow(const std::string& name) {
  try {
    return read_source(name);
  } catch (const base::Error& error) {
    if (!error.is(base::ErrorCode::file_not_found)) throw;
    throw base::Error(base::ErrorCode::file_not_found, error.message(), suggest_file(name));
  }
}

// Collects the file and everything reachable from it, each checked against the config.
base::Result<GatheredWorkflow> gather(const WorkflowPlace& place, const model::Config* config, Tools tools) {
  std::optional<spec::WorkflowCatalog> catalog;
  const spec::WorkflowContext context{
      .config = config, .tools = tools, .catalog = [&]() -> const spec::WorkflowCatalog& {
        if (!catalog) catalog = load_catalog(place.project, place.folder);
        return *catalog;
      }};
  auto file = spec::parse_workflow(place.source, context);
  if (!file) return std::unexpected(std::move(file.error()));
  GatheredWorkflow gathered{.file = std::move(*file), .subgraphs = {}};
  base::Problems problems;
  std::deque<std::string> names;
  add_names(gathered.file.workflow, names);
  while (!names.empty()) {
    const std::string name = std::move(names.front());
    names.pop_front();
    const spec::WorkflowCatalog::Entry* entry =
        gathered.subgraphs.contains(name) ? nullptr : context.catalog().find(name);
    if (entry == nullptr) continue;
    auto inner = spec::parse_workflow(entry->source, context);
    if (!inner) {
      // One file may be referenced by two names.
      problems.append_new(inner.error());
      continue;
    }
    add_names(inner->workflow, names);
    gathered.subgraphs.emplace(name, std::move(*inner));
  }
  if (problems.has_errors()) return std::unexpected(std::move(problems));
  return gathered;
}

// Adds the warnings of all parts to the workflow.
base::Result<spec::WorkflowFile> with_warnings(base::Result<GatheredWorkflow> gathered) {
  if (!gathered) return std::unexpected(std::move(gathered.error()));
  for (const auto& [_, part] : gathered->subgraphs) gathered->file.warnings.append_new(part.warnings);
  return std::move(gathered->file);
}

}  // namespace

bool is_workflow_file(const std::string& word) {
  std::error_code error;
  return word == "-" || word.find('/') != std::string::npos || word.ends_with(".yaml") || word.ends_with(".yml") ||
         fs::exists(word, error);
}

base::Result<spec::WorkflowFile> load_workflow(const std::string& name, Tools tools) {
  const auto around = is_workflow_file(name) ? std::nullopt : find_project(".");
  const auto source = around ? find_workflow(*around, name).source : read_workflow(name);
  const fs::path folder = around ? workflow_folder(*around) : folder_of(name);
  // Same as a start: the current project, else the one around the file.
  auto project = around ? around : find_project(".");
  if (!project) project = find_project(folder);
  const FoundConfig config = load_config(project, {});
  // Roles and gates belong to a project; the user's config alone defines none to check against.
  const bool is_held = config.has_project_file && config.loaded;
  auto gathered = gather({.source = source, .project = project, .folder = folder},
                         is_held ? &config.loaded->config() : nullptr, tools);
  if (config.loaded) return with_warnings(std::move(gathered));
  base::Problems problems = config.loaded.error();
  problems.append(gathered ? gathered->file.warnings : gathered.error());
  return std::unexpected(std::move(problems));
}

base::Result<GatheredWorkflow> gather_workflow(const WorkflowPlace& place, const model::Config& config) {
  return gather(place, &config, Tools::needed);
}

WorkflowPlace find_workflow(const fs::path& project, const std::string& name) {
  const spec::WorkflowCatalog catalog = load_catalog(project, std::nullopt);
  if (const auto* entry = catalog.find(name)) return {.source = entry->source, .project = project, .folder = {}};
  const auto meant = base::find_closest(name, catalog.names());
  std::string fix = fmt::format("did you mean `{}`?", meant.value_or(""));
  if (!meant) {
    constexpr std::size_t max_named = 10;
    std::vector<std::string> names;
    for (const fs::path& file : os::list_files(workflow_folder(project), {".yaml", ".yml"}, max_named)) {
      names.push_back(base::visible(file.stem().string()));
    }
    fix = names.empty() ? "give a file, or put one in .reeve/workflows/"
                        : fmt::format("available: {}; or give a file", base::join(names, ", "));
  }
  throw base::Error(base::ErrorCode::flow_not_found,
                    fmt::format("there is no workflow {} in {}", base::quoted(name),
                                base::visible(workflow_folder(project).string())),
                    fix);
}

std::vector<fs::path> list_workflow_files(const fs::path& project) {
  return os::list_files(workflow_folder(project), {".yaml", ".yml"}, base::limits::workflow_files);
}

base::Result<spec::WorkflowFile> check_workflow(const WorkflowPlace& place, const model::Config& config) {
  return with_warnings(gather(place, &config, Tools::wished));
}

}  // namespace reeve::project
