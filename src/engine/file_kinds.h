#pragma once

#include <string_view>

// Files whose change is dangerous, by their names, wherever they are in the tree (APR-3, ISO-4). Case is ignored,
// because a file system may ignore it.
namespace reeve::engine {

// `.reeve/`.
bool is_reeve_file(std::string_view path);
// The instructions, permissions and hooks of an agent: AGENTS.md, .claude/, .mcp.json, …
bool is_agent_config(std::string_view path);
// Git's own: `.git` as a file or folder, and `HEAD`, without which no folder passes for a repository. The settings of a
// repository run programs, and git takes them from whatever looks like one around the folder that it is started in.
bool is_git_file(std::string_view path);
// What no rule and no pattern lets an agent write unasked: files of git, Reeve and agents, and those that may hold
// secrets. Changing them opens more than the rule says.
bool is_sensitive_file(std::string_view path);
// .github/workflows/, .gitlab-ci.yml, Jenkinsfile, …
bool is_ci_file(std::string_view path);
// Dockerfile, compose.yaml, *.tf, k8s/, deploy.sh, …
bool is_deploy_file(std::string_view path);

}  // namespace reeve::engine
