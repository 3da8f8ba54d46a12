#pragma once

#include <optional>

#include "cli/command.h"
#include "client/endpoint.h"

namespace reeve::cli {

// The daemon named by `--host` or REEVE_HOST, with its token from `--token-file`, REEVE_TOKEN, or its line in
// ~/.config/reeve/tokens. Empty if none is named. Throws `cli.usage`, `cli.token_file`.
std::optional<client::Endpoint> find_host(const Call& call);

}  // namespace reeve::cli
