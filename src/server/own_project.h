#pragma once

#include <filesystem>

#include "server/api.h"

namespace reeve::server {

// The daemon's own project, when its state folder lies in one; else empty.
std::filesystem::path own_project(const runtime::Daemon& daemon);
// The folder that the query names as `project`, else the daemon's own. Throws `api.bad_request` when it is none,
// `api.forbidden` for one who may not name it.
std::filesystem::path project_of(const Exchange& exchange);
// Before something is started there: the project around the folder, if there is one, is the one that it was. Throws
// `project.moved`.
void admit_folder(const std::filesystem::path& folder);
// Whether paths of this machine that a request names are looked at: for its owner, and for those at the port who may
// start something in any folder. Nobody else finds out by them what there is.
bool may_name_paths(const Exchange& exchange);
// The config of the project that the query names, else of the daemon's own; throws `config.invalid`, and as
// project_of() does.
model::Config load_config(const Exchange& exchange);
// Of the project around a folder that the caller may name (see may_name_paths), which is the daemon's own where there
// is none around it; throws `config.invalid`.
model::Config load_config_around(const Exchange& exchange, const std::filesystem::path& folder);
// The folder that a request names in its body, checked as project_of() does; empty for none.
std::filesystem::path named_project(const Exchange& exchange, const std::optional<std::string>& named);

}  // namespace reeve::server
