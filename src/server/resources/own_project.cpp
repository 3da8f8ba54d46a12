#include "server/resources/own_project.h"

#include <fmt/format.h>

#include "base/text.h"
#include "project/project.h"
#include "project/project_identity.h"

namespace reeve::server {

using base::ErrorCode;

namespace fs = std::filesystem;

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

bool may_name_paths(const Exchange& exchange) {
  const Request& request = exchange.request;
  return request.peer.entrance == Entrance::unix_socket || model::allows(request.caller.scopes, model::Scope::operate);
}

fs::path named_project(const Exchange& exchange, const std::optional<std::string>& named) {
  if (!named) return {};
  // Checked before the path is touched.
  if (*named != own_project(exchange.daemon).string() && !may_name_paths(exchange)) {
    throw base::Error(ErrorCode::api_forbidden,
                      "naming a project other than the daemon's own needs the scope `operate`",
                      "omit `project`, or use a token with that scope");
  }
  std::error_code error;
  const fs::path project = *named;
  if (project.is_absolute() && fs::is_directory(project, error)) return project;
  throw base::Error(ErrorCode::api_bad_request,
                    fmt::format("`project` must be the absolute path of a folder: {}", base::quoted(*named)));
}

fs::path project_of(const Exchange& exchange) {
  fs::path project = named_project(exchange, exchange.query("project"));
  if (project.empty()) project = own_project(exchange.daemon);
  std::error_code error;
  if (project.is_absolute() && fs::is_directory(project, error)) return project;
  throw base::Error(ErrorCode::api_bad_request, "this daemon does not belong to a project",
                    "name one: `project=/home/me/app`");
}

model::Config load_config_around(const Exchange& exchange, const fs::path& folder) {
  auto config = exchange.daemon.options().reload(folder);
  if (!config) throw config.error();
  return std::move(*config);
}

model::Config load_config(const Exchange& exchange) {
  return load_config_around(exchange, named_project(exchange, exchange.query("project")));
}

}  // namespace reeve::server
