#include "server/resources/own_project.h"

#include <fmt/format.h>

#include "base/text.h"
#include "project/project.h"
#include "project/project_identity.h"
#include "server/access/project_policy.h"

namespace reeve::server {

using base::ErrorCode;

namespace fs = std::filesystem;

namespace {

fs::path check_folder(const fs::path& project) {
  std::error_code error;
  if (project.is_absolute() && fs::is_directory(project, error)) return project;
  throw base::Error(ErrorCode::api_bad_request,
                    fmt::format("`project` must be the absolute path of a folder: {}", base::quoted(project.string())),
                    "the folder must exist on the daemon's machine");
}

}  // namespace

fs::path own_project(const runtime::Daemon& daemon) { return daemon.options().folder.project().value_or(fs::path()); }

void admit_folder(const fs::path& folder) {
  if (const auto found = project::find_project(folder)) project::admit_project(*found);
}

std::string name_project(const fs::path& folder) {
  if (const auto checkout = project::find_checkout(folder)) return checkout->string();
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(folder, error);
  return error ? folder.string() : resolved.string();
}

fs::path named_project(const Exchange& exchange, const std::optional<std::string>& named) {
  if (!named) return {};
  // Checked before the path is touched.
  const bool is_known = *named == own_project(exchange.daemon).string() || named == exchange.known_project;
  if (!is_known && !may_name_paths(exchange)) {
    throw base::Error(ErrorCode::api_forbidden,
                      "naming a project without runs and executions needs the scope `operate`",
                      "name one of those that `GET /api/projects` lists, or use a token with that scope");
  }
  return check_folder(*named);
}

fs::path require_project(const Exchange& exchange, const std::optional<std::string>& named) {
  fs::path project = named_project(exchange, named);
  if (project.empty()) project = own_project(exchange.daemon);
  if (!project.empty()) return check_folder(project);
  throw base::Error(
      ErrorCode::api_bad_request, "`project` is missing",
      "name one by its absolute path, such as /home/me/app; `GET /api/projects` lists those with records");
}

fs::path project_of(const Exchange& exchange) { return require_project(exchange, exchange.query("project")); }

model::Config load_config_around(const Exchange& exchange, const fs::path& folder) {
  auto config = exchange.daemon.options().reload(folder);
  if (!config) throw config.error();
  return std::move(*config);
}

model::Config load_config(const Exchange& exchange) {
  return load_config_around(exchange, named_project(exchange, exchange.query("project")));
}

}  // namespace reeve::server
