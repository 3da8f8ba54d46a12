#pragma once

#include <filesystem>
#include <string>

#include "server/request/exchange.h"

namespace reeve::server {

// The daemon's own project, if its state folder is in one; otherwise empty.
std::filesystem::path own_project(const runtime::Daemon& daemon);
// The folder given as `project` in the query; default: the daemon's own. Throws `api.bad_request` if there is none or
// it is not a folder, `api.forbidden` if the caller may not name it.
std::filesystem::path project_of(const Exchange& exchange);
// Call before starting something in the folder. Throws `project.moved` if the project around it is not where it was.
void admit_folder(const std::filesystem::path& folder);
// The path under which the project of a folder is recorded: project::find_checkout(), else the folder itself.
std::string name_project(const std::filesystem::path& folder);
// The config of the project given in the query, default: the daemon's own. Throws `config.invalid`, and whatever
// project_of() throws.
model::Config load_config(const Exchange& exchange);
// The config of the project around a folder that the caller may name (see may_name_paths); without one, the daemon's
// own. Throws `config.invalid`.
model::Config load_config_around(const Exchange& exchange, const std::filesystem::path& folder);
// The folder named in a request body, checked like project_of(); empty if none is named.
std::filesystem::path named_project(const Exchange& exchange, const std::optional<std::string>& named);
// The folder in which the request starts something, as named in its body; default: the daemon's own project. Throws
// `api.bad_request` like project_of().
std::filesystem::path require_project(const Exchange& exchange, const std::optional<std::string>& named);

}  // namespace reeve::server
