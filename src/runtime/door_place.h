#pragma once

#include <string>

#include "base/id.h"
#include "project/state_folder.h"

// Where a run's own socket lies (RUN-8). Its folder is shown to the tool, also in a sandbox, so that the socket of the
// next daemon appears in it.
namespace reeve::runtime {

// `runs/TR-17/door`, or a short private folder where the socket's name would be longer than a client can connect to.
std::string door_folder(const project::StateFolder& state, base::RunId run);
std::string door_socket(const project::StateFolder& state, base::RunId run);

// Makes the folder, for its owner alone. False when it cannot, or when somebody else's or a link stands there.
bool make_door_folder(const project::StateFolder& state, base::RunId run);
// With the socket in it.
void remove_door_folder(const project::StateFolder& state, base::RunId run) noexcept;

}  // namespace reeve::runtime
