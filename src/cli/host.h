#pragma once

#include <optional>

#include "cli/command.h"
#include "client/endpoint.h"

namespace reeve::cli {

// The daemon that `--host` or REEVE_HOST names, with the token for it: of `--token-file`, REEVE_TOKEN, or the line of
// ~/.config/reeve/tokens that names it. Nothing when none is named. Throws `cli.usage`, `cli.token_file`.
std::optional<client::Endpoint> find_host(const Call& call);

}  // namespace reeve::cli
