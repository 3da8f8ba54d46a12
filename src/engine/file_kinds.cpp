#include "engine/file_kinds.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/glob.h"
#include "base/text.h"
#include "engine/call_path.h"

namespace reeve::engine {

namespace {

// Patterns for one part of a path.
constexpr auto agent_names = std::to_array<std::string_view>({
    "agents.md",       "agent.md",      "claude.md",
    "claude.local.md", "gemini.md",     ".claude*",
    ".codex",          ".gemini",       ".cursor",
    ".cursorrules",    ".cursorignore", ".mcp.json",
    "mcp.json",        ".windsurf",     ".windsurfrules",
    ".clinerules",     ".roo",          ".roomodes",
    ".continue",       ".opencode",     "opencode.json*",
    ".amazonq",        ".kiro",         ".goosehints",
    ".junie",          ".qwen",         "copilot-instructions.md",
    ".aider*",         "qwen.md",
});
constexpr auto ci_names = std::to_array<std::string_view>({
    ".gitlab-ci*",
    ".circleci",
    ".travis.yml",
    ".buildkite",
    "jenkinsfile*",
    ".jenkins",
    ".drone.yml",
    ".woodpecker*",
    ".cirrus.yml",
    "azure-pipelines*",
    ".azure-pipelines",
    "appveyor.yml",
    ".appveyor.yml",
    ".teamcity",
    "bitbucket-pipelines.yml",
    "codemagic.yaml",
    "cloudbuild.*",
    "buildspec.y*ml",
});
// A folder and the folder in it.
constexpr auto ci_folders = std::to_array<std::pair<std::string_view, std::string_view>>({
    {".github", "workflows"},
    {".github", "actions"},
    {".gitlab", "ci"},
    {".gitea", "workflows"},
    {".forgejo", "workflows"},
});
constexpr auto deploy_names = std::to_array<std::string_view>({
    "deploy*",
    "dockerfile*",
    "*.dockerfile",
    "containerfile*",
    "docker-compose*",
    "compose.y*ml",
    "*.tf",
    "*.tfvars",
    "terragrunt.hcl",
    "terraform",
    "pulumi*.yaml",
    "cdk.json",
    "k8s",
    "kubernetes",
    "helm",
    "chart.yaml",
    "helmfile*",
    "kustomization.y*ml",
    "skaffold.yaml",
    "*.nomad",
    "ansible",
    "playbook*.y*ml",
    "procfile",
    "fly.toml",
    "vercel.json",
    "netlify.toml",
    "render.yaml",
    "heroku.yml",
    "serverless.y*ml",
    "wrangler.toml",
    "app.yaml",
    "captain-definition",
});

std::string lower_of(std::string_view path) { return base::to_ascii_lower(path); }

// Like base::matches_glob(), in constant time for "name", "name*" and "*name": a change may have many thousand files.
bool matches_name(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find_first_of("*?");
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  if (star + 1 == pattern.size()) return true;
  if (star == 0 && pattern.find_first_of("*?", 1) == std::string_view::npos) return name.ends_with(pattern.substr(1));
  return base::matches_glob(pattern, name);
}

bool has_part(std::string_view path, std::span<const std::string_view> patterns) {
  const std::string lower = lower_of(path);
  return std::ranges::any_of(base::split(lower, '/'), [&](std::string_view part) {
    return std::ranges::any_of(patterns, [&](std::string_view pattern) { return matches_name(pattern, part); });
  });
}

}  // namespace

bool is_reeve_file(std::string_view path) {
  constexpr std::array<std::string_view, 1> name = {".reeve"};
  return has_part(path, name);
}

bool is_agent_config(std::string_view path) { return has_part(path, agent_names); }

bool is_git_file(std::string_view path) {
  constexpr std::array<std::string_view, 1> folder = {".git"};
  const std::size_t slash = path.rfind('/');
  const std::string name = lower_of(slash == std::string_view::npos ? path : path.substr(slash + 1));
  return name == "head" || has_part(path, folder);
}

bool is_sensitive_file(std::string_view path) {
  return is_git_file(path) || names_secret_file(path) || is_reeve_file(path) || is_agent_config(path);
}

bool is_ci_file(std::string_view path) {
  if (has_part(path, ci_names)) return true;
  const std::string lower = lower_of(path);
  const std::vector<std::string_view> parts = base::split(lower, '/');
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (std::ranges::find(ci_folders, std::pair(parts[i - 1], parts[i])) != ci_folders.end()) return true;
  }
  return false;
}

bool is_deploy_file(std::string_view path) { return has_part(path, deploy_names); }

}  // namespace reeve::engine
