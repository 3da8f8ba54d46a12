#pragma once

#include <string>
#include <string_view>

#include "engine/call_subject.h"
#include "model/config.h"

namespace reeve::testing {

// Parses JSON arguments.
base::Value arguments_of(std::string_view json);

// A call of `claude` in the worktree /work/app, which is /data/app without symlinks. `link` leads to /etc/passwd and
// `docs/key` to .env.
engine::CallSubject make_call(std::string_view tool, std::string_view arguments);
// With /usr/bin/NAME as the program, which the run cannot replace, in the worktree's own repository.
engine::CallSubject make_shell_call(std::string_view command);

model::PolicyRule make_rule(model::Policy policy, std::string_view when);
// One rule for one tool.
model::Policies make_policies(std::string_view tool, model::Policy policy, std::string_view when);

}  // namespace reeve::testing
