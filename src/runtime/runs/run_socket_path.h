#pragma once

#include <string>

#include "base/id.h"
#include "project/state_folder.h"

// The location of a run's own socket (RUN-8). The tool sees its folder, even in a sandbox, so that the next daemon's
// socket appears in it too.
namespace reeve::runtime {

// `runs/TR-17/hooks`, or a short private folder if the socket path would be too long to connect to.
std::string run_socket_folder(const project::StateFolder& state, base::RunId run);
std::string run_socket_path(const project::StateFolder& state, base::RunId run);

// Creates the folder with access for its owner only. False if that fails, or if the path is a link or belongs to
// another user.
bool make_run_socket_folder(const project::StateFolder& state, base::RunId run);
// Also removes the socket in it.
void remove_run_socket_folder(const project::StateFolder& state, base::RunId run) noexcept;

}  // namespace reeve::runtime
