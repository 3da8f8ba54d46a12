#include "server/own_project.h"

#include <fmt/format.h>

#include "base/text.h"
#include "project/project.h"
#include "project/project_identity.h"

namespace reeve::server {

namespace fs = std::filesystem;

fs::path own_project(const runtime::Daemon& daemon) {
  const fs::path& root = daemon.options().folder.root;
  const bool is_in_project = root.filename() == "state" && root.parent_path().filename() == ".reeve";
  return is_in_project ? root.parent_path().parent_path() : fs::path();
}

void admit_folder(const fs::path& folder) {
  if (const auto found = project::find_project(folder)) project::admit_project(*found);
}

bool may_name_paths(const Exchange& exchange) {
  const Request& request = exchange.request;
  return request.peer.entrance == Entrance::unix_socket || model::allows(request.caller.scopes, model::Scope::operate);
}

fs::path project_of(const Exchange& exchange) {
  const auto named = exchange.query("project");
  // Before it is looked at.
  if (named && *named != own_project(exchange.daemon).string() && !may_name_paths(exchange)) {
    throw base::Error("api.forbidden", "another project than the daemon's own needs the scope `operate`",
                      "leave `project` out, or use a token with that scope");
  }
  fs::path project = named ? fs::path(*named) : own_project(exchange.daemon);
  std::error_code error;
  const bool is_folder = project.is_absolute() && fs::is_directory(project, error);
  if (is_folder) return project;
  if (named) {
    throw base::Error("api.bad_request", fmt::format("`project` must be a folder, absolute: {}", base::quoted(*named)));
  }
  throw base::Error("api.bad_request", "this daemon belongs to no project", "name one: `project=/home/me/app`");
}

model::Config load_config(const Exchange& exchange) {
  auto config = exchange.daemon.options().reload();
  if (!config) throw config.error();
  return std::move(*config);
}

}  // namespace reeve::server
